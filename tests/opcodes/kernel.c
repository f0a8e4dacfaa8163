#include "kernel.h"

#include <ctype.h>
#include <stdlib.h>

/* ---- the registers that an instruction names -------------------------------------------------------------------- */

static void add_value(Kernel *k, char kind, u32 number)
{
    for (u32 i = 0; i < k->values; i++)
        if (k->value[i].kind == kind && k->value[i].number == number)
            return;
    if (k->values < VALUES_MAX)
        k->value[k->values++] = (Value){kind, number};
}

static void find_values(Kernel *k, const char *instr)
{
    for (const char *at = strchr(instr, '%'); at; at = strchr(at + 1, '%'))
        if (strchr("phrdqnmibkgslceowv", at[1]) && isdigit((unsigned char)at[2]))
            add_value(k, at[1], (u32)atoi(at + 2));
}

static const char *base_of(char kind)
{
    switch (kind) {
    case 'g': return "%zglobal";
    case 's': return "%zshared";
    case 'l': return "%zlocal";
    case 'c': return "%zconst";
    case 'e': return "%zglobal";
    case 'o': return "%zgeneric";
    case 'w': return "%zwhole";
    case 'v': return "%zsm";
    default: return NULL;
    }
}

/* ---- loading and storing them ----------------------------------------------------------------------------------- */

static void load_value(Text *t, Value v, u32 at)
{
    const char *base = base_of(v.kind);
    if (base) {
        text_printf(t, "ld.global.b64 %%zd, [%%zin+%u]; add.u64 %%%c%u, %s, %%zd;\n", at, v.kind, v.number, base);
    } else if (v.kind == 'p') {
        text_printf(t, "ld.global.b32 %%zr, [%%zin+%u]; setp.ne.u32 %%p%u, %%zr, 0;\n", at, v.number);
    } else if (v.kind == 'q') {
        text_printf(t, "ld.global.v2.b64 {%%zd, %%zd2}, [%%zin+%u]; mov.b128 %%q%u, {%%zd, %%zd2};\n", at, v.number);
    } else {
        const char *type = v.kind == 'h' ? "b16" : v.kind == 'd' ? "b64" : "b32";
        text_printf(t, "ld.global.%s %%%c%u, [%%zin+%u];\n", type, v.kind, v.number, at);
    }
}

static void store_value(Text *t, Value v, const char *to, u32 at)
{
    const char *base = base_of(v.kind);
    if (base) {
        text_printf(t, "sub.u64 %%zd, %%%c%u, %s; st.global.b64 [%s+%u], %%zd;\n", v.kind, v.number, base, to, at);
    } else if (v.kind == 'p') {
        text_printf(t, "selp.u32 %%zr, 1, 0, %%p%u; st.global.b32 [%s+%u], %%zr;\n", v.number, to, at);
    } else if (v.kind == 'q') {
        text_printf(t, "mov.b128 {%%zd, %%zd2}, %%q%u; st.global.v2.b64 [%s+%u], {%%zd, %%zd2};\n", v.number, to, at);
    } else {
        const char *type = v.kind == 'h' ? "b16" : v.kind == 'd' ? "b64" : "b32";
        text_printf(t, "st.global.%s [%s+%u], %%%c%u;\n", type, to, at, v.kind, v.number);
    }
}

static void load_values(Text *t, const Kernel *k)
{
    for (u32 i = 0; i < k->values; i++)
        load_value(t, k->value[i], i * VALUE_BYTES);
    text_printf(t, "ld.global.b32 %%zr, [%%zin+%u]; add.cc.u32 %%zr, %%zr, 0xffffffff;\n", k->values * VALUE_BYTES);
}

/* The carry, and the registers. */
static void store_values(Text *t, const Kernel *k, const char *to)
{
    text_printf(t, "addc.u32 %%zr, 0, 0; st.global.b32 [%s+%u], %%zr;\n", to, k->values * VALUE_BYTES);
    for (u32 i = 0; i < k->values; i++)
        store_value(t, k->value[i], to, i * VALUE_BYTES);
}

static void store_where(Text *t, const Kernel *k, const char *value)
{
    text_printf(t, "st.global.b32 [%%zout+%u], %s;\n", (k->values + 1) * VALUE_BYTES, value);
}

/* A thread's piece of a memory, from its buffer or to it. */
static void copy_piece(Text *t, const char *buffer, const char *space, const char *address, bool back)
{
    for (u32 at = 0; at < PIECE; at += 8) {
        const char *from_space = back ? space : "global", *to_space = back ? "global" : space;
        text_printf(t, "ld.%s.b64 %%zd, [%s+%u]; st.%s.b64 [%s+%u], %%zd;\n", from_space, back ? address : buffer, at,
                    to_space, back ? buffer : address, at);
    }
}

