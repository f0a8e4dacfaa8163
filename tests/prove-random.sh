#!/bin/sh
# A phase that changes one random thing in each function (tests/fuzz/faults/random_change.c), behind --prove=revert: of
# generated kernels none may come out that the interpreter sees as different. usage: [N=120] tests/prove-random.sh
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
WORK=$BUILD/work/prove-random
LOG=$WORK/log
N=${N:-120}
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
    1) echo "pass $1"; rm -f "$k".* ;;
    *) echo "fail $1: ptxrun fails: $(head -1 "$k.said")" ;;
    esac
}

share()
{
    for seed in $(seq "$1" "$JOBS" "$N"); do try "$seed"; done >"$WORK/share.$1"
}

for k in $(seq "$JOBS"); do share "$k" & done
wait
grep -h '^pass \|^fail ' "$WORK"/share.* >"$LOG"
wrong=$(cat "$WORK"/share.* | grep -c '^wrong ')
kept=$(cat "$WORK"/share.* | grep -c '^kept ')
[ $((wrong * 4)) -ge "$N" ] || echo "fail phase: only $wrong of $N kernels are made wrong" >>"$LOG"
echo "prove-random: $wrong of $N kernels were made wrong, $kept outputs still differ from their input"
tally prove-random "$LOG"
