# Prints a module of one kind, of n parts, for tests/linear.sh. With change=1 each function computes one sum the other way around.
# usage: awk -v kind=KIND -v n=N [-v change=1] -f tests/bench/modules.awk
function call(k) {
    print "{\n.param .b32 x;\n.param .b32 y;\nst.param.b32 [x], %r2;\ncall.uni (y), f" k ", (x);\nld.param.b32 %r2, [y];\n}"
}
# A function that calls two others, or fewer.
function define(k, first, second) {
    print ".func (.param .b32 y) f" k "(.param .b32 x)\n{\n.reg .b32 %r<4>;\nld.param.b32 %r1, [x];\nadd.s32 %r2, %r1, " k ";"
    if (first != "")
        call(first)
    if (second != "")
        call(second)
    print (change ? "xor.b32 %r3, %r2, %r1;" : "xor.b32 %r3, %r1, %r2;") "\nst.param.b32 [y], %r3;\nret;\n}"
}
# A search of n constants by comparison, in halves.
function search(lo, hi,   mid) {
    mid = int((lo + hi) / 2)
    if (hi - lo == 1) {
        print "setp.eq.u32 %p1, %r1, " 3 * lo ";\n@%p1 bra C" lo ";\nbra END;"
        return
    }
    print "setp.lt.u32 %p1, %r1, " 3 * mid ";\n@%p1 bra N" lo "_" mid ";"
    search(mid, hi)
    print "N" lo "_" mid ":"
    search(lo, mid)
}
function begin_kernel() {
    print ".visible .entry k(.param .u64 p, .param .u32 n)\n{\n.reg .pred %p<4>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<4>;"
    print "ld.param.u64 %rd1, [p];\nld.param.u32 %r1, [n];\nmov.u32 %r2, 0;"
}
function is_of_calls() { return kind == "calls_deep" || kind == "calls_wide" || kind == "calls_around" || kind == "calls_twice" }
BEGIN {
    print ".version 8.0\n.target sm_80" (kind == "debug" ? ", debug" : "") "\n.address_size 64"
    for (k = 0; is_of_calls() && k < n; k++)
        print ".func (.param .b32 y) f" k "(.param .b32 x);"
    for (k = 0; k < n; k++)
        if (kind == "calls_deep") define(k, k + 1 < n ? k + 1 : "")
        else if (kind == "calls_wide") define(k)
        else if (kind == "calls_around") define(k, (k + 1) % n)
        else if (kind == "calls_twice") define(k, k + 1 < n ? k + 1 : "", k + 2 < n ? k + 2 : "")
        else if (kind == "functions") print ".func f" k "()\n{\nret;\n}"
        else if (kind == "prototypes") print ".extern .func f" k "(.param .b32 x);"
        else if (kind == "variables") print ".global .align 4 .u32 v" k ";"
        else if (kind == "kernels") print ".visible .entry f" k "(.param .u64 p)\n{\n.reg .b64 %rd<2>;\nld.param.u64 %rd1, [p];\nst.global.u64 [%rd1], %rd1;\nret;\n}"
    if (kind == "initializer") {
        printf ".global .align 4 .u32 v[%d] = {", n
        for (k = 0; k < n; k++) printf "%s%d", k ? ", " : "", k * 7
        print "};"
    }
    begin_kernel()
    if (kind == "search") search(0, n)
    if (kind == "table" || kind == "table_of_four") {
        printf "T: .branchtargets "
        for (k = 0; k < n; k++) printf "%sC%d", k ? ", " : "", kind == "table" ? k : k % 4
        print ";\nbrx.idx %r1, T;"
    }
    for (k = 0; k < n; k++)
        if (kind == "calls_wide" || (is_of_calls() && k == 0)) call(k)
        else if (kind == "search" || kind == "table" || (kind == "table_of_four" && k < 4)) print "C" k ":\nadd.u32 %r2, %r1, " 7 * k ";\nbra END;"
        else if (kind == "registers") print ".reg .b32 %x" k ";\nmov.u32 %x" k ", %r1;"
        else if (kind == "scopes_beside") print "{\n.reg .b32 %x;\nmov.u32 %x, " k ";\nst.global.u32 [%rd1], %x;\n}"
        else if (kind == "labels") print "$L__BB0_" k ":"
        else if (kind == "labels_apart") print "$L__BB0_" k ":\nadd.u32 %r2, %r2, %r1;"
        else if (kind == "spaghetti") print "$L__BB0_" k ":\n@%p1 bra $L__BB0_" (k * 7919 + 13) % n ";"
        else if (kind == "parameters") print "{\n.param .b32 a" k ";\nst.param.b32 [a" k "], %r1;\n}"
        else if (kind == "locations") print ".loc 1 " k + 1 " 3\nadd.u32 %r2, %r2, %r1;"
    if (change && kind == "search")
        print "mov.u32 %r3, 1;"
    print "END:\nst.global.u32 [%rd1], %r2;\nret;\n}"
    if (kind == "locations") print ".file 1 \"a.cu\""
    if (kind == "debug") {
        print ".section .debug_str\n{"
        for (k = 0; k < n; k++) print ".b8 " k % 256 ",1,2,3,4,5,6,7"
        print "}"
    }
}
