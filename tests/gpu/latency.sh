#!/bin/sh
# Writes LATENCY.ptx and LATENCY.launch: chains of 32 operations, each of which needs the one before. A thread stores what its third
# round of the chain took, in cycles. usage: latency.sh LATENCY
set -eu
CHAIN=32
names=

# chain NAME SETUP OPERATION [AFTERWARDS]: the operation changes %r1, or what AFTERWARDS makes %r1 of.
chain()
{
    names="$names $1"
    cat <<EOF

.visible .entry $1(.param .u64 out, .param .u64 memory)
{
	.reg .pred %p<4>;
	.reg .b32 %r<16>;
	.reg .b64 %rd<16>;
	.reg .f32 %f<4>;
	.reg .f64 %fd<4>;
	.shared .align 8 .b8 tile[4096];
	ld.param.u64 %rd1, [out];
	ld.param.u64 %rd2, [memory];
	mov.u32 %r9, %tid.x;
	mov.u32 %r1, %r9;
	mov.u32 %r3, tile;
	mov.u64 %rd4, %rd2;
	$2
	bar.sync 0;
	mov.u32 %r10, 0;
ROUND:
	.pragma "nounroll";
	bar.warp.sync -1;
	mov.u32 %r7, %clock;
$(i=0; while [ $i -lt $CHAIN ]; do echo "	$3"; i=$((i + 1)); done)
	${4:-}
	mov.u32 %r8, %clock;
	add.s32 %r10, %r10, 1;
	setp.lt.s32 %p3, %r10, 3;
	@%p3 bra ROUND;
	sub.s32 %r7, %r8, %r7;
	mul.wide.u32 %rd3, %r9, 4;
	add.s64 %rd1, %rd1, %rd3;
	st.global.u32 [%rd1], %r7;
	st.global.u32 [%rd2+4096], %r1;
	ret;
}
EOF
}

chains()
{
    printf '.version 8.0\n.target sm_80\n.address_size 64\n'
    chain ADD '' 'add.s32 %r1, %r1, %r9;'
    chain GLOBAL_L1 'st.global.u64 [%rd2], %rd2;' 'ld.global.ca.u64 %rd4, [%rd4];' 'cvt.u32.u64 %r1, %rd4;'
    chain GLOBAL_L2 'st.global.u64 [%rd2], %rd2;' 'ld.global.cg.u64 %rd4, [%rd4];' 'cvt.u32.u64 %r1, %rd4;'
    chain GLOBAL_ATOMIC 'mov.u64 %rd5, 0;' 'add.s64 %rd4, %rd2, %rd5; atom.global.add.u64 %rd5, [%rd4], 0;' 'cvt.u32.u64 %r1, %rd5;'
    chain SHARED 'st.shared.u32 [tile], %r3; mov.u32 %r1, %r3;' 'ld.volatile.shared.u32 %r1, [%r1];'
    chain SHARED_ATOMIC_SAME 'st.shared.u32 [tile], 0; mov.u32 %r1, 0;' 'add.s32 %r1, %r1, %r3; atom.shared.add.u32 %r1, [%r1], 0;'
    chain SHARED_ATOMIC 'and.b32 %r4, %r9, 31; shl.b32 %r4, %r4, 2; add.s32 %r3, %r3, %r4; st.shared.u32 [%r3], 0; mov.u32 %r1, 0;' \
        'add.s32 %r1, %r1, %r3; atom.shared.add.u32 %r1, [%r1], 0;'
    chain SPECIAL 'mov.f32 %f1, 0f3f800000;' 'rsqrt.approx.ftz.f32 %f1, %f1;' 'mov.b32 %r1, %f1;'
    chain POPC '' 'popc.b32 %r1, %r1;'
    chain SHUFFLE '' 'shfl.sync.bfly.b32 %r1, %r1, 1, 31, -1;'
    chain VOTE '' 'setp.ne.s32 %p1, %r1, 0; vote.sync.ballot.b32 %r1, %p1, -1;'
    chain REDUCTION '' 'redux.sync.add.u32 %r1, %r1, -1;'
    chain FP64 'mov.f64 %fd1, 0d3ff0000000000000;' 'fma.rn.f64 %fd1, %fd1, %fd1, %fd1;' 'cvt.rn.f32.f64 %f1, %fd1; mov.b32 %r1, %f1;'
    chain FP32 'mov.f32 %f1, 0f3f800000;' 'fma.rn.f32 %f1, %f1, %f1, %f1;' 'mov.b32 %r1, %f1;'
    chain MULTIPLY_HIGH '' 'mul.hi.u32 %r1, %r1, %r9;'
    chain DIVIDE 'add.s32 %r1, %r9, 1000; add.s32 %r2, %r9, 1;' 'div.u32 %r1, %r1, %r2;'
    chain BARRIER '' 'bar.sync 0;'
    chain FENCE_CTA '' 'membar.cta;'
    chain FENCE_GPU '' 'membar.gl;'
    chain FENCE_SYSTEM '' 'membar.sys;'
    for name in $names; do
        for threads in 32 128 256 1024; do
            printf 'launch %s\nbuffer out u32 1024 zero\nbuffer memory u32 2048 zero\nkernel %s\nblock %s 1 1\narg ptr out\narg ptr memory\noutput out\n' \
                "$name.$threads" "$name" "$threads"
        done
    done >"$launch"
}

launch=$1.launch
chains >"$1.ptx"
