#!/bin/sh
# Does ptxas unroll the loops of tests/ptxas/loops as LOOPS.md says? Every row of its tables is measured again; and ptxopt -O1
# must make of each probe what its row says: the row that it is to be rewritten to, itself where that is `-`, and something
# else (no worse) where it is `not done`. -O2 and -O3 must leave as many copies of the body.
# usage: [BUILD=build] tests/ptxas/loops.sh [--bless | --any-version]
#   --bless         writes what is measured into the tables
#   --any-version   compares with another ptxas than the one that LOOPS.md names
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
WORK=$BUILD/work/loops
PROBES=tests/ptxas/loops
DOCUMENT=tests/ptxas/LOOPS.md
TARGETS='sm_75 sm_80 sm_90 sm_100 sm_120'

# measure FILE: the five cells of its row, `copies of the FMA / instructions` for each target.
measure()
{
    for to in $TARGETS; do
        cubin=$(assemble "$1" "$to") || { echo "ptxas refuses $1 for $to"; return 1; }
        "$BUILD/cubinstat" --tsv "$cubin" | awk -F'\t' '
            NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i }
            NR == 2 { printf " | %d / %d", $column["fma"], $column["instr"] }'
    done
}

# written NAME: the same cells as the document has them. Columns stand between ` | `, so that `p\|q` is no boundary.
written() { awk -F' [|] ' -v name="| \`$1\`" '$1 == name { for (i = 3; i <= 7; i++) printf " | %s", $i }' "$DOCUMENT"; }

# The last column: what the probe is to be rewritten to.
goal() { awk -F' [|] ' -v name="| \`$1\`" '$1 == name { sub(/ [|]$/, "", $8); gsub(/`/, "", $8); print $8 }' "$DOCUMENT"; }

# fewer CELLS CELLS: whether the first hold fewer copies of the body for some target.
fewer()
{
    printf '%s\n' "$1" "$2" | awk -F' [|] ' '
        NR == 1 { for (i = 2; i <= NF; i++) copies[i] = $i + 0; next }
        { for (i = 2; i <= NF; i++) if (copies[i] < $i + 0) less = 1 }
        END { exit !less }'
}

# optimized NAME LEVEL: the cells of what ptxopt makes of the probe.
optimized()
{
    "$BUILD/ptxopt" -O "$2" "$PROBES/$1.ptx" -o "$WORK/$1.O$2.ptx" 2>&1 && measure "$WORK/$1.O$2.ptx"
}

# check_rewrite NAME CELLS: says what is wrong with ptxopt's output.
check_rewrite()
{
    goal=$(goal "$1")
    to=${goal%, not done}
    if [ "$to" = - ]; then expected=$2; else expected=$(written "$to"); fi
    now=$(optimized "$1" 1) || { echo "$now"; return; }
    if [ "$goal" != "$to" ]; then
        [ "$now" != "$expected" ] || echo "ptxopt does make $to of it; $DOCUMENT says that this is not done"
        ! fewer "$now" "$2" || echo "ptxopt -O1 makes it worse: $now"
    elif [ "$now" != "$expected" ]; then
        printf 'not what ptxopt -O1 should make of it: %s\n    expected %s\n    measured %s\n' "$goal" "$expected" "$now"
    fi
    for level in 2 3; do
        then=$(optimized "$1" $level) || { echo "$then"; return; }
        ! fewer "$then" "$now" || printf 'fewer copies at -O%s\n    at -O1 %s\n    at -O%s %s\n' $level "$now" $level "$then"
    done
}

one_case()
{
    name=$(basename "$1" .ptx)
    cells=$(measure "$1") || { echo "fail $1: $cells"; return; }
    echo "$name$cells" >"$WORK/$name.cells"
    expected=$(written "$name")
    if [ -z "$expected" ]; then
        echo "fail $1: no row in $DOCUMENT"
    elif [ "$cells" != "$expected" ]; then
        printf 'fail %s: not what %s says\n    written  %s\n    measured %s\n' "$1" "$DOCUMENT" "$expected" "$cells"
    else
        said=$(check_rewrite "$name" "$cells")
        if [ -n "$said" ]; then echo "fail $1: $said"; else echo "pass $1"; fi
    fi
}

rows_without_probe()
{
    sed -n 's/^| `\([a-z0-9_]*\)` |.*/\1/p' "$DOCUMENT" | while read -r name; do
        [ -e "$PROBES/$name.ptx" ] || echo "fail $DOCUMENT: no probe for the row $name"
    done
}

bless()
{
    cat "$WORK"/*.cells | awk -F' [|] ' '
        FNR == NR { measured[$1] = $2 " | " $3 " | " $4 " | " $5 " | " $6; next }
        match($1, /^[|] `[a-z0-9_]*`$/) && (substr($1, 4, length($1) - 4) in measured) {
            print $1 " | " $2 " | " measured[substr($1, 4, length($1) - 4)] " | " $8
            next
        }
        { print }' - "$DOCUMENT" >"$WORK/blessed" && cp "$WORK/blessed" "$DOCUMENT"
}

mode=${1:-}
if [ "$mode" = --case ]; then
    shift
    for file; do one_case "$file"; done
    exit
fi
rm -rf "$WORK"
mkdir -p "$WORK"
version=$(sed -n 's/.*ptxas \([0-9.]*[0-9]\) .*/\1/p' "$DOCUMENT" | head -1)
if [ -z "$PTXAS" ]; then
    skip_without_ptxas "$PROBES" >"$WORK/log"
elif [ -z "$mode" ] && ! "$PTXAS" --version | grep -q "V$version"; then
    echo "skip $PROBES: this is not ptxas $version; compare with tests/ptxas/loops.sh --any-version" >"$WORK/log"
else
    find "$PROBES" -name '*.ptx' | sort | each tests/ptxas/loops.sh >"$WORK/log"
    rows_without_probe >>"$WORK/log"
fi
if [ "$mode" = --bless ]; then bless; exit; fi
tally loops "$WORK/log"
