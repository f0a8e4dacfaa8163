#!/bin/sh
# Outputs with one thing changed: those that the interpreter sees as different must not be proved. Of random kernels, and of the
# kernels of examples/checked and prove/remainders.ptx, whose loops have versions without their checks.
# usage: [BUILD=build] [N=1000] [FIRST=1] tests/mutants.sh
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
WORK=$BUILD/work/mutants
N=${N:-1000}
FIRST=${FIRST:-1}
EACH=$(((N + 199) / 200)) # of each checked kernel
rm -rf "$WORK"
mkdir -p "$WORK"

# kernel NAME FILE: the text without the other kernels.
kernel()
{
    awk -v name="$1" '/entry / { other = $0 !~ "entry " name "\\(" } !other; /^}/ { other = 0 }' "$2"
}

# launches NAME FILE...: those of the kernel, each with a label of its own.
launches()
{
    name=$1
    shift
    cat "$@" | awk -v name="$name" 'BEGIN { RS = ""; ORS = "\n\n" } $0 ~ "\nkernel " name "\n" { sub(/launch [^\n]*/, "launch l" NR); print }'
}

# try BASE PRODUCER NAME: outputs of a checked kernel, in launches in which its checks hold and in some where they fail. Threads of
# bfs_step race for what atom.cas returns, so that its accesses are others whenever it takes more or fewer instructions.
try()
{
    [ "$3" != bfs_step ] || return
    one=$WORK/$3.$2
    kernel "$3" "examples/checked/$1.checked.$2.ptx" >"$one.ptx"
    launches "$3" "examples/checked/$1.launch" "examples/checked/$1.fails" >"$one.launch"
    "$BUILD/mutants" --flags=-O2 --folder="$WORK" -m "$EACH" --first="$FIRST" "$one.ptx" "$one.launch" >"$one.said"
    status=$?
    sed -n "s/^fail /fail $3 of $2, /p" "$one.said"
    grep -q '; 1 of 1 outputs proved' "$one.said" && echo "proved $3 of $2"
    sed -n 's/^mutants: [0-9]* tried, \([0-9]*\) different: .*/different \1/p' "$one.said"
    [ $status = 0 ] && grep -q ' of 1 outputs' "$one.said" && echo "pass $3 of $2" || echo "fail $3 of $2: exit status $status: $(tail -1 "$one.said")"
}

# remainder_launches NAME: with a width at the length, below, above, and 0; rows and first numbers that let checks fail.
remainder_launches()
{
    echo '8 8 8 0, 8 7 8 0, 20 8 9 0, 20 8 5 3, 20 8 5 4, 20 8 0 0, 20 0 0 0, 20 8 1 0, 5 8 4 4294967293, 20 4294967295 4 0' | tr ',' '\n' | awk -v name="$1" '{
        printf "launch l%d\nbuffer a f32 64 random 3 -4 4\nbuffer o f32 4 zero\nkernel %s\ngrid 1 1 1\nblock 1 1 1\narg ptr a\narg ptr o\n", NR, name
        printf "arg u32 %s\narg u32 %s\narg u32 %s\narg u32 %s\noutput o\n\n", $1, $2, $3, $4 }'
}

# try_remainders: the same of loops that check a remainder.
try_remainders()
{
    for name in $(sed -n 's/.*entry \([a-z_]*\)(.*/\1/p' tests/prove/remainders.ptx); do
        one=$WORK/$name
        kernel "$name" tests/prove/remainders.ptx >"$one.ptx"
        remainder_launches "$name" >"$one.launch"
        "$BUILD/mutants" --flags=-O2 --folder="$WORK" -m $((N / 50)) --first="$FIRST" "$one.ptx" "$one.launch" >"$one.said"
        [ $? = 0 ] && grep -q '; 1 of 1 outputs proved' "$one.said" && echo "pass $name" || echo "fail $name: $(tail -1 "$one.said")"
    done
}

# share K: every JOBS-th of the checked kernels, the K-th one first.
share()
{
    for file in examples/checked/*.checked.*.ptx; do
        base=$(basename "$file" .ptx)
        sed -n 's/^kernel //p' "examples/checked/${base%%.*}.launch" | sort -u | sed "s/^/${base%%.*} ${base##*.} /"
    done | awk -v k="$1" -v jobs="$JOBS" 'NR % jobs == k % jobs' | while read -r base producer name; do try "$base" "$producer" "$name"; done >"$WORK/share.$1"
}

"$BUILD/mutants" --folder="$WORK" -m 10 -n $((N / 10)) --first="$FIRST" -j "$JOBS" >"$WORK/random"
status=$?
cat "$WORK/random"
for k in $(seq "$JOBS"); do share "$k" & done
wait
grep -h '^pass \|^fail ' "$WORK"/share.* >"$WORK/log"
[ $status = 0 ] && echo 'pass random kernels' >>"$WORK/log" || echo "fail random kernels: exit status $status" >>"$WORK/log"
try_remainders >"$WORK/remainders"
cat "$WORK/remainders" >>"$WORK/log"
different=$(cat "$WORK"/share.* | awk '/^different/ { sum += $2 } END { print sum + 0 }')
proved=$(cat "$WORK"/share.* | grep -c '^proved ')
[ "$proved" -ge 59 ] || echo "fail checked: only $proved outputs are proved" >>"$WORK/log"
[ "$different" -ge $((4 * EACH)) ] || echo "fail checked: only $different mutants are different" >>"$WORK/log"
echo "mutants: $proved of $(cat "$WORK"/share.* | grep -c "^pass ") outputs of examples/checked are proved; $different mutants of those differ"
tally mutants "$WORK/log"
