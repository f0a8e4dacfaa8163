# Prints a kernel with N arms that end alike but for one instruction, behind a loop that waits: more walks than the budget of tail-merge allows.
function some(n) { seed = (seed * 1103 + 12345) % 65536; return int(seed / 7) % n }
BEGIN {
    items = split("add.u32 %r6, %r5, %r2|mul.lo.u32 %r6, %r6, %r2|st.global.u32 [%rd1], %r6|ld.global.u32 %r8, [%rd2+8]|add.u32 %r9, %r9, %r8|" \
                  "mul.hi.u32 %r9, %r9, %r8|st.global.u32 [%rd1+4], %r9|st.volatile.global.u32 [%rd2+64], %r9", item, "|")
    print ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry kernel(.param .u64 out, .param .u64 in)\n{"
    print ".reg .pred %p<3>; .reg .b32 %r<10>; .reg .b64 %rd<3>;\nld.param.u64 %rd1, [out]; ld.param.u64 %rd2, [in];"
    print "mov.u32 %r1, %tid.x; mov.u32 %r9, 0;\nLOOP: ld.volatile.global.u32 %r2, [%rd2]; setp.eq.s32 %p2, %r2, 0; @%p2 bra LOOP;\nadd.u32 %r2, %r2, %r1;"
    for (k = 0; k < n; k++)
        printf "setp.eq.s32 %%p1, %%r2, %d; @%%p1 bra A%d; add.u32 %%r9, %%r9, %%r2; xor.b32 %%r2, %%r2, %d;\n", k * 37 + some(30), k, k * 3 + 1
    print "bra E;"
    for (k = 0; k < n; k++) {
        printf "A%d: add.u32 %%r5, %%r1, %d; mul.lo.u32 %%r5, %%r5, %d;\n", k, some(9) + 1, some(1000) + 1
        other = some(items) + 1
        for (i = 1; i <= items; i++)
            printf "%s;\n", i == other ? "xor.b32 %r" (some(2) ? 6 : 9) ", %r9, " k : item[i]
        print "bra E;"
    }
    print "E: st.volatile.global.u32 [%rd1+12], %r9;\nshfl.sync.bfly.b32 %r5, %r9, 1, 31, -1; st.global.u32 [%rd1+16], %r5; ret;\n}"
}