static void copy_pieces(Text *t, bool back)
{
    copy_piece(t, "%zsio", "shared", "%zshared", back);
    copy_piece(t, "%zlio", "local", "%zlocal", back);
    copy_piece(t, "%zpio", "param", "pv", back);
}

/* ---- the kernel ------------------------------------------------------------------------------------------------- */

static void declare(Text *t)
{
    static const struct {
        const char *kinds, *type;
    } rows[] = {{"p", "pred"}, {"h", "b16"}, {"rnmibk", "b32"}, {"dgslceowv", "b64"}, {"q", "b128"}};
    text_printf(t,
                ".reg .b32 %%zr, %%zt, %%zpart, %%zone, %%zwhere; .reg .b64 %%zd, %%zd2; .reg .pred %%zp, %%zq;\n"
                ".reg .b64 %%zin, %%zout, %%zagain, %%zglobal, %%zwhole, %%zsio, %%zlio, %%zpio, %%zflag, %%zmessage;\n"
                ".reg .b64 %%zshared, %%zlocal, %%zconst, %%zgeneric, %%zsm;\n"
                ".shared .align 16 .b8 sm[%u]; .local .align 16 .b8 lm[%u]; .param .align 16 .b8 pv[%u];\n",
                THREADS * PIECE, PIECE, PIECE);
    for (u32 i = 0; i < COUNT_OF(rows); i++)
        for (const char *kind = rows[i].kinds; *kind; kind++)
            text_printf(t, ".reg .%s %%%c<%u>;\n", rows[i].type, *kind, VALUES_MAX);
}

static void prologue(Text *t, const Kernel *k)
{
    static const struct {
        const char *reg, *parameter;
        u32 stride; /* 0: that of the values */
    } rows[] = {{"in", "a_in", 0},       {"out", "a_out", 0},     {"again", "a_again", 0}, {"global", "a_global", PIECE},
                {"sio", "a_sio", PIECE}, {"lio", "a_lio", PIECE}, {"pio", "a_pio", PIECE}};
    text_printf(t, "mov.u32 %%zt, %%tid.x;\n");
    for (u32 i = 0; i < COUNT_OF(rows); i++)
        text_printf(t, "ld.param.u64 %%zd, [%s]; mad.wide.u32 %%z%s, %%zt, %u, %%zd;\n", rows[i].parameter, rows[i].reg,
                    rows[i].stride ? rows[i].stride : value_stride(k));
    text_printf(t,
                "ld.param.u64 %%zwhole, [a_global]; ld.param.u64 %%zflag, [a_flag]; ld.param.u64 %%zmessage, [a_message];\n"
                "mov.u64 %%zsm, sm; mad.wide.u32 %%zshared, %%zt, %u, %%zsm; cvta.shared.u64 %%zgeneric, %%zshared;\n"
                "mov.u64 %%zlocal, lm; mov.u64 %%zconst, cm; mov.u32 %%zone, 1;\n"
                "ld.global.b32 %%zpart, [%%zin+%u];\n",
                PIECE, (k->values + 1) * VALUE_BYTES);
    copy_pieces(t, false);
    text_printf(t, "bar.sync 0;\n");
    load_values(t, k);
    text_printf(t,
                "setp.eq.u32 %%zq, %%zt, 0; @%%zq st.global.b32 [%%zmessage], %%zt;\nsetp.ne.u32 %%zp, %%zpart, %u;\n@%%zp "
                "bra OTHER;\n",
                DOES_IT);
}

static void execute(Text *t, const char *instr, bool in_function, const char *label)
{
    if (in_function)
        text_printf(t, "call (%%zwhere), in_function, ();\n");
    else
        text_printf(t, "%s:\n%s;\n%s_ON:\nmov.u32 %%zwhere, %u;\n", label, instr, label, WENT_ON);
}

