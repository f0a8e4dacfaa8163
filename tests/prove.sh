#!/bin/sh
# Proofs. usage: [BUILD=build] tests/prove.sh [CASE.ptx]...
#
# A case of tests/prove/cases is one file: lines `// EXPECT NAME: VERDICT` (proved, not proved, refuted, unknown), a text, a
# line `// AFTER`, and the text that is to be a rewrite of it; options stand in a line `// FLAGS`. Then what ptxopt makes of every
# example at -O1, -O2 and -O3: nothing may be refuted, and so many of a hundred changed functions must be proved.
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
WORK=$BUILD/work/prove
LOG=$WORK/log
PROVED_WANTED=${PROVED_WANTED:-90}
rm -rf "$WORK"
mkdir -p "$WORK"

# split CASE: into before.ptx and after.ptx.
split()
{
    awk '/^\/\/ AFTER$/ { after = 1 } !after && !/^\/\/ (EXPECT|FLAGS) /' "$1" >"$WORK/before.ptx"
    awk 'after; /^\/\/ AFTER$/ { after = 1 }' "$1" >"$WORK/after.ptx"
}

# Whether what was said of the functions is what the case expects.
judge_case()
{
    name=$(basename "$1" .ptx)
    split "$1"
    # shellcheck disable=SC2046 # words of their own
    "$BUILD/ptxopt-prove" $(sed -n 's,^// FLAGS ,,p' "$1") "$WORK/before.ptx" "$WORK/after.ptx" >"$WORK/said" 2>&1
    status=$?
    [ $status -le 3 ] || { echo "fail $name: exit status $status"; return; }
    grep '^// EXPECT ' "$1" | while read -r _ _ function wanted; do
        said=$(sed -n "s/^$function \(proved\|unknown\|refuted\).*/\1/p" "$WORK/said")
        case $wanted:$said in
        proved:proved | refuted:refuted | unknown:unknown | 'not proved':unknown | 'not proved':refuted) echo "pass $name" ;;
        *) echo "fail $name: $function $wanted is wanted, and it says: $(cut -c1-200 "$WORK/said")" ;;
        esac
    done
}

judge_example()
{
    name=$(basename "$2" .ptx)$1
    "$BUILD/ptxopt" "$1" "$2" -o "$WORK/out.ptx" 2>/dev/null || { echo "fail $name: ptxopt fails"; return; }
    "$BUILD/ptxopt-prove" "$2" "$WORK/out.ptx" >"$WORK/said" 2>&1
    status=$?
    cat "$WORK/said" >>"$WORK/examples"
    case $status in
    0) echo "pass $name" ;;
    2)
        echo "pass $name"
        [ "$1" != -O2 ] || echo "$2" >>"$WORK/unknown"
        ;;
    *) echo "fail $name: exit status $status: $(grep -v ': proved' "$WORK/said" | cut -c1-200)" ;;
    esac
}

# judge_product PROVED UNKNOWN: what is proved is kept, and what is not goes back to its own bytes where --prove says so.
judge_product()
{
    "$BUILD/ptxopt" -O2 --prove=report --stats=json "$1" -o "$WORK/kept.ptx" 2>"$WORK/kept.log" || { echo "fail product: --prove=report fails"; return; }
    "$BUILD/ptxopt" -O2 "$1" -o "$WORK/plain.ptx" 2>/dev/null
    cmp -s "$WORK/kept.ptx" "$WORK/plain.ptx" || { echo "fail product: --prove=report changes the output"; return; }
    grep -q '"proved": [1-9]' "$WORK/kept.log" || { echo "fail product: nothing is proved of $1"; return; }
    "$BUILD/ptxopt" -O2 --prove=strict "$2" -o "$WORK/back.ptx" 2>"$WORK/back.log" || { echo "fail product: --prove=strict fails"; return; }
    grep -q 'stays as it was' "$WORK/back.log" || { echo "fail product: --prove=strict keeps all of $2"; return; }
    "$BUILD/ptxopt-prove" "$2" "$WORK/back.ptx" >"$WORK/said" || { echo "fail product: --prove=strict lets something through: $(cut -c1-200 "$WORK/said")"; return; }
    echo "pass product"
}

# It is the version of ptxopt.
judge_version()
{
    "$BUILD/ptxopt-prove" --version | grep -q '^ptxopt-prove [0-9.]* (commit ' && echo 'pass version' || echo 'fail version'
}

