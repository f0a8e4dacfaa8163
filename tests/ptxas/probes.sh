#!/bin/sh
# What ptxas makes of the probes in a folder here, as they are and behind a phase, is what the folder's document says:
# THREADING.md for `threading`. usage: [BUILD=build] [COLUMNS=...] tests/ptxas/probes.sh FOLDER PHASE [--bless]
#   COLUMNS   what a cell counts, by cubinstat's names: `instr bra bssy`
#   --bless   writes what is measured into the tables
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
if [ "$1" != --case ]; then
    export FOLDER=$1 PHASE=$2
    shift 2
fi
WORK=$BUILD/work/$FOLDER
PROBES=tests/ptxas/$FOLDER
DOCUMENT=tests/ptxas/$(echo "$FOLDER" | tr a-z A-Z).md
TARGETS='sm_75 sm_80 sm_90 sm_100 sm_120'

export COLUMNS="${COLUMNS:-instr bra bssy}"

# count FILE TARGET: `instructions, BRA, BSSY`, or whatever is counted.
count()
{
    cubin=$(assemble "$1" "$2") || return
    "$BUILD/cubinstat" --tsv "$cubin" | awk -F'\t' -v names="$COLUMNS" '
        NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i }
        NR == 2 { n = split(names, name, " "); for (i = 1; i <= n; i++) printf "%s%d", (i == 1 ? "" : ", "), $column[name[i]] }'
}

# measure FILE: the five cells of its row; one count where nothing changes.
measure()
{
    after=$WORK/$(basename "$1")
    "$BUILD/ptxopt" --passes="$PHASE" "$1" -o "$after" || return
    for to in $TARGETS; do
        old=$(count "$1" "$to") && new=$(count "$after" "$to") || { echo "ptxas refuses $1 for $to"; return 1; }
        if cmp -s "$1" "$after"; then printf ' | %s' "$old"; else printf ' | %s: %s' "$old" "$new"; fi
    done
}

written() { awk -F' [|] ' -v name="| \`$1\`" '$1 == name { for (i = 3; i <= 7; i++) { sub(/ [|]$/, "", $i); printf " | %s", $i } }' "$DOCUMENT"; }

one_case()
{
    name=$(basename "$1" .ptx)
    cells=$(measure "$1") || { echo "fail $1: $cells"; return; }
    echo "$name$cells" >"$WORK/$name.cells"
    if [ "$cells" = "$(written "$name")" ]; then
        echo "pass $1"
    else
        printf 'fail %s: not what %s says\n    written  %s\n    measured %s\n' "$1" "$DOCUMENT" "$(written "$name")" "$cells"
    fi
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
    echo "skip $PROBES: this is not ptxas $version" >"$WORK/log"
else
    find "$PROBES" -name '*.ptx' | sort | each tests/ptxas/probes.sh >"$WORK/log"
fi
if [ "$mode" = --bless ]; then bless; exit; fi
tally "$FOLDER" "$WORK/log"
