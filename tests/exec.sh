#!/bin/sh
# The interpreter, and with it the examples. usage: [BUILD=build] tests/exec.sh [--bless]
#
#   tests/exec/cases/X.ptx           runs as X.launch says; findings and outputs are X.out, whatever the seed
#   tests/exec/cases/compare*/Y.ptx  is compared with before.ptx there: Y.out
#   tests/exec/cases/refused/Z.launch   is refused with exit status 2 and the message Z.err; beside a text Z.ptx, that is BEFORE
#   examples/X.*.ptx                 run as X.launch says: nothing is found, and outputs do not depend on the seed;
#                                    then before and after ptxopt at -O1 to -O3 must be the same, and no kernel may issue
#                                    more warp instructions but for jumps, unless tests/exec/allowed.txt says why
#   tests/phase/NAME/X.ptx           input and EXPECT do the same, as X.launch says or else the folder's cases.launch
# --bless writes the .out and .err files instead.
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
SEEDS=${SEEDS:-3}
WORK=$BUILD/work/exec
ALLOWED=tests/exec/allowed.txt
mkdir -p "$WORK"

# same EXPECTED ACTUAL: compares, or blesses.
same()
{
    if [ -n "${BLESS:-}" ]; then cp "$2" "$1"; fi
    cmp -s "$1" "$2" && return
    diff -u "$1" "$2" | head -20
    return 1
}

run_case()
{
    base=${1%.ptx} name=$(basename "$1" .ptx)
    for seed in $(seq "$SEEDS"); do
        "$BUILD/ptxrun" --brief --limit=200000 --seed="$seed" "$1" "$base.launch" >"$WORK/$name.out" 2>&1
        same "$base.out" "$WORK/$name.out" >"$WORK/$name.diff" || { echo "fail $1: seed $seed"; cat "$WORK/$name.diff"; return; }
    done
    echo "pass $1"
}

run_compare()
{
    base=${1%.ptx} folder=$(dirname "$1")
    name=$(basename "$folder")_$(basename "$1" .ptx)
    "$BUILD/ptxrun" --compare --limit=200000 --seeds="$SEEDS" "$folder/before.ptx" "$1" "$folder/before.launch" >"$WORK/$name.log" 2>&1
    { echo "exit status $?"
      sed -n 's/^\(new\|difference\) /\1 /p; s/^\(compare .*result=[a-z]*\).*/\1/p' "$WORK/$name.log" |
          sed 's/ count=.*//; s/ seed=.*//' | sort -u; } >"$WORK/$name.out"
    if same "$base.out" "$WORK/$name.out" >"$WORK/$name.diff"; then echo "pass $1"; else echo "fail $1"; cat "$WORK/$name.diff"; fi
}

run_refused()
{
    base=${1%.launch} name=refused_$(basename "$1" .launch)
    before=
    [ ! -e "$base.ptx" ] || before="--compare $base.ptx"
    "$BUILD/ptxrun" $before "$(dirname "$1")/module.ptx" "$1" >"$WORK/$name.out" 2>"$WORK/$name.err"
    status=$?
    if [ $status != 2 ]; then
        echo "fail $1: exit status $status, not 2"
    elif same "$base.err" "$WORK/$name.err" >"$WORK/$name.diff"; then
        echo "pass $1"
    else
        echo "fail $1"
        cat "$WORK/$name.diff"
    fi
}