# A solver that is missing, dies, hangs, answers nonsense, or says unsat to everything proves nothing.
judge_solver()
{
    split tests/prove/cases/address-sext-wraps.ptx
    for solver in false 'sleep 100' 'yes' 'yes unsat' 'yes sat' 'kill -9 $$' 'head -c 100000 /dev/zero'; do
        timeout 60 "$BUILD/ptxopt-prove" --time-limit=500 --solver="$solver" "$WORK/before.ptx" "$WORK/after.ptx" >"$WORK/said" 2>&1
        status=$?
        case $status in
        2 | 3) echo "pass solver $solver" ;;
        *) echo "fail solver $solver: exit status $status: $(cut -c1-200 "$WORK/said")" ;;
        esac
    done
}

# A solver that cannot be found is an error, before anything is proved.
judge_missing_solver()
{
    split tests/prove/cases/address-sext-wraps.ptx
    for solver in no-such-solver /no/such/solver 'no-such-solver -in' ''; do
        "$BUILD/ptxopt-prove" --solver="$solver" "$WORK/before.ptx" "$WORK/after.ptx" >"$WORK/said" 2>&1
        status=$?
        "$BUILD/ptxopt" --prove=report --solver="$solver" "$WORK/before.ptx" -o "$WORK/none" 2>>"$WORK/said"
        { [ $status$? = 11 ] && [ ! -e "$WORK/none" ] && [ "$(grep -c "error: --solver: '$solver' cannot be found" "$WORK/said")" = 2 ] && [ "$(wc -l <"$WORK/said")" = 2 ]; } &&
            echo "pass solver that is missing: $solver" || echo "fail solver that is missing: $solver: $(cut -c1-200 "$WORK/said")"
    done
}

# A refutation names what differs.
judge_words()
{
    split tests/prove/cases/call-other-argument.ptx
    "$BUILD/ptxopt-prove" "$WORK/before.ptx" "$WORK/after.ptx" >"$WORK/said" 2>&1
    grep -q 'refuted: event 1, another argument of the call: ' "$WORK/said" && echo 'pass words' || echo "fail words: $(cut -c1-200 "$WORK/said")"
}

