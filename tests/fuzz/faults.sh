#!/bin/sh
# Plants faults, and sees whether they are found. Each phase of tests/fuzz/faults/ is run alone on generated kernels until
# one fails: once with the checker after it (--verify-each), once without, so that the interpreter has to see it; --ignore-exits,
# as the function would go back where the fault changes what decides between exits or joins (man/ptxopt-soundness.7). The
# kernel that failed must pass with the product's own phases, and the product must hold no fault. Faults about lanes that wait
# for one another get kernels that are full of such lanes. The prover must not prove what the interpreter finds wrong: it is
# asked about each such output of PROVER_CASES kernels.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
PTXAS=''
CASES=3000
PROVER_CASES=${PROVER_CASES:-30}
LOG=$BUILD/work/faults.log
mkdir -p "$BUILD/work"
: >"$LOG"

# features FAULT: an option that says which kernels it is tried on.
features()
{
    case $1 in
    fault-merge-signal | fault-merge-signal-table) echo --features=warp,spin,table ;;
    fault-merge-poll) echo --features=warp,spin ;;
    fault-merge-*poll*) echo --features=warp,spin,poll ;;
    fault-*-barrier) echo --features=barrier,spin,poll ;;
    fault-merge-exit) echo --features=warp,leave ;;
    fault-merge-partner) echo --features=warp,partner ;;
    fault-*-call) echo --features=warp,wait-call ;;
    fault-*-masks) echo --features=warp,masks ;;
    fault-merge-seen | fault-late-test) echo --features=warp,seen ;;
    fault-table-groups) echo --features=warp,seen,table,jumps ;;
    fault-division-*) echo --features=division,loop,memory ;;
    fault-split-lanes) echo --features=barrier,loop,call,memory ;;
    fault-local-*) echo --features=local,guard,loop ;;
    fault-version-lanes) echo --features=warp,seen,version,call ;;
    fault-range-lanes) echo --features=warp,seen,range,call ;;
    fault-range-*) echo --features=range,memory ;;
    fault-version-*) echo --features=version,memory,return ;;
    fault-uniform-table) echo --features=warp,uniform-chain ;;
    esac
}

# begins FAULT: the first case it is tried on, where the first one that shows it comes late: the checker takes long for the loops of those
# before it. One of those before fault-range-sign's goes on for as long as an unsigned number has values.
begins()
{
    case $1 in
    fault-range-sign) echo --first=70 ;;
    fault-range-wrap) echo --first=210 ;;
    fault-split-count | fault-split-guard) echo --first=150 ;;
    fault-stride-limit) echo --first=80 ;;
    esac
}

# Faults about who waits for whom and who is there: the checker, which asks the prover about threads alone, has to refuse them. Not
# fault-uniform-table: the prover does not see that the index of its tables is within their bounds, and so does not come to threads.
is_refused() { case $1 in fault-merge-* | fault-hoist-* | fault-late-test | fault-uniform-branch | fault-*-barrier | fault-thread-join | fault-table-groups | fault-split-lanes | fault-version-lanes | fault-range-lanes) ;; *) false ;; esac; }

# Faults that every run sends back, by the invariant of analysis/convergence.h.
goes_back() { case $1 in fault-thread-join | fault-split-lanes) ;; *) false ;; esac; }

# first FLAGS...: the first failure of the faulty driver: `NUMBER VERDICT`, nothing if there is none.
first()
{
    "$BUILD/fuzz-exec-faulty" --folder="$BUILD/faults" --quick --stop --once --prover=never -n $CASES -j "$JOBS" "$@" 2>&1 |
        sed -n 's/^fail case \([0-9]*\): \([a-z-]*\) .*/\1 \2/p' | sort -n | head -1
}

judge()
{
    fault=$1 only=$(features "$1") from=$(begins "$1")
    with=$(first --prover=steps $only $from "--configs=--passes=$fault --ignore-exits")
    without=$(first --no-verify $only $from "--configs=--passes=$fault --ignore-exits")
    for found in "$with" "$without"; do
        case $found in
        '') echo "fail $fault: missed in $CASES cases (with the checker: ${with:-nothing}, without: ${without:-nothing})"; return ;;
        *crashed | *hangs) echo "fail $fault: case ${found% *} shows nothing: it ${found#* }"; return ;;
        *bad-input*) echo "fail $fault: case ${found% *} is no judge: it fails as it is"; return ;;
        esac
    done
    if is_refused "$fault" && [ "${with#* }" != internal-error ]; then
        echo "fail $fault: the checker says nothing: case ${with% *}: ${with#* }"
        return
    fi
    "$BUILD/fuzz-exec" --folder="$BUILD/faults" --quick --prover=never -n 1 --first="${without% *}" $only >/dev/null ||
        { echo "fail $fault: case ${without% *} fails without the fault, too"; return; }
    echo "pass $fault: case ${with% *}: ${with#* }; without the checker case ${without% *}: ${without#* }"
}

# Without the checker and without --ignore-exits a function goes back where such a fault changed it: nothing is wrong then in the kernel
# that showed the fault, nor in those after it.
judge_way_back()
{
    fault=$1
    goes_back "$fault" || return
    first=$(sed -n "s/^pass $fault: .* without the checker case \([0-9]*\): .*/\1/p" "$LOG" | head -1)
    [ -n "$first" ] || return
    wrong=$("$BUILD/fuzz-exec-faulty" --folder="$BUILD/faults" --quick --once --no-verify --prover=never -n 20 --first="$first" -j "$JOBS" \
        $(features "$fault") "--configs=--passes=$fault" 2>&1 | sed -n 's/^fail case //p')
    if [ -n "$wrong" ]; then echo "fail $fault does not go back: $wrong"; else echo "pass $fault: goes back"; fi
}

