#!/bin/sh
# What ptxas makes of every example before and after ptxopt -O2, for five targets. usage: [BUILD=build] tests/report.sh [--check]
#   --check     judges each kernel (tests/tools/report/judge.h): the suite `ptxas`
#   without     writes $BUILD/report/report.md and report.svg
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
WORK=$BUILD/work/report
LEVEL=-O2
TARGETS='sm_75 sm_80 sm_90 sm_100 sm_120'
ALLOWED=tests/ptxas/allowed.txt

# figures WHEN FILE: a line for each function and target; nothing for targets that the file is not for.
figures()
{
    for to in $TARGETS; do
        cubin=$(assemble "$2" "$to") || continue
        "$BUILD/cubinstat" --tsv "$cubin" | awk -v where="figures	$example	$producer	$1" 'NR > 1 { print where "\t" $0 }'
    done
}

# judged OLD NEW: what cubinjudge says of each function, for each target that both are for.
judged()
{
    for to in $TARGETS; do
        old=$(assemble "$1" "$to") && new=$(assemble "$2" "$to") || continue
        "$BUILD/cubinjudge" --tsv "$old" "$new" | awk -v where="judged	$example	$producer	${to#sm_}" '{ print where "\t" $0 }'
    done
}

# The rewrites of each function, counted, from the remarks.
fired()
{
    awk -v where="fired	$example	$producer" '
        /^--- !/ { passed = $2 == "!Passed" }
        passed && $1 == "Pass:" { phase = $2 }
        passed && $1 == "Name:" { name = $2 }
        passed && $1 == "Function:" { gsub(/\x27/, "", $2); count[$2 "\t" phase "\t" name]++ }
        END { for (key in count) print where "\t" key "\t" count[key] }' "$1"
}

# What the interpreter counts, launch by launch.
costs()
{
    "$BUILD/ptxrun" --compare --seeds=2 "$1" "$2" "$3" | awk -v where="cost	$example	$producer" '
        $1 == "cost" && $3 == "seed=1" {
            split("", value)
            for (i = 2; i <= NF; i++) { at = index($i, "="); value[substr($i, 1, at - 1)] = substr($i, at + 1) }
            split(value["issued"], issued, "/"); split(value["jumps"], jumps, "/")
            print where "\t" value["kernel"] "\t" issued[1] "\t" issued[2] "\t" jumps[1] "\t" jumps[2]
        }'
}

one_case()
{
    name=$(basename "$1" .ptx) launch=${1%.*.ptx}.launch
    example=${name%.*} producer=${name##*.}
    case $1 in */large/*) example=large/$name producer=nvcc ;; esac
    after=$WORK/$name.ptx remarks=$WORK/$name.yaml rows=$WORK/$name.tsv
    "$BUILD/ptxopt" $LEVEL "$1" -o "$after" --remarks="$remarks" || { echo "fail $1: ptxopt $LEVEL"; return; }
    figures before "$1" >"$rows"
    if ! cmp -s "$1" "$after"; then
        { echo "changed	$example	$producer"
          figures after "$after"
          judged "$1" "$after"
          fired "$remarks"
          if [ -e "$launch" ]; then costs "$1" "$after" "$launch"; fi; } >>"$rows"
    fi
    echo "pass $1"
}

# The judge itself, on figures made up for it: cases.tsv and cases.allowed give cases.out.
check_judge()
{
    cases=tests/tools/report/cases
    "$BUILD/codereport" --allowed=$cases.allowed --check $cases.tsv >"$WORK/cases.out" 2>&1
    if cmp -s $cases.out "$WORK/cases.out"; then
        echo "pass $cases.tsv"
    else
        echo "fail $cases.tsv: the judge says something else"
        diff $cases.out "$WORK/cases.out"
    fi
}

mode=${1:-}
if [ "$mode" = --case ]; then
    shift
    for file; do one_case "$file"; done
    exit
fi
rm -rf "$WORK"
mkdir -p "$WORK" "$BUILD/report"
if [ -z "$PTXAS" ]; then
    { check_judge; skip_without_ptxas 'the machine code of the examples'; } >"$WORK/verdicts"
    tally ptxas "$WORK/verdicts"
    exit
fi
find examples "$BUILD/large" -name '*.ptx' 2>/dev/null | sort | each tests/report.sh >"$WORK/log"
grep -v '^pass' "$WORK/log" >"$WORK/verdicts"
{ set -- "$BUILD"/cache/*.cubin
  printf 'columns\t'; "$BUILD/cubinstat" --tsv "$1" | head -1
  cat "$WORK"/*.tsv; } >"$WORK/figures"
if [ "$mode" = --check ]; then
    check_judge >>"$WORK/verdicts"
    "$BUILD/codereport" --allowed=$ALLOWED --check "$WORK/figures" >>"$WORK/verdicts" ||
        echo "fail $WORK/figures: not readable" >>"$WORK/verdicts"
    tally ptxas "$WORK/verdicts"
else
    cat "$WORK/verdicts"
    "$BUILD/codereport" --allowed=$ALLOWED --level=$LEVEL --markdown="$BUILD/report/report.md" --svg="$BUILD/report/report.svg" \
        "$WORK/figures" && echo "$BUILD/report/report.md and report.svg are written"
fi
