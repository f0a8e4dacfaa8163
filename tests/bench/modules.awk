# Prints a module of one kind, of n parts, for tests/linear.sh. With change=1 each function of calls
# computes one sum the other way around, and any other kernel has one instruction more.
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
# What a part of a kernel, or of a module, is for the kinds that need no more than that.
function part(k) {
    if (kind == "registers") return ".reg .b32 %x" k ";\nmov.u32 %x" k ", %r1;"
    if (kind == "vectors") return ".reg .v4 .f32 %v" k ";\nmov.f32 %v" k ".x, 0f00000000;\nst.global.f32 [%rd1], %v" k ".x;"
    if (kind == "loops_ended_in_order") return "setp.lt.u32 %p1, %r2, " k ";\n@%p1 bra H" k ";"
    if (kind == "branches_crossed") return "L" k ": @%p1 bra L" n - 1 - k ";"
    if (kind == "compares_apart") return "mov.u32 %r2, " k ";\nsetp.eq.u32 %p1, %r1, " 3 * k ";\n@%p1 bra END;"
    if (kind == "scopes_beside") return "{\n.reg .b32 %x;\nmov.u32 %x, " k ";\nst.global.u32 [%rd1], %x;\n}"
    if (kind == "scopes_empty") return "{\n}"
    if (kind == "scopes_of_register") return "{.reg .b32 a;}"
    if (kind == "labels_short") return "L" k ":"
    if (kind == "labels") return "$L__BB0_" k ":"
    if (kind == "labels_apart" || kind == "debug_of_labels") return "$L__BB0_" k ":\nadd.u32 %r2, %r2, %r1;"
    if (kind == "spaghetti") return "$L__BB0_" k ":\n@%p1 bra $L__BB0_" (k * 7919 + 13) % n ";"
    if (kind == "parameters") return "{\n.param .b32 a" k ";\nst.param.b32 [a" k "], %r1;\n}"
    if (kind == "locations") return ".loc 1 " k + 1 " 3\nadd.u32 %r2, %r2, %r1;"
    if (kind == "straight" || kind == "line") return "add.u32 %r2, %r2, %r1;"
    if (kind == "guarded") return "setp.gt.u32 %p" k % 4 ", %r2, " k ";\n@%p" k % 4 " add.u32 %r2, %r2, %r1;"
    if (kind == "stores") return "st.global.u32 [%rd1+" 4 * k "], %r1;"
    if (kind == "loads") return "ld.global.u32 %r2, [%rd1+" 4 * k "];\nst.global.u32 [%rd1], %r2;"
    if (kind == "barriers") return "bar.sync 0;"
    if (kind == "exits_between") return "setp.eq.u32 %p1, %r1, " k ";\n@%p1 exit;\nbar.sync 0;\nst.global.u32 [%rd1], %r2;"
    if (kind == "loops_of_barrier") return "$L_" k ":\nbar.sync 0;\nadd.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, %r1;\n@%p1 bra $L_" k ";"
    if (kind == "fences") return "membar.gl;"
    if (kind == "atomics") return "atom.global.add.u32 %r2, [%rd1], " k ";"
    if (kind == "asm") return "// begin inline asm\nmov.u32 %r2, %clock;\n// end inline asm"
    if (kind == "comments") return "// a comment that says what follows, at some length\n/* and one\nof two lines */"
    if (kind == "registers_of_range") return "mov.u32 %x" k ", %r1;"
    if (kind == "pragmas") return ".pragma \"nounroll\";"
    if (kind == "irreducible") return "setp.eq.u32 %p1, %r2, " k ";\n@%p1 bra B" k ";\nA" k ":\nadd.u32 %r2, %r2, 1;\nB" k ":\nmul.lo.u32 %r2, %r2, 3;\nsetp.lt.u32 %p1, %r2, %r1;\n@%p1 bra A" k ";"
    if (kind == "conditions") return "setp.gt.u32 %p1, %r3, " k ";\n" (k % 3 == 0 ? "and" : k % 3 == 1 ? "or" : "xor") ".pred %p2, %p1, %p2;\n@%p2 bra A" k ";\nadd.u32 %r2, %r2, " k ";\nA" k ":"
    if (kind == "leaving") return "setp.gt.u32 %p1, %r3, " k ";\n@!%p1 bra A" k ";\ncall leave, ();\nexit;\nA" k ":\nbar.sync 0;"
    if (kind == "returns") return "setp.eq.u32 %p1, %r1, " k ";\n@%p1 ret;"
    if (kind == "locals") return ".local .align 4 .b8 d" k "[8];\nst.local.u32 [d" k "], %r1;"
    if (kind == "shared") return ".shared .align 4 .b8 d" k "[8];\nst.shared.u32 [d" k "], %r1;"
    if (kind == "checks_of_loop") return "add.u32 %r6, %r3, " k % 3 * k ";\nsetp.ge.u32 %p1, %r6, %r" 4 + k % 2 ";\n@%p1 bra TRAP;\nmul.wide.u32 %rd2, %r6, 4;\nadd.s64 %rd3, %rd1, %rd2;\nld.global.u32 %r7, [%rd3];\nadd.u32 %r2, %r2, %r7;"
    if (kind == "checks_of_trap") return "mov.u32 %r" k + 9 ", 0;\n$L_" k ":\nsetp.ge.u32 %p1, %r" k + 9 ", %r5;\n@%p1 bra TRAP;\nmul.wide.u32 %rd" 2 * k + 4 ", %r" k + 9 ", 4;\nadd.s64 %rd" 2 * k + 5 ", %rd1, %rd" 2 * k + 4 ";\nld.global.u32 %r3, [%rd" 2 * k + 5 "];\nadd.u32 %r4, %r4, %r3;\nadd.u32 %r" k + 9 ", %r" k + 9 ", 1;\nsetp.lt.u32 %p2, %r" k + 9 ", %r1;\n@%p2 bra $L_" k ";"
    if (kind == "divisions") return "div.u32 %r3, %r2, %r1;\nadd.u32 %r2, %r2, %r3;"
    if (kind == "calls_here") return "{\n.param .b32 x;\n.param .b32 y;\nst.param.b32 [x], %r2;\ncall.uni (y), outside, (x);\nld.param.b32 %r2, [y];\n}"
    if (kind == "calls_padded") return "{\n.param .align 8 .b8 x[16];\nst.param.b32 [x], %r2;\nst.param.b64 [x+8], %rd1;\ncall.uni outside_wide, (x);\n}"
    if (kind == "calls_indirect") return "{\n.param .b32 x;\n.param .b32 y;\nst.param.b32 [x], %r2;\nP" k ": .callprototype (.param .b32 _) _ (.param .b32 _);\ncall (y), %rd1, (x), P" k ";\nld.param.b32 %r2, [y];\n}"
    if (kind == "table_short") return "L" k ": ret;"
    if (kind == "tables") return "$T_" k ": .branchtargets $L_a_" k ", $L_b_" k ";\nbrx.idx %r1, $T_" k ";\n$L_a_" k ":\nadd.u32 %r2, %r2, 1;\n$L_b_" k ":\nadd.u32 %r2, %r2, 2;"
    return ""
}
# What stands at module level.
function declaration(k) {
    if (kind == "functions") return ".func f" k "()\n{\nret;\n}"
    if (kind == "prototypes") return ".extern .func f" k "(.param .b32 x);"
    if (kind == "variables") return ".global .align 4 .u32 v" k ";"
    if (kind == "externals") return ".extern .global .align 4 .u32 v" k ";"
    if (kind == "aliases") return ".visible .func f" k "();\n.alias f" k ", base;"
    if (kind == "strings") return ".global .align 1 .b8 s" k "[6] = {104, 101, 108, 108, 111, 0};"
    if (kind == "addresses") return ".global .align 8 .u64 v" k " = base_of_all;"
    if (kind == "kernels") return ".visible .entry f" k "(.param .u64 p)\n{\n.reg .b64 %rd<2>;\nld.param.u64 %rd1, [p];\nst.global.u64 [%rd1], %rd1;\nret;\n}"
    return ""
}
# A list in one statement: what begins it, each element, of which # is the number, and what ends it.
function list(begin, element, end,   k, one) {
    printf "%s", begin
    for (k = 0; k < n; k++) {
        one = element
        gsub(/#/, k, one)
        printf "%s%s", k ? ", " : "", one
    }
    print end
}
# What stands once, at module level.
function long_declaration() {
    if (kind == "initializer") list(".global .align 4 .u32 v[" n "] = {", "#7", "};")
    if (kind == "initializer_floats") list(".global .align 8 .f64 v[" n "] = {", "0d3FF0000000000000", "};")
    if (kind == "initializer_rows") list(".const .align 2 .u16 v[" n "][2] = {", "{#, 1}", "};")
    if (kind == "initializer_addresses") list(".global .align 8 .u64 v[" n "] = {", "base_of_all", "};")
    if (kind == "functions_of_table") for (k = 0; k < n; k++) print ".extern .func (.param .b32 y) f" k "(.param .b32 x);"
    if (kind == "parameters_of_kernel") list(".visible .entry g(", ".param .u32 p#", ")\n{\nret;\n}")
    if (kind == "parameters_of_call") list(".extern .func wide(", ".param .b32 p#", ");")
    if (kind == "comment") list("/* ", "words #", " */")
}
# What stands once, where a kernel begins.
function long_statement() {
    if (kind == "table") list("T: .branchtargets ", "C#", ";\nbrx.idx %r1, T;")
    if (kind == "table_short") list("T: .branchtargets ", "L#", ";\nbrx.idx %r1, T;")
    if (kind == "checks_of_trap") print "mov.u32 %r5, %ntid.x;"
    if (kind == "conditions" || kind == "leaving") print "mov.u32 %r3, %tid.x;\nsetp.eq.u32 %p2, %r3, 0;"
    if (kind == "checks_of_loop") print "mov.u32 %r4, %nctaid.x;\nmov.u32 %r5, %ntid.x;\nmov.u32 %r3, 0;\nLOOP:"
    if (kind == "registers_of_list") list(".reg .b32 ", "%x#", ";")
    if (kind == "registers_of_range") print ".reg .b32 %x<" n + 1 ">;"
    if (kind == "scopes_deep") for (k = 0; k < n; k++) print "{\n.reg .b32 %x" k ";\nmov.u32 %x" k ", %r1;"
    if (kind == "loops_ended_in_order") for (k = 0; k < n; k++) print "H" k ": add.u32 %r2, %r2, " k ";"
    if (kind == "functions_of_table") list("T: .calltargets ", "f#", ";\n{\n.param .b32 x;\n.param .b32 y;\nst.param.b32 [x], %r2;\ncall (y), %rd1, (x), T;\n}")
    if (kind == "parameters_of_call") {
        print "{"
        for (k = 0; k < n; k++) print ".param .b32 a" k ";\nst.param.b32 [a" k "], %r1;"
        list("call wide, (", "a#", ");\n}")
    }
}
function begin_kernel() {
    print ".visible .entry k(.param .u64 p, .param .u32 n)\n{\n.reg .pred %p<4>;\n.reg .b32 %r<" (kind == "checks_of_trap" ? n + 9 : 9) ">;\n.reg .b64 %rd<" (kind == "checks_of_trap" ? 2 * n + 4 : 4) ">;"
    print "ld.param.u64 %rd1, [p];\nld.param.u32 %r1, [n];\nmov.u32 %r2, 0;"
}
function is_of_calls() { return kind == "calls_deep" || kind == "calls_wide" || kind == "calls_around" || kind == "calls_twice" }
BEGIN {
    print ".version 8.0\n.target sm_80" (kind ~ /^debug/ ? ", debug" : "") "\n.address_size 64"
    for (k = 0; is_of_calls() && k < n; k++)
        print ".func (.param .b32 y) f" k "(.param .b32 x);"
    if (kind == "initializer_addresses" || kind == "addresses") print ".global .align 4 .u32 base_of_all;"
    if (kind == "aliases") print ".visible .func base()\n{\nret;\n}"
    for (k = 0; k < n; k++)
        if (kind == "calls_deep") define(k, k + 1 < n ? k + 1 : "")
        else if (kind == "calls_wide") define(k)
        else if (kind == "calls_around") define(k, (k + 1) % n)
        else if (kind == "calls_twice") define(k, k + 1 < n ? k + 1 : "", k + 2 < n ? k + 2 : "")
        else if (declaration(k) != "") print declaration(k)
    if (kind == "calls_here") print ".extern .func (.param .b32 y) outside(.param .b32 x);"
    if (kind == "leaving") print ".extern .func leave() .noreturn;"
    if (kind == "calls_padded") print ".extern .func outside_wide(.param .align 8 .b8 x[16]);"
    long_declaration()
    begin_kernel()
    if (kind == "line") ORS = " "
    long_statement()
    if (kind == "search") search(0, n)
    if (kind == "table_of_four") {
        printf "T: .branchtargets "
        for (k = 0; k < n; k++) printf "%sC%d", k ? ", " : "", k % 4
        print ";\nbrx.idx %r1, T;"
    }
    for (k = 0; k < n; k++)
        if (kind == "calls_wide" || (is_of_calls() && k == 0)) call(k)
        else if (kind == "search" || kind == "table" || (kind == "table_of_four" && k < 4)) print "C" k ":\nadd.u32 %r2, %r1, " 7 * k ";\nbra END;"
        else if (part(k) != "") print part(k)
    if (kind == "checks_of_loop") print "add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p2, %r3, %r1;\n@%p2 bra LOOP;"
    if (change && !is_of_calls())
        print "mov.u32 %r3, 1;"
    if (kind == "scopes_deep") for (k = 0; k < n; k++) print "}"
    print "END:\nst.global.u32 [%rd1], %r2;\nret;" (kind ~ /^checks_of/ ? "\nTRAP:\ntrap;" : "") "\n}"
    if (kind == "locations") print ".file 1 \"a.cu\""
    for (k = 1; k <= n && kind == "files"; k++) print ".file " k " \"directory/a" k ".cu\", 1700000000, " k
    if (kind == "debug" || kind == "debug_of_labels") {
        print ".section .debug_" (kind == "debug" ? "str" : "info") "\n{"
        for (k = 0; k < n; k++) print kind == "debug" ? ".b8 " k % 256 ",1,2,3,4,5,6,7" : ".b64 $L__BB0_" k
        print "}"
    }
}
