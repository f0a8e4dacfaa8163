#!/bin/sh
# ptxopt -O2 on a GPU, before and after: outputs bit for bit, and times. usage: [BUILD=build] [KERNELS=100] tests/gpu.sh
#   examples/*.ptx            with the small launches beside them
#   tests/gpu/large/*.launch  the examples of that name, on data that fill a GPU: these are timed
#   tests/exec/cases/*.ptx    what the interpreter computes, where it finds no fault; undefined behaviour is not compared
#   KERNELS of ptxgen         before, and after -O2 and -O3; before, what the interpreter computes as well
#   tests/gpu/latency.sh      cycles of dependent operations, for src/judge/machine/latencies.def
# tests/gpu/plan.ptx and plan.launch are read without a GPU, and must give plan.out; every other launch description must
# be readable. Without a GPU that is all, and the rest counts as skipped.
# Times go to $BUILD/report/gpu.md: medians in microseconds. `estimated` is the ratio of the cycles that the judge expects.
#
#   tests/gpu.sh --run CASE  runs one case alone, as this script does many at once; it prints pass and fail
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
WORK=$BUILD/work/gpu
KERNELS=${KERNELS:-100}

plan_case()
{
    "$BUILD/gpu_check" --plan "$1" "$2" >"$WORK/plan.log" 2>&1 || { echo "fail $2"; head -5 "$WORK/plan.log"; return; }
    if [ -e "${2%.launch}.out" ] && ! cmp -s "${2%.launch}.out" "$WORK/plan.log"; then
        echo "fail $2"
        diff "${2%.launch}.out" "$WORK/plan.log"
    else
        echo "pass $2"
    fi
}

# image FILE: the cubin for the device, or the file itself where ptxas is not at hand or does not know the device.
image()
{
    if [ -n "$PTXAS" ] && cubin=$(assemble "$1" "$GPU_TARGET"); then echo "$cubin"; else echo "$1"; fi
}

# optimized FILE NAME OPTION...: the image of what ptxopt makes of FILE for the device; nothing where ptxopt fails.
optimized()
{
    file=$1 name=$2
    shift 2
    "$BUILD/ptxopt" "$@" "$file" -o "$WORK/$name.ptx" 2>"$WORK/$name.said" && image "$WORK/$name.ptx"
}

# compare FILE LAUNCH NAME IMAGE...
compare()
{
    file=$1 launch=$2 name=$3
    shift 3
    # shellcheck disable=SC2086 # words
    if timeout 120 "$BUILD/gpu_check" ${REPEAT:-} "$file" "$launch" "$@" >"$WORK/$name.log" 2>&1; then
        echo "pass $name"
    else
        echo "fail $name"
        head -20 "$WORK/$name.log"
    fi
}

# FILE has a launch description beside it.
example_case()
{
    name=$(basename "$1" .ptx)
    REPEAT=--repeat=1 compare "$1" "${1%.*.ptx}.launch" "small/$name" "$(image "$1")" "$(optimized "$1" "small/$name" -O2)"
}

# for_device FILE: a copy whose target is the device's, so that --guard asks about it.
for_device()
{
    sed "s/^\.target sm_[0-9]*/.target $GPU_TARGET/" "$1" >"$WORK/large/$(basename "$1")"
    echo "$WORK/large/$(basename "$1")"
}

# large_case FILE LAUNCH: images before, after -O2, and guarded; for a kernel with checks, that without as well.
large_case()
{
    file=$(for_device "$1") name=$(basename "$1" .ptx) raw=$(echo "$1" | sed 's/\.checked\./.raw./')
    before=$(image "$file") after=$(optimized "$file" "large/$name.O2" -O2)
    guarded=$(optimized "$file" "large/$name.guarded" -O2 ${PTXAS:+--guard="$PTXAS"})
    "$BUILD/cubinjudge" --all --tsv "$before" "$after" >"$WORK/large/$name.tsv" 2>/dev/null
    set -- "$file" "$2" "large/$name" "$before" "$after" "$guarded"
    [ "$(basename "$raw")" = "$name.ptx" ] || set -- "$@" "$(image "$(for_device "$raw")")"
    [ -n "${IMAGES_ONLY:-}" ] || compare "$@"
}

# image_as_written FILE: image, in which ptxas fuses no product with a sum, as the interpreter does not.
image_as_written()
{
    if [ -n "$PTXAS" ] && cubin=$(assemble "$1" "$GPU_TARGET" -fmad false); then echo "$cubin"; else echo "$1"; fi
}

# interpreted FILE LAUNCH NAME: what the interpreter computes is what the GPU does. Which lanes an activemask sees is the GPU's own choice.
interpreted()
{
    ! grep -q 'activemask\.' "$1" || { echo "skip $3 interpreted: activemask"; return; }
    "$BUILD/ptxrun" --brief "$1" "$2" >"$WORK/$3.interpreted" 2>&1
    if ! grep -qE '^(launch|output) ' "$WORK/$3.interpreted" || grep -qvE '^(launch|output) ' "$WORK/$3.interpreted"; then
        echo "skip $3 interpreted: $(grep -vE '^(launch|output) ' "$WORK/$3.interpreted" | head -1)"
    elif timeout 120 "$BUILD/gpu_check" --values "$1" "$2" "$(image_as_written "$1")" >"$WORK/$3.computed" 2>&1 &&
        cmp -s "$WORK/$3.interpreted" "$WORK/$3.computed"; then
        echo "pass $3 interpreted"
    else
        echo "fail $3 interpreted: see $WORK/$3.interpreted and $WORK/$3.computed"
    fi
}

