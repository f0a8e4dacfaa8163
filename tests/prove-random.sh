#!/bin/sh
# A phase that changes one random thing in each function (tests/fuzz/faults/random_change.c), behind --prove=revert: of
# generated kernels none may come out that the interpreter sees as different. usage: [N=120] [FIRST=1] tests/prove-random.sh
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
WORK=$BUILD/work/prove-random
LOG=$WORK/log
N=${N:-120}
FIRST=${FIRST:-1}
rm -rf "$WORK"
mkdir -p "$WORK"

# differs FILE NAME: whether the interpreter sees the kernel and this text of it do different things. Reading a register that was
# not written is nothing that others see.
differs()
{
    "$BUILD/ptxrun" --seeds=2 --compare "$2.ptx" "$1" "$2.launch" >"$2.said" 2>&1
    grep -q '^compare ' "$2.said" || return 2
    grep -v 'kind=uninitialized' "$2.said" | grep -q '^difference \|^new '
}

# A refutation leaves everything that somebody needs: version, command line, verdict, and both texts, which show it again.
judge_report()
{
    report=$(ls "$WORK"/*.kept.ptx.refuted 2>/dev/null | head -1)
    [ -n "$report" ] || { echo 'fail report: nothing was refuted'; return; }
    awk '/^\/\/ ---- BEFORE$/ { on = 1; next } /^\/\/ ---- AFTER$/ { exit } on' "$report" >"$WORK/report.before"
    awk 'on; /^\/\/ ---- AFTER$/ { on = 1 }' "$report" >"$WORK/report.after"
    "$BUILD/ptxopt-prove" "$WORK/report.before" "$WORK/report.after" >"$WORK/report.said"
    status=$?
    [ $status = 3 ] || { echo "fail report: $report: ptxopt-prove exits with $status"; return; }
    for pattern in '^// ptxopt .* (commit ' "^// Command line: .*'--prove=revert'" '^// [A-Za-z0-9_]*: refuted: event'; do
        grep -q "$pattern" "$report" || { echo "fail report: $report lacks $pattern"; return; }
    done
    echo 'pass report'
}

# After each step: the changed function is refuted there, and goes back.
judge_each()
{
    for seed in 2 5 7 8 9; do
        "$BUILD/ptxgen" --seed=$seed --size=12 --mix -o "$WORK/each.ptx" --launch="$WORK/each.launch"
        "$BUILD/ptxopt-faulty" -O2 --stop-after=tail-merge --prove-each --prove=strict --stats=json "$WORK/each.ptx" -o "$WORK/each.out.ptx" 2>"$WORK/each.right"
        grep -q '"steps": {"proved": [0-9]*, "unknown": [0-9]*, "refuted": 0}' "$WORK/each.right" || { echo "fail each $seed: no steps, or a right one is refuted"; return; }
        "$BUILD/ptxopt-faulty" --passes=fault-random-change --prove-each --prove=strict "$WORK/each.ptx" -o "$WORK/each.out.ptx" 2>>"$WORK/each.wrong"
    done
    grep -q 'is not proved after fault-random-change: refuted: ' "$WORK/each.wrong" || { echo 'fail each: the phase is not named'; return; }
    echo 'pass each'
}

# A proof of a caller counts with the callee that comes out: where that goes back, so does who no longer waits for it.
judge_callee()
{
    for options in '' --prove-each --reprint; do
        "$BUILD/ptxopt-faulty" --passes=fault-poll-once,tail-merge --prove=revert $options tests/phase/tail-merge/spin_in_call_keep.ptx \
            -o "$WORK/callee.ptx" 2>"$WORK/callee.messages" || { echo 'fail callee: ptxopt fails'; return; }
        cmp -s tests/phase/tail-merge/spin_in_call_keep.ptx "$WORK/callee.ptx" || { echo "fail callee: the caller stays changed $options"; return; }
    done
    grep -q "function 'await' is not proved: refuted: " "$WORK/callee.messages" || { echo 'fail callee: it is not refuted'; return; }
    echo 'pass callee'
}

# What ends in a limit was not seen to be the same, and goes back: here a function of 100,000 blocks.
judge_limit()
{
    awk 'BEGIN {
        print ".version 7.8\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 P, .param .u32 N)\n{"
        print ".reg .pred %p;\n.reg .b32 %r;\n.reg .b64 %rd;\nld.param.u64 %rd, [P];\nld.param.u32 %r, [N];"
        for (i = 0; i < 100000; i++)
            printf "setp.eq.u32 %%p, %%r, %d;\n@%%p bra L%d;\nst.global.u32 [%%rd+%d], %%r;\nL%d:\n", i, i, 4 * i, i
        print "ret;\n}" }' >"$WORK/blocks.ptx"
    for word in report revert; do
        "$BUILD/ptxopt-faulty" --passes=fault-random-change --prove=$word "$WORK/blocks.ptx" -o "$WORK/blocks.$word.ptx" 2>"$WORK/blocks.messages"
        grep -q ': unknown: limit: ' "$WORK/blocks.messages" || { echo "fail limit: $(head -1 "$WORK/blocks.messages")"; return; }
    done
    cmp -s "$WORK/blocks.ptx" "$WORK/blocks.report.ptx" && { echo 'fail limit: nothing is changed'; return; }
    cmp -s "$WORK/blocks.ptx" "$WORK/blocks.revert.ptx" || { echo 'fail limit: it stays changed'; return; }
    echo 'pass limit'
}

# try SEED: changed or not, and whether it matters.
try()
{
    k=$WORK/$1
    "$BUILD/ptxgen" --seed="$1" --size=$((10 + $1 % 4 * 8)) --mix -o "$k.ptx" --launch="$k.launch" || return
    "$BUILD/ptxopt-faulty" --passes=fault-random-change "$k.ptx" -o "$k.wrong.ptx" 2>/dev/null
    "$BUILD/ptxopt-faulty" --passes=fault-random-change --prove=revert "$k.ptx" -o "$k.kept.ptx" 2>"$k.messages" ||
        { echo "fail $1: ptxopt fails"; return; }
    differs "$k.wrong.ptx" "$k" && echo "wrong $1"
    cmp -s "$k.ptx" "$k.kept.ptx" || echo "kept $1"
    differs "$k.kept.ptx" "$k"
    case $? in
    0) echo "fail $1: a wrong function gets past --prove=revert: $k.kept.ptx: $(head -2 "$k.said" | tr '\n' ' ')" ;;
    1) echo "pass $1"; rm -f "$k".ptx "$k".launch "$k".said "$k".messages "$k".wrong.ptx "$k".kept.ptx ;;
    *) echo "fail $1: ptxrun fails: $(head -1 "$k.said")" ;;
    esac
}

share()
{
    for seed in $(seq $((FIRST + $1 - 1)) "$JOBS" $((FIRST + N - 1))); do try "$seed"; done >"$WORK/share.$1"
}

for k in $(seq "$JOBS"); do share "$k" & done
wait
grep -h '^pass \|^fail ' "$WORK"/share.* >"$LOG"
wrong=$(cat "$WORK"/share.* | grep -c '^wrong ')
kept=$(cat "$WORK"/share.* | grep -c '^kept ')
judge_report >>"$LOG"
judge_each >>"$LOG"
judge_callee >>"$LOG"
judge_limit >>"$LOG"
[ $((wrong * 4)) -ge "$N" ] || echo "fail phase: only $wrong of $N kernels are made wrong" >>"$LOG"
echo "prove-random: $wrong of $N kernels were made wrong, $kept outputs still differ from their input"
tally prove-random "$LOG"