/* What the threads do that do not execute the instruction. */
static void other_parts(Text *t, const Kernel *k, const char *instr, bool in_function)
{
    text_printf(t, "OTHER:\nmov.u32 %%zwhere, %u;\n", WENT_NOWHERE);
    text_printf(t, "setp.eq.u32 %%zp, %%zpart, %u; @%%zp exit;\n", LEAVES);
    text_printf(t,
                "setp.ne.u32 %%zp, %%zpart, %u; @%%zp bra AFTER_POLL;\n"
                "POLL: ld.relaxed.gpu.global.u32 %%zr, [%%zflag]; setp.eq.u32 %%zp, %%zr, 0; @%%zp bra POLL;\n"
                "fence.acq_rel.gpu; ld.global.b32 %%zr, [%%zmessage]; exit;\nAFTER_POLL:\n",
                POLLS);
    text_printf(t, "setp.ne.u32 %%zp, %%zpart, %u; @%%zp bra AFTER_COPY;\n", DOES_A_COPY);
    load_values(t, k);
    execute(t, instr, in_function, "COPY");
    store_values(t, k, "%zout");
    text_printf(t, "bra DONE;\nAFTER_COPY:\n");
    text_printf(t, "setp.ne.u32 %%zp, %%zpart, %u; @%%zp bra AFTER_BARRIER;\nbar.sync 1, %u; bra DONE;\nAFTER_BARRIER:\n",
                PASSES_BARRIER, THREADS);
    text_printf(t, "setp.ne.u32 %%zp, %%zpart, %u; @%%zp bra DONE;\n", WRITES_STRONGLY);
    for (u32 at = 0; at < PIECE; at += 4)
        text_printf(t,
                    "st.relaxed.gpu.global.u32 [%%zwhole+%u], 0x5a5a5a5a; st.relaxed.gpu.shared.u32 [sm+%u], 0x5a5a5a5a;\n",
                    at, at);
}

static void make_function(Text *t, const char *instr)
{
    text_printf(t,
                ".func (.reg .b32 %%where) in_function() {\n.reg .pred %%p<9>; .reg .b32 %%r<9>;\nmov.u32 %%where, "
                "%u;\nsetp.eq.u32 "
                "%%p1, %%where, %u; setp.eq.u32 %%p2, %%where, 0;\nHERE:\n%s;\n"
                "mov.u32 %%where, %u;\nTARGET:\nret;\n}\n",
                RETURNED, RETURNED, instr, WENT_ON_IN_FUNCTION);
}

void kernel_make(Kernel *k, const char *instr, const u8 *constants, bool twice)
{
    static const char prefix[] = "function: ";
    bool in_function = !strncmp(instr, prefix, strlen(prefix));
    Text *t = &k->text;
    *k = (Kernel){.values = 0};
    instr += in_function ? strlen(prefix) : 0;
    if (!in_function)
        find_values(k, instr);
    text_printf(t, ".version 9.0\n.target sm_90\n.address_size 64\n.const .align 16 .b8 cm[%u] = {%u", PIECE, constants[0]);
    for (u32 i = 1; i < PIECE; i++)
        text_printf(t, ", %u", constants[i]);
    text_printf(t, "};\n");
    text_printf(t, ".func (.reg .b32 %%o) callee(.reg .b32 %%i, .reg .b64 %%a)\n{\n.reg .b32 %%t;\nactivemask.b32 %%o; "
                   "ld.global.b32 %%t, [%%a]; add.u32 %%t, %%t, %%i; st.global.b32 [%%a], %%t;\n"
                   "bar.sync 2;\nret;\n}\n");
    if (in_function)
        make_function(t, instr);
    text_printf(t,
                ".visible .entry k(.param .u64 a_in, .param .u64 a_out, .param .u64 a_again, .param .u64 a_global, .param "
                ".u64 a_sio, "
                ".param .u64 a_lio, .param .u64 a_pio, .param .u64 a_flag, .param .u64 a_message, .param .align 16 .b8 "
                "pm[%u])\n{\n",
                PIECE);
    declare(t);
    if (!in_function)
        text_printf(t, "tbl: .branchtargets HERE_ON, TARGET;\n");
    prologue(t, k);
    execute(t, instr, in_function, "HERE");
    text_printf(t, "FLAG: @%%zq st.relaxed.gpu.global.u32 [%%zflag], %%zone;\n");
    store_values(t, k, "%zout");
    if (twice) {
        load_values(t, k);
        execute(t, instr, in_function, "AGAIN");
        store_values(t, k, "%zagain");
    }
    text_printf(t, "bra DONE;\n");
    other_parts(t, k, instr, in_function);
    text_printf(
        t,
        "DONE:\nld.global.b32 %%zr, [%%zmessage+8]; setp.eq.u32 %%zp, %%zr, %%zt; @%%zp ld.global.b32 %%zr, [%%zmessage];\n"
        "ld.global.b32 %%zr, [%%zmessage+4]; setp.ne.u32 %%zp, %%zr, 0; @%%zp bra COPIED;\n");
    copy_pieces(t, true);
    text_printf(t, "COPIED:\n");
    store_where(t, k, "%zwhere");
    text_printf(t, "ret;\nTARGET: mov.u32 %%zwhere, %u; bra FLAG;\n}\n", WENT_TO_TARGET);
    text_str(t);
}

void kernel_free(Kernel *k) { vec_free(&k->text); }
