#!/bin/sh
# Every example on the GPU, before and after ptxopt -O2: outputs bit for bit, and times. usage: [BUILD=build] tests/gpu.sh
#   tests/gpu/plan.ptx and plan.launch are read without a GPU, and must give plan.out; every other launch description must
#   be readable. Without a GPU that is all, and the examples count as skipped.
# What --enable-stride-unroll makes of examples/strides is timed beside -O2, with tests/gpu/strides.launch.
# Times go to $BUILD/report/gpu.md: medians in microseconds, ratio below 1: faster.
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
WORK=$BUILD/work/gpu

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
    if [ -n "$PTXAS" ] && cubin=$(assemble "$1" "$target"); then echo "$cubin"; else echo "$1"; fi
}

# gpu_case FILE LAUNCH BEFORE AFTER [OPTION]
gpu_case()
{
    name=$(basename "$1" .ptx)${5:-}
    if timeout 120 "$BUILD/gpu_check" --images="$(image "$3"),$(image "$4")" "$3" "$4" "$2" >"$WORK/$name.log" 2>&1; then
        echo "pass $1 ${5:-}"
        sed -n "s/^gpu launch=\([^ ]*\) .*before_us=\(.*\) after_us=\(.*\) ratio=\(.*\)/| $name | \1 | \2 | \3 | \4 |/p" \
            "$WORK/$name.log" >>"$BUILD/report/gpu.md"
    else
        echo "fail $1 ${5:-}"
        head -20 "$WORK/$name.log"
    fi
}

example_case()
{
    after=$WORK/$(basename "$1")
    "$BUILD/ptxopt" -O2 "$1" -o "$after" || { echo "fail $1: ptxopt -O2"; return; }
    gpu_case "$1" "${1%.*.ptx}.launch" "$1" "$after"
}

# option_case FILE LAUNCH OPTION: what an option that is off by default makes of what -O2 leaves.
option_case()
{
    before=$WORK/before.ptx after=$WORK/option.ptx
    "$BUILD/ptxopt" -O2 "$1" -o "$before" && "$BUILD/ptxopt" -O2 "$3" "$1" -o "$after" || { echo "fail $1: ptxopt -O2 $3"; return; }
    gpu_case "$1" "$2" "$before" "$after" "$3"
}

rm -rf "$WORK"
mkdir -p "$WORK" "$BUILD/report"
{
    plan_case tests/gpu/plan.ptx tests/gpu/plan.launch
    plan_case examples/strides.nvcc.ptx tests/gpu/strides.launch
    for launch in examples/*.launch; do
        set -- "${launch%.launch}".*.ptx
        plan_case "$1" "$launch"
    done
    if device=$("$BUILD/gpu_check" --device 2>"$WORK/device"); then
        target=${device%% *}
        printf '# Times on %s\n\n| kernels | launch | before | after | ratio |\n|---|---|---|---|---|\n' "$device" >"$BUILD/report/gpu.md"
        for file in examples/*.ptx; do
            if [ -e "${file%.*.ptx}.launch" ]; then example_case "$file"; fi
        done
        for file in examples/strides.*.ptx; do option_case "$file" tests/gpu/strides.launch --enable-stride-unroll; done
    else
        echo "skip the examples on a GPU: $(cat "$WORK/device")"
    fi
} >"$WORK/results"
tally gpu "$WORK/results"