# issued_more NAME LOG: the kernels that issue more, summed over the launches. Jumps do not count: ptxas lays out anew. Where
# threads race for a place, costs depend on the schedule: the least of the seeds counts.
# Those that are listed as accepted go to a file of their own.
issued_more()
{
    awk -v name="$1" -v used="$WORK/$1.used" '
        FNR == NR { if (!/^#/) listed[$1] = 1; next }
        $1 == "cost" {
            for (i = 2; i <= NF; i++) { at = index($i, "="); value[substr($i, 1, at - 1)] = substr($i, at + 1) }
            split(value["issued"], issued, "/"); split(value["jumps"], jumps, "/")
            kernel_of[run = value["launch"] " " value["kernel"]] = value["kernel"]
            if (!(run in first) || issued[1] - jumps[1] < first[run]) first[run] = issued[1] - jumps[1]
            if (!(run in second) || issued[2] - jumps[2] < second[run]) second[run] = issued[2] - jumps[2]
        }
        END {
            for (run in kernel_of) {
                before[kernel_of[run]] += first[run]
                after[kernel_of[run]] += second[run]
            }
            for (kernel in after) {
                if (after[kernel] <= before[kernel])
                    continue
                if (listed[name ":" kernel])
                    print name ":" kernel >>used
                else
                    print "    " kernel " issues more warp instructions: " before[kernel] " to " after[kernel]
            }
        }' "$ALLOWED" "$2"
}

listed_in_vain()
{
    awk '!/^#/ { print $1 }' "$ALLOWED" | while read -r kernel; do
        cat "$WORK"/*.used 2>/dev/null | grep -qxF "$kernel" || echo "fail $ALLOWED: nothing of $kernel issues more"
    done
}

run_example()
{
    launch=${1%.*.ptx}.launch name=$(basename "$1" .ptx)
    if ! "$BUILD/ptxrun" --seeds=2 "$1" "$launch" >"$WORK/$name.log" 2>&1; then
        echo "fail $1"
        grep -v '^count\|^run' "$WORK/$name.log" | head -20
    elif [ "$(sed -n 's/^run launch=\(.*\) seed=.*hash=\([0-9a-f]*\).*/\1 \2/p' "$WORK/$name.log" | sort -u | wc -l)" != \
           "$(sed -n 's/^run launch=\(.*\) seed=.*/\1/p' "$WORK/$name.log" | sort -u | wc -l)" ]; then
        echo "fail $1: the outputs depend on the schedule"
    else
        echo "pass $1"
    fi
    [ -x "$BUILD/ptxopt" ] || return
    for level in 1 2 3; do
        after=$WORK/$name.O$level.ptx
        if ! "$BUILD/ptxopt" -O $level "$1" -o "$after" 2>"$WORK/$name.err"; then
            echo "fail $1: ptxopt -O $level"
            head -5 "$WORK/$name.err"
        elif cmp -s "$1" "$after"; then
            echo "pass $1 -O $level"
        elif ! "$BUILD/ptxrun" --compare --seeds="$SEEDS" "$1" "$after" "$launch" >"$WORK/$name.O$level.log" 2>&1; then
            echo "fail $1: -O $level"
            head -20 "$WORK/$name.O$level.log"
        else
            more=$(issued_more "$name" "$WORK/$name.O$level.log")
            if [ -z "$more" ]; then echo "pass $1 -O $level"; else printf 'fail %s: -O %s\n%s\n' "$1" $level "$more"; fi
        fi
    done
}

run_phase_case()
{
    base=$WORK/$(echo "$1" | tr / _) launch=${1%.ptx}.launch
    [ -e "$launch" ] || launch=$(dirname "$1")/cases.launch
    log=$base.log
    case_input "$1" "$base.before"
    case_part EXPECT "$1" >"$base.after"
    grep -q '\.entry' "$base.before" || return # functions alone are nothing to run
    kernel=$(sed -n 's/^kernel //p' "$launch" | head -1)
    grep -qE "\.entry[[:space:]]+$kernel([^[:alnum:]_\$]|\$)" "$base.before" || { echo "skip $1: no launch description for its kernel"; return; }
    if "$BUILD/ptxrun" --compare --seeds="$SEEDS" --limit=20000 "$base.before" "$base.after" "$launch" >"$log" 2>&1; then
        echo "pass $1"
    else
        echo "fail $1"
        head -20 "$log"
    fi
}

case ${1:-} in
--case)
    shift
    for file; do
        case $file in
        tests/phase/*) run_phase_case "$file" ;;
        */compare*/*) run_compare "$file" ;;
        */refused/*) run_refused "$file" ;;
        */cases/*) run_case "$file" ;;
        *) run_example "$file" ;;
        esac
    done
    exit
    ;;
--bless) BLESS=1 && export BLESS ;;
esac

rm -f "$WORK"/*.used
{
    ls tests/exec/cases/*.ptx
    [ -n "${BLESS:-}" ] || for file in examples/*.ptx; do
        [ -e "${file%.*.ptx}.launch" ] && echo "$file"
    done
    [ -n "${BLESS:-}" ] || for launch in tests/phase/*/cases.launch; do
        [ -e "$launch" ] && grep -l '^// EXPECT$' "${launch%/*}"/*.ptx
    done
    ls tests/exec/cases/compare*/*.ptx | grep -v /before.ptx
    ls tests/exec/cases/refused/*.launch
} | each tests/exec.sh >"$WORK/results"
[ -n "${BLESS:-}" ] || listed_in_vain >>"$WORK/results"
grep -v '^pass' "$WORK/results"
echo "exec: $(grep -c '^pass' "$WORK/results") passed, $(grep -c '^fail' "$WORK/results") failed, $(grep -c '^skip' "$WORK/results") skipped"
! grep -q '^fail' "$WORK/results"
