#!/bin/sh
# Makes the committed PTX of every NAME.cu here, checked and raw: NAME.checked.nvcc.ptx, NAME.raw.clang.ptx, ...
#
#   [OPT=-O3] [OUT=.] sh regen.sh [NAME...]       (default: all)
#
# See ../regen.sh for the compilers. slices.*.slang.ptx, of slices.slang, is of slangc 2026.14.1 and NVRTC 13.0.88, without a script
# here: slangc -target cuda slices.slang -o slices.cu, then by NVRTC -arch=compute_75 -std=c++17 -default-device, for the checked one
# with -D'SLANG_BOUND_CHECK(index,count)=if (!((index) < (count))) __trap();', the macro that Slang's prelude leaves to its user.
set -eu
cd "$(dirname "$0")"
CUDA=${CUDA:-/usr/local/cuda}
CLANG=${CLANG:-clang-19}
OPT=${OPT:--O3}
OUT=${OUT:-.}

# CCCL_... lets the span of libcu++ check, and NDEBUG takes the check out of assert().
defines() { if [ "$1" = checked ]; then echo -DCHECKED -DCCCL_ENABLE_DEVICE_ASSERTIONS; else echo -DRAW -DNDEBUG; fi; }

# with_clang NAME KIND LEVEL PRODUCER
with_clang()
{
    # shellcheck disable=SC2046 # words
    "$CLANG" -x cuda --cuda-device-only -S "$3" --cuda-gpu-arch=sm_75 --cuda-path="$CUDA" -I../compat -I"$CUDA/include/cccl" \
        -Wno-unknown-cuda-version $(defines "$2") "$1.cu" -o "$OUT/$1.$2.$4.ptx"
}

[ $# -gt 0 ] || set -- *.cu
for name; do
    name=${name%.cu}
    for kind in checked raw; do
        # shellcheck disable=SC2046 # words
        "$CUDA/bin/nvcc" "$OPT" -ptx -arch=compute_75 $(defines $kind) "$name.cu" -o "$OUT/$name.$kind.nvcc.ptx"
        with_clang "$name" $kind "$OPT" clang
        [ "$name" != shared ] || with_clang "$name" $kind -O2 clang-O2 # the tile's loop is not unrolled
    done
done