# What is not decided without a solver, each of them decides.
judge_solvers()
{
    for solver in z3 cvc5 boolector bitwuzla; do
        command -v $solver >/dev/null || { echo "skip solver $solver: it is not at hand"; continue; }
        for case in tests/prove/solver/*.ptx; do
            split "$case"
            "$BUILD/ptxopt-prove" "$WORK/before.ptx" "$WORK/after.ptx" >"$WORK/said" && { echo "fail solver $solver: $case is decided without"; continue; }
            "$BUILD/ptxopt-prove" --solver=$solver "$WORK/before.ptx" "$WORK/after.ptx" >"$WORK/said" && said=proved || said='not proved'
            grep -q "^// EXPECT k: $said" "$case" && echo "pass solver $solver" || echo "fail solver $solver: $case is $said"
        done
    done
}

# many_blocks N KIND LAST: a kernel of so many blocks; arms that join again, with barriers or without, or branches that all leave; LAST is what it stores at the end.
many_blocks()
{
    awk -v n="$1" -v kind="$2" -v last="$3" 'BEGIN {
        print ".version 7.8\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 P, .param .u32 N)\n{"
        print ".reg .pred %p<3>;\n.reg .b32 %r<4>;\n.reg .b64 %rd<3>;\nld.param.u64 %rd1, [P];\nld.param.u32 %r1, [N];\nmov.u32 %r2, 0;"
        for (i = 0; i < n; i++)
            if (kind == "arms" || kind == "barriers") printf "setp.eq.u32 %%p1, %%r1, %d;\n@%%p1 bra L%d;\n%sst.global.u32 [%%rd1+%d], %%r1;\nL%d:\n", i, i, kind == "arms" ? "" : "bar.sync 0;\n", 4 * i, i
            else printf "ld.global.u32 %%r2, [%%rd1+%d];\nsetp.eq.u32 %%p1, %%r2, %d;\n@%%p1 bra END;\n", 4 * i, i
        printf "END:\nst.global.u32 [%%rd1], %s;\nret;\n}\n", last }'
}

# within_limits NAME: of BEFORE and AFTER nothing is proved, and an answer comes in time.
within_limits()
{
    timeout 120 "$BUILD/ptxopt-prove" "$WORK/before.ptx" "$WORK/after.ptx" >"$WORK/said" 2>&1
    status=$?
    { [ $status = 2 ] || [ $status = 3 ]; } && ! grep -q ': proved' "$WORK/said" && echo "pass $1" || echo "fail $1: exit status $status: $(cut -c1-200 "$WORK/said")"
}

# Large functions, and texts that are no versions of one another.
judge_limits()
{
    split tests/prove/cases/search-of-sums.ptx
    (ulimit -t 40; within_limits "search of sums")
    for kind in arms exits; do
        for n in 20000 100000; do
            many_blocks $n $kind %r1 >"$WORK/before.ptx"
            many_blocks $n $kind %r2 >"$WORK/after.ptx"
            within_limits "$n blocks, $kind"
        done
    done
    many_blocks 20000 barriers %r1 >"$WORK/before.ptx"
    sed '/bar.sync/d' "$WORK/before.ptx" >"$WORK/after.ptx"
    within_limits '20000 barriers removed'
    many_blocks 3000 exits %r1 >"$WORK/before.ptx"
    many_blocks 3000 arms %r1 >"$WORK/after.ptx"
    within_limits 'texts that are no versions of one another, of one name'
    cp examples/softmax.nvcc.ptx "$WORK/before.ptx"
    cp examples/scan.nvcc.ptx "$WORK/after.ptx"
    within_limits 'texts that are no versions of one another'
}

# refutes CASE: and says so, with the launch in the file `launch`.
refutes()
{
    split "tests/prove/cases/$1.ptx"
    rm -f "$WORK/launch"
    "$BUILD/ptxopt-prove" --launch="$WORK/launch" "$WORK/before.ptx" "$WORK/after.ptx" >"$WORK/said" 2>&1
    [ $? = 3 ]
}

# What a refutation says of one thread, the interpreter shows, and its launch description shows it again.
judge_replay()
{
    for name in carry-split extreme-as-choice-unsigned guarded-kill load-removed loads-exchanged loop-once-less nested-combined-wrong switch-table-wrong; do
        refutes $name || { echo "fail replay $name: not refuted"; continue; }
        grep -q '^  replayed: thread .*before\.ptx:[0-9]*: .*after\.ptx:[0-9]*: \|^  replayed: thread .*: none; ' "$WORK/said" || { echo "fail replay $name: $(tail -1 "$WORK/said")"; continue; }
        "$BUILD/ptxrun" --compare "$WORK/before.ptx" "$WORK/before.ptx" "$WORK/launch" >"$WORK/said" || { echo "fail replay $name: BEFORE differs from itself"; continue; }
        case $name in load*) echo "pass replay $name"; continue ;; esac # what is read is no output
        "$BUILD/ptxrun" --compare "$WORK/before.ptx" "$WORK/after.ptx" "$WORK/launch" >"$WORK/said"
        [ $? = 1 ] && echo "pass replay $name" || echo "fail replay $name: the launch shows nothing"
    done
    # What it cannot show.
    refutes garbage-other && grep -q '^  not replayed: none of ' "$WORK/said" && [ ! -e "$WORK/launch" ] && echo 'pass replay of garbage' || echo 'fail replay of garbage'
    refutes function-stores-another && grep -q '^  not replayed: it is no kernel$' "$WORK/said" && echo 'pass replay of a function' || echo 'fail replay of a function'
    split tests/prove/cases/guarded-kill.ptx
    "$BUILD/ptxopt-prove" --launch="$WORK/no/such" "$WORK/before.ptx" "$WORK/after.ptx" >"$WORK/said" 2>&1
    [ $? = 1 ] && grep -q "error: cannot write '$WORK/no/such'" "$WORK/said" && echo 'pass replay to no file' || echo 'fail replay to no file'
}

: >"$WORK/examples"
: >"$WORK/unknown"
named=$#
[ $# -gt 0 ] || { judge_version; judge_solver; judge_missing_solver; judge_solvers; judge_words; judge_limits; judge_replay; } >"$LOG"
[ $# -gt 0 ] || set -- tests/prove/cases/*.ptx examples/*.ptx
for file; do
    case $file in
    examples/*) for level in -O1 -O2 -O3; do judge_example $level "$file"; done ;;
    *) judge_case "$file" ;;
    esac
done >>"$LOG"
if [ "$named" = 0 ]; then
    if [ -s "$WORK/unknown" ]; then
        judge_product examples/mandelbrot.nvcc.ptx "$(head -1 "$WORK/unknown")"
    else
        echo 'skip --prove=strict: of no example something is unknown'
    fi
fi >>"$LOG"
changed=$(grep -cE ': (proved|unknown|refuted)' "$WORK/examples")
proved=$(grep -c ': proved' "$WORK/examples")
if [ "$changed" -gt 0 ]; then
    [ $((proved * 100)) -ge $((changed * PROVED_WANTED)) ] && word=pass || word=fail
    echo "$word examples: $proved of $changed changed functions are proved, $PROVED_WANTED % are wanted" >>"$LOG"
    echo "prove: $proved of $changed changed functions of the examples are proved"
fi
tally prove "$LOG"
