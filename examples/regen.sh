#!/bin/sh
# Makes the committed PTX of every NAME.cu here, exactly as it was made:
#
#   sh regen.sh [NAME...]       (default: all)
#
# NAME.nvcc.ptx comes from nvcc 13.0, NAME.clang.ptx from clang 19 with the
# headers and the libdevice of the same toolkit. CUDA= and CLANG= say where
# they are. Nothing in the build needs this: the PTX is committed.
set -eu
cd "$(dirname "$0")"
CUDA=${CUDA:-/usr/local/cuda}
CLANG=${CLANG:-clang-19}

# The lowest architecture that has what the kernel uses.
arch_of() {
    case $1 in
    gemm_mma) echo 80 ;; # cp.async
    *) echo 75 ;;
    esac
}

nvcc_flags_of() {
    case $1 in
    wave) echo -lineinfo ;;
    *) ;;
    esac
}

clang_flags_of() {
    case $1 in
    wave) echo -gline-tables-only ;;
    *) ;;
    esac
}

[ $# -gt 0 ] || set -- *.cu
for name; do
    name=${name%.cu}
    arch=$(arch_of "$name")
    # shellcheck disable=SC2046  # the flags are words on purpose
    "$CUDA/bin/nvcc" -O3 -ptx -arch="compute_$arch" \
        $(nvcc_flags_of "$name") "$name.cu" -o "$name.nvcc.ptx"
    # shellcheck disable=SC2046
    "$CLANG" -x cuda --cuda-device-only -S -O3 --cuda-gpu-arch="sm_$arch" \
        --cuda-path="$CUDA" -Icompat -Wno-unknown-cuda-version \
        $(clang_flags_of "$name") "$name.cu" -o "$name.clang.ptx"
    # Line information names files by absolute path: keep the last part.
    sed -i 's|^\([[:space:]]*\.file[[:space:]][0-9]* \)".*/|\1"|' \
        "$name.nvcc.ptx" "$name.clang.ptx"
done