# The kernel that shows the fault, and those after it.
judge_prover()
{
    fault=$1
    first=$(sed -n "s/^pass $fault: .* without the checker case \([0-9]*\): .*/\1/p" "$LOG")
    [ -n "$first" ] || return
    wrong=$("$BUILD/fuzz-exec-faulty" --folder="$BUILD/faults" --quick --once --no-verify --prover=wrong -n $PROVER_CASES --first="$first" \
        -j "$JOBS" $(features "$fault") "--configs=--passes=$fault --ignore-exits" 2>&1 | sed -n 's/^fail case \([0-9]*\): \([a-z-]*\) .*/\1 \2/p')
    case $wrong in
    *wrongly-proved*) echo "fail $fault is proved: $(echo "$wrong" | grep wrongly-proved | tr '\n' ' ')" ;;
    *memory-differs* | *new-finding* | *accesses-differ*) echo "pass $fault: $(echo "$wrong" | wc -l) wrong outputs, none proved" ;;
    *) echo "fail $fault: the prover was not asked: $wrong" ;;
    esac
}

# A failure's report: the guilty rewrite is named, the kernel gets small, and the command that is printed shows the failure.
judge_report()
{
    found=$(first --first=200 --configs=--passes=fault-split-carry) # case 22 takes a minute and a half to reduce, and gets a third
    case_folder=$BUILD/faults/${found% *}
    "$BUILD/fuzz-exec-faulty" --folder="$BUILD/faults" --once -n 1 --first="${found% *}" --configs=--passes=fault-split-carry >"$LOG.report"
    grep -q 'guilty: rewrite ([0-9]*) fault-split-carry on function' "$LOG.report" ||
        { echo 'fail report: the guilty rewrite is not named'; return; }
    [ "$(wc -c <"$case_folder/small.ptx")" -lt $(($(wc -c <"$case_folder/case.ptx") / 4)) ] ||
        { echo 'fail report: the kernel is not reduced'; return; }
    sh -c "$(sed -n 's/^ *show it: //p' "$LOG.report")" >"$LOG.shown"
    status=$?
    [ $status = 26 ] || { echo "fail report: the command exits with $status, not 26"; return; }
    echo 'pass report'
}

# shape FEATURE PATTERN: of 60 kernels with this feature, so many must hold a line of each pattern.
shape()
{
    feature=$1
    shift
    for seed in $(seq 60); do "$BUILD/ptxgen" --seed="$seed" --size=40 --features=warp,table,"$feature" -o "$LOG.$seed"; done
    for pattern; do
        n=$(for seed in $(seq 60); do grep -lE "$pattern" "$LOG.$seed"; done | wc -l)
        [ "$n" -ge 5 ] || { echo "fail shape: $n of 60 kernels with $feature hold $pattern"; return; }
    done
    rm -f "$LOG".[0-9]*
    echo "pass shape $feature"
}

judge_shapes()
{
    shape spin '(ld|atom).*shared.* \[%flags' 'st.volatile.shared.u32 \[%flags.*%epoch' 'brx.idx'
    shape spin,poll 'call .*(look|peek)_function' 'ld.local.u32 %t[0-9]+, .kept' '@%p[0-9]+ mov.u32 %t' 'setp.lt.s32 .*, 20000;' 'ld(.weak)?.shared.u32 %t[0-9]+, .%flags' 'bra AWAIT'
    shape leave '@%p[0-9]+ (ret|exit);' '(vote|match.any|bar.warp).sync.* %t[0-9]+;'
    shape spin,leave '@%p[0-9]+ (ret|exit);' 'st.volatile.shared.u32 \[%flags.*%epoch'
    shape partner 'bar.warp.sync %t' 'vote.sync.ballot.b32 %t'
    shape seen 'activemask' 'vote.(ballot|any)'
    shape uniform-chain 'bra.uni' 'setp.lt.u32 %wp'
    shape wait-call 'call wait_function' 'call barrier_function' '@%p bra SPIN' 'st.volatile.shared.u32 \[%at\]'
    shape masks 'lanemask_eq' 'bar.warp.sync %t' 'match.any.sync.b32 %t' '@%p[0-9]+ (vote|match|shfl|bar)'
    shape warp-call,leave 'call.* warp_function' 'bar.warp.sync %mask|vote.sync.*%mask'
}

# What these two do is judged by tests/prove-random.sh.
for fault in $("$BUILD/ptxopt-faulty" --list-phases | grep -o '^fault-[a-z-]*' | grep -v 'random-change\|poll-once'); do
    judge "$fault" >>"$LOG"
    judge_way_back "$fault" >>"$LOG"
    judge_prover "$fault" >>"$LOG"
done
judge_report >>"$LOG"
judge_shapes >>"$LOG"
if "$BUILD/ptxopt" --list-phases | grep -q fault- || grep -q fault-barrier "$BUILD/ptxopt"; then
    echo 'fail ptxopt: the product holds planted faults' >>"$LOG"
fi
[ -z "${VERBOSE:-}" ] || cat "$LOG"
echo "faults: $(grep -c '^pass fault-.*: case' "$LOG") caught, $(grep -c '^fail fault-' "$LOG") missed"
tally faults "$LOG"
