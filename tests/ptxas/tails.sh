#!/bin/sh
# What is merging tails and heads worth? Every row of TAILS.md is measured again, on the probes of tests/ptxas/tails.
# usage: [BUILD=build] tests/ptxas/tails.sh [--bless | --any-version]
#   --bless         writes what is measured into the table
#   --any-version   compares with another ptxas than the one that TAILS.md names
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
WORK=$BUILD/work/tails
PROBES=tests/ptxas/tails
DOCUMENT=tests/ptxas/TAILS.md
TARGETS='sm_75 sm_80 sm_90 sm_100 sm_120'

# figures FILE TARGET: `instructions / BRA / BSSY`.
figures()
{
    cubin=$(assemble "$1" "$2") || { echo "ptxas refuses $1 for $2"; return 1; }
    "$BUILD/cubinstat" --tsv "$cubin" | awk -F'\t' '
        NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i }
        NR > 1 && $column["kind"] == "kernel" { printf "%d / %d / %d", $column["instr"], $column["bra"], $column["bssy"] }'
}

measure()
{
    after=$WORK/$(basename "$1")
    unrolls=$(sed -n '1s/.*\(unrolls\).*/\1/p' "$1") # then there are more instructions, and better ones
    "$BUILD/ptxopt" --passes=branch-folding,tail-merge "$1" -o "$after" || return 1
    for to in $TARGETS; do
        before_cell=$(figures "$1" "$to") && after_cell=$(figures "$after" "$to") || {
            echo "$before_cell$after_cell"
            return 1
        }
        if [ -z "$unrolls" ] && [ "${after_cell%% *}" -gt "${before_cell%% *}" ]; then
            echo "more instructions for $to: $before_cell -> $after_cell"
            return 1
        fi
        printf ' | %s -> %s' "$before_cell" "$after_cell"
    done
}

# written NAME: the same cells as the document has them.
written() { awk -F' [|] ' -v name="| \`$1\`" '$1 == name { sub(/ [|]$/, ""); for (i = 3; i <= 7; i++) printf " | %s", $i }' "$DOCUMENT"; }

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
        echo "pass $1"
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
            print $1 " | " $2 " | " measured[substr($1, 4, length($1) - 4)] " |"
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
    echo "skip $PROBES: this is not ptxas $version; compare with tests/ptxas/tails.sh --any-version" >"$WORK/log"
else
    find "$PROBES" -name '*.ptx' | sort | each tests/ptxas/tails.sh >"$WORK/log"
    rows_without_probe >>"$WORK/log"
fi
if [ "$mode" = --bless ]; then bless; exit; fi
tally tails "$WORK/log"
