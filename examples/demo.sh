#!/bin/sh
# Optimizes one file and shows what changed, why, and what ptxas makes of it where it is at hand; then all examples, and
# what ptxas makes of those. With a FILE: of that one only. usage: [BUILD=build] examples/demo.sh [FILE.ptx]
set -eu
cd "$(dirname "$0")/.."
. tests/lib.sh
input=${1:-examples/latches.hand.ptx}
output=$BUILD/demo.ptx remarks=$BUILD/demo.yaml

echo "\$ ptxopt $input -o $output --remarks=$remarks --stats"
"$BUILD/ptxopt" "$input" -o "$output" --remarks="$remarks" --stats 2>&1
echo
echo "What changed, in part:"
diff -U 2 "$input" "$output" | sed -n '3,42p' || true
echo
echo "Why, in part ($remarks):"
sed -n 1,16p "$remarks"
echo
if [ -z "$PTXAS" ]; then
    echo "ptxas is not at hand: no machine code to compare."
    exit
fi
target=$(ptx_target "$input")
before=$(assemble "$input" "$target") || { cat "$before"; exit 1; }
after=$(assemble "$output" "$target") || { cat "$after"; exit 1; }
echo "Machine code of each kernel for $target, before and after (a loop that ptxas unrolls has more instructions):"
{ "$BUILD/cubinstat" --tsv "$before"; "$BUILD/cubinstat" --tsv "$after"; } | awk -F '\t' '
    function both(column) { return was[$1, column] " -> " $at[column] }
    $1 == "kernel" && $2 == "kind" {
        if (files++)
            printf "%-24s %14s %12s %12s %18s\n", "", "instructions", "branches", "registers", "instr. in loops"
        for (i = 1; i <= NF; i++)
            at[$i] = i
        next
    }
    files == 1 {
        for (column in at)
            was[$1, column] = $at[column]
        next
    }
    { printf "%-24s %14s %12s %12s %18s\n", $1, both("instr"), both("bra"), both("regs"), both("loop_instr") }'

[ $# = 0 ] || exit 0
echo
echo "All examples, for five targets, before and after (this assembles some hundred files):"
sh tests/report.sh
for producer in nvcc clang hand; do
    echo
    echo "$producer:"
    awk '/^[|]/ { totals = 1; print } totals && !/^[|]/ { exit }' "$BUILD/report/$producer.md"
done