exec_case() { interpreted "$1" "${1%.ptx}.launch" "small/$(basename "$1" .ptx)"; }

# random_case SEED: a kernel of ptxgen. Polls of memory that others write without a fence have no result of their own.
random_case()
{
    base=$WORK/random/$1
    "$BUILD/ptxgen" --seed="$1" --mix --without=poll --launch="$base.launch" -o "$base.ptx" || { echo "fail random/$1: ptxgen"; return; }
    before=$(image "$base.ptx")
    [ -z "$PTXAS" ] || [ "$before" != "$base.ptx" ] || { echo "skip random/$1: ptxas does not assemble it"; return; }
    REPEAT=--repeat=1 compare "$base.ptx" "$base.launch" "random/$1" "$before" "$(optimized "$base.ptx" "random/$1.O2" -O2)" \
        "$(optimized "$base.ptx" "random/$1.O3" -O3)"
    interpreted "$base.ptx" "$base.launch" "random/$1"
}

# Runs the cases on standard input, several at once.
run_all() { xargs -P "$(nproc)" -L 1 sh tests/gpu.sh --run; }

print_times()
{
    echo '| kernels | launch | before | -O2 | ratio | estimated | guarded | without checks |'
    echo '|---|---|---|---|---|---|---|---|'
    for log in "$WORK"/large/*.log; do
        sed -n 's/^gpu launch=\(.*\) kernels=\(.*\) kernel=\(.*\) result=\(.*\) us=\(.*\)/\1,\2,\3,\4,\5/p' "$log" |
            awk -F , -v OFS=' | ' -v file="$(basename "$log" .log)" -v judged="${log%.log}.tsv" '
                BEGIN { while ((getline line < judged) > 0) { split(line, a, "\t"); if (a[6] > 0) ratio[a[1]] = sprintf("%.3f %s", a[7] / a[6], a[2]) } }
                { print "| " file, $1, $5, $6, sprintf("%.3f", $6 / $5), $2 == 1 ? ratio[$3] : "-", sprintf("%.3f", $7 / $5), $8 ? sprintf("%.3f", $8 / $5) " |" : "- |" }'
    done
}

print_latencies()
{
    sh tests/gpu/latency.sh "$WORK/latency"
    echo '| operation | threads in a block | cycles |'
    echo '|---|---|---|'
    "$BUILD/gpu_check" --values "$WORK/latency.ptx" "$WORK/latency.launch" "$(image "$WORK/latency.ptx")" | awk '
        $1 == "launch" { split($2, name, ".") }
        $1 == "output" { most = 0; for (i = 3; i <= NF; i++) if ($i > most) most = $i; printf "| %s | %s | %.1f |\n", name[1], name[2], most / 32 }'
}

report()
{
    printf '# Times on %s\n\n' "$device"
    print_times
    printf '\n# Latencies: the slowest thread, an operation of a chain\n\n'
    print_latencies
}

# A line for each example that has a large launch.
cases()
{
    for launch in tests/gpu/large/*.launch; do
        name=$(basename "$launch" .launch)
        for file in examples/"$name".*.ptx examples/checked/"$name".checked.*.ptx; do
            [ ! -e "$file" ] || echo "large_case $file $launch"
        done
    done
}

if [ "${1:-}" = --run ]; then
    shift
    "$@"
    exit
fi
rm -rf "$WORK"
mkdir -p "$WORK/small" "$WORK/large" "$WORK/random" "$BUILD/report"
{
    plan_case tests/gpu/plan.ptx tests/gpu/plan.launch
    cases | while read -r _ file launch; do plan_case "$file" "$launch"; done
    for launch in examples/*.launch; do
        set -- "${launch%.launch}".*.ptx
        plan_case "$1" "$launch"
    done
    if device=$("$BUILD/gpu_check" --device 2>"$WORK/device"); then
        GPU_TARGET=${device%% *}
        export GPU_TARGET
        # Images first, several at once: what is timed then runs alone.
        cases | IMAGES_ONLY=1 run_all
        cases | while read -r _ file launch; do large_case "$file" "$launch"; done
        report >"$BUILD/report/gpu.md"
        for file in examples/*.ptx; do if [ -e "${file%.*.ptx}.launch" ]; then echo "example_case $file"; fi; done | run_all
        grep -L '^# Only the interpreter' tests/exec/cases/*.launch | sed 's/^/exec_case /; s/launch$/ptx/' | run_all
        seq 1 "$KERNELS" | sed 's/^/random_case /' | run_all
    else
        echo "skip the examples on a GPU: $(cat "$WORK/device")"
    fi
} >"$WORK/results"
tally gpu "$WORK/results"
