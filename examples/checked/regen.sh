#!/bin/sh
# Makes the committed PTX of every NAME.cu here, checked and raw: NAME.checked.nvcc.ptx, NAME.raw.clang.ptx, ...
#
#   sh regen.sh [NAME...]       (default: all)
#
# See ../regen.sh for the compilers. slices.*.slang.ptx, of slices.slang, is of slangc 2026.14.1 and NVRTC 13.0.88, without a script
# here: slangc -target cuda slices.slang -o slices.cu, then by NVRTC -arch=compute_75 -std=c++17 -default-device, for the checked one
# with -D'SLANG_BOUND_CHECK(index,count)=if (!((index) < (count))) __trap();', the macro that Slang's prelude leaves to its user.
set -eu
cd "$(dirname "$0")"
CUDA=${CUDA:-/usr/local/cuda}
CLANG=${CLANG:-clang-19}
[ $# -gt 0 ] || set -- *.cu
for name; do
    name=${name%.cu}
    for kind in checked raw; do
        define=-DCHECKED
        [ $kind = checked ] || define=-DRAW
        "$CUDA/bin/nvcc" -O3 -ptx -arch=compute_75 $define "$name.cu" -o "$name.$kind.nvcc.ptx"
        "$CLANG" -x cuda --cuda-device-only -S -O3 --cuda-gpu-arch=sm_75 --cuda-path="$CUDA" -I../compat -Wno-unknown-cuda-version \
            $define "$name.cu" -o "$name.$kind.clang.ptx"
    done
done
