#!/bin/sh
# Draws the pictures of README.md: the control flow of a switch before and after, as --dump-cfg writes it, without the code in
# the blocks. usage: [BUILD=build] docs/pictures.sh    (needs dot)
set -eu
cd "$(dirname "$0")/.."
BUILD=${BUILD:-build}
work=$BUILD/pictures
input=examples/mandelbrot.nvcc.ptx function=mandelbrot
for level in 0 2; do
    "$BUILD/ptxopt" -O$level --dump-cfg="$work$level" "$input" -o /dev/null
    blocks=$(grep -c '^ *b[0-9]* \[' "$work$level/$function.dot")
    name=before
    [ $level = 0 ] || name=after
    sed 's/^\( *b[0-9]* \[.*label="\(B[0-9]*\):.*\)label="[^"]*"/\1label="\2"/; s/label="\(B[0-9]*\)[^"]*"/label="\1"/; s/label="loop of[^"]*"/label="loop"/
        s/^\(  label="\)[^"]*"; labelloc=t;/\1'"$name: $blocks blocks"'"; labelloc=t; nodesep=0.15; ranksep=0.3; size="6,6";/; s/fontsize=10\]/fontsize=9, height=0.25, width=0.3, margin="0.05,0.02"]/' \
        "$work$level/$function.dot" | dot -Tsvg | sed '/^<!--.*-->$/d; /^<!-- Generated/,/-->/d' >"docs/switch-$name.svg"
done
