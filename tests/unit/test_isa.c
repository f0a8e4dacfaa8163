/* isa/: what opcodes, types, comparisons and special registers mean. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "isa/isa.h"
#include "isa/tables.h"

typedef struct Fixture {
    Arena arena;
    Intern names;
    Isa *isa;
} Fixture;

static int setup(void **state)
{
    Fixture *f = mem_zalloc(sizeof *f);
    intern_init(&f->names, &f->arena);
    f->isa = isa_new(&f->arena, &f->names);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    Fixture *f = *state;
    isa_free(f->isa);
    intern_free(&f->names);
    arena_free(&f->arena);
    mem_free(f);
    return 0;
}

static const OpInfo *get(void **state, const char *text)
{
    const Fixture *f = *state;
    return isa_decode(f->isa, text, (u32)strlen(text));
}

static void assert_flags(void **state, const char *text, u32 set, u32 unset)
{
    const OpInfo *op = get(state, text);
    if (!op->known || (op->flags & set) != set || (op->flags & unset))
        fail_msg("%s: known %d, flags %x, want %x and not %x", text, op->known, op->flags, set, unset);
}

/* ---- what is known -------------------------------------------------------------------------------------------- */

/* Calls visit for each expansion of the pattern: {a,b} is a, then b. Answers how many there were. */
static u32 expand(const char *pattern, void (*visit)(void **, const char *), void **state)
{
    const char *open = strchr(pattern, '{');
    if (!open) {
        visit(state, pattern);
        return 1;
    }
    const char *close = strchr(open, '}');
    assert_non_null(close);
    u32 visited = 0;
    for (const char *word = open + 1; word <= close;) {
        size_t len = strcspn(word, ",}");
        char one[1024];
        int size = snprintf(one, sizeof one, "%.*s%.*s%s", (int)(open - pattern), pattern, (int)len, word, close + 1);
        assert_true(size > 0 && (size_t)size < sizeof one);
        visited += expand(one, visit, state);
        word += len + 1;
    }
    return visited;
}

static void assert_known(void **state, const char *text)
{
    const OpInfo *op = get(state, text);
    if (!op->known)
        fail_msg("not known: %s", text);
    assert_true(op->operands_min <= op->operands_max);
    assert_true(op->space != SPACE_MODIFIER);
    if (op_has(op, OPF_ASYNC | OPF_FENCE | OPF_BARRIER | OPF_CALL)) {
        assert_int_equal(op->strength, STRENGTH_STRONG);
        assert_true(op_has(op, OPF_SIDE_EFFECT));
        assert_false(op_is_pure(op));
    }
    if (op_has(op, OPF_NAMES_THREADS | OPF_BARRIER))
        assert_true(op_has(op, OPF_CONVERGENT));
    if (op_has_modifier(op, ".aligned"))
        assert_true(op_has(op, OPF_CONVERGENT) && op_has(op, OPF_SIDE_EFFECT));
    if (op_has(op, OPF_CONVERGENT))
        assert_false(op_has(op, OPF_CHEAP | OPF_COMMUTES));
    if (op->mem == MEM_WRITE || op->mem == MEM_READ_WRITE)
        assert_true(op_has(op, OPF_SIDE_EFFECT));
}

static void test_real_opcodes_are_known(void **state)
{
    FILE *file = fopen("tests/unit/opcodes.txt", "r");
    assert_non_null(file);
    char line[1024];
    u32 opcodes = 0;
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] && line[0] != '#')
            opcodes += expand(line, assert_known, state);
    }
    fclose(file);
    assert_true(opcodes > 10000);
}

static void test_every_row_decodes_to_itself(void **state)
{
    for (u32 i = OPC_UNKNOWN + 1; i < OPC_COUNT; i++) {
        const OpInfo *op = get(state, isa_ops[i].text);
        assert_true(op->known);
        assert_int_equal(op->opcode, i);
        assert_true(isa_ops[i].len < 64);
    }
}

static void test_modifiers_are_listed_once(void **state)
{
    (void)state;
    for (u32 i = 0; i < isa_mod_count; i++) {
        assert_int_equal(isa_mods[i].text[0], '.');
        for (u32 j = 0; j < i; j++)
            assert_string_not_equal(isa_mods[i].text, isa_mods[j].text);
    }
}

static void test_unknown_is_the_worst_case(void **state)
{
    static const char *const unknown[] = {
        "frob",
        "frob.u32",
        "add.frob.u32",
        "add.u32.",
        "add..u32",
        ".u32",
        "",
        "ADD.u32",
        "add.U32",
        "ad",
        "addd.u32",
        "add.global.u32", /* a modifier of another opcode */
        "ld.async.u32",   /* ... that means something new here */
        "setp.sync.eq.u32",
        "mov.volatile.u32",
        "mma.sp2.sync",
        "fma.oob.rn.f16",
        "ld.global.frob.u32",
        "tcgen05.frob",
        "cp.async.frob",
        "shfl.sync.frob.b32",
        "cp.async2",
        "mul.wide.cc.u32",
    };
    for (u32 i = 0; i < COUNT_OF(unknown); i++) {
        const OpInfo *op = get(state, unknown[i]);
        if (op->known)
            fail_msg("known: %s", unknown[i]);
        assert_string_equal(op->text->text, unknown[i]);
        assert_true(op_has(op, OPF_CONVERGENT) && op_has(op, OPF_SIDE_EFFECT) && op_has(op, OPF_CARRY_IN));
        assert_false(op_has(op, OPF_NAMES_THREADS | OPF_CHEAP | OPF_COMMUTES));
        assert_int_equal(op->mem, MEM_READ_WRITE);
        assert_int_equal(op->strength, STRENGTH_STRONG);
        assert_int_equal(op->space, SPACE_GENERIC);
        assert_int_equal(op->uniformity, UNI_DIVERGENT);
        assert_false(op_is_pure(op));
        for (u32 n = 1; n < 9; n++) {
            assert_int_equal(op_role(op, n - 1, n, false), ROLE_DEF_USE);
            assert_int_equal(op_role(op, n - 1, n, true), ROLE_ADDRESS);
        }
    }
}

static void test_unknown_modifiers_leave_control_flow(void **state)
{
    const OpInfo *bra = get(state, "bra.frob");
    assert_false(bra->known);
    assert_true(op_has(bra, OPF_TERMINATOR) && op_has(bra, OPF_BRANCH));
    assert_int_equal(op_role(bra, 0, 1, false), ROLE_LABEL);
    assert_true(op_has(get(state, "ret.frob"), OPF_NO_RETURN));
    assert_true(op_has(get(state, "call.frob"), OPF_CALL));
    assert_false(op_has(get(state, "trap.frob"), OPF_TERMINATOR));
}

static void test_decoding_is_cached(void **state)
{
    const OpInfo *first = get(state, "ld.global.v4.f32");
    char text[32];
    for (u32 i = 0; i < 5000; i++) {
        snprintf(text, sizeof text, "add.x%u", i);
        assert_false(get(state, text)->known);
    }
    assert_ptr_equal(get(state, "ld.global.v4.f32"), first);
    assert_ptr_not_equal(get(state, "ld.global.v4.f3"), first);
    snprintf(text, sizeof text, "ld.global.v4.f32x");
    const Fixture *f = *state;
    assert_ptr_equal(isa_decode(f->isa, text, 16), first);
}

/* ---- composing ------------------------------------------------------------------------------------------------ */

static void test_opcodes_are_composed_of_parts(void **state)
{
    Isa *isa = ((const Fixture *)*state)->isa;
    assert_ptr_equal(isa_op(isa, OPC_RET, (OpParts){0}), get(state, "ret"));
    assert_ptr_equal(isa_op(isa, OPC_BRX_IDX, (OpParts){.uniform = true}), get(state, "brx.idx.uni"));
    assert_ptr_equal(isa_op(isa, OPC_CVT, (OpParts){.type = {TYPE_U32, TYPE_U16}}), get(state, "cvt.u32.u16"));
    assert_ptr_equal(isa_op(isa, OPC_SETP, (OpParts){.cmp = CMP_LT, .bool_op = BOOL_OR, .type = {TYPE_F32}}),
                     get(state, "setp.lt.or.f32"));
}

static const OpInfo *with_cmp(void **state, const char *text, Cmp cmp)
{
    return isa_with_cmp(((const Fixture *)*state)->isa, get(state, text), cmp);
}

static void test_a_comparison_is_replaced(void **state)
{
    assert_ptr_equal(with_cmp(state, "setp.lt.s32", CMP_GE), get(state, "setp.ge.s32"));
    assert_ptr_equal(with_cmp(state, "setp.lt.and.ftz.f32", CMP_GEU), get(state, "setp.geu.and.ftz.f32"));
    assert_ptr_equal(with_cmp(state, "set.eq.u32.s32", CMP_NE), get(state, "set.ne.u32.s32"));
    assert_null(with_cmp(state, "setp.lt.s32", CMP_NONE));
    assert_null(with_cmp(state, "add.s32", CMP_LT));
    assert_null(with_cmp(state, "mul.lo.s32", CMP_HI)); /* a half of the product, not a comparison */
    assert_null(with_cmp(state, "frobnicate.lt.s32", CMP_GE));
}

static void test_a_comparison_gets_a_third_predicate(void **state)
{
    Isa *isa = ((const Fixture *)*state)->isa;
    assert_ptr_equal(isa_with_bool_op(isa, get(state, "setp.lt.s32"), BOOL_AND), get(state, "setp.lt.and.s32"));
    assert_ptr_equal(isa_with_bool_op(isa, get(state, "setp.gtu.ftz.f32"), BOOL_OR), get(state, "setp.gtu.or.ftz.f32"));
    assert_null(isa_with_bool_op(isa, get(state, "setp.lt.or.s32"), BOOL_AND));
    assert_null(isa_with_bool_op(isa, get(state, "and.pred"), BOOL_AND));
}

static void test_modifiers_are_taken_away(void **state)
{
    Isa *isa = ((const Fixture *)*state)->isa;
    assert_ptr_equal(isa_without(isa, get(state, "bra.uni"), OPF_UNIFORM_HINT), get(state, "bra"));
    assert_ptr_equal(isa_without(isa, get(state, "call.uni"), OPF_UNIFORM_HINT), get(state, "call"));
    assert_ptr_equal(isa_without(isa, get(state, "add.cc.u32"), OPF_CARRY_OUT), get(state, "add.u32"));
    assert_ptr_equal(isa_without(isa, get(state, "add.cc.u32"), OPF_UNIFORM_HINT), get(state, "add.cc.u32"));
}

/* ---- fields --------------------------------------------------------------------------------------------------- */

static void test_types_in_textual_order(void **state)
{
    const OpInfo *op = get(state, "cvt.rn.f16x2.f32");
    assert_int_equal(op->types, 2);
    assert_int_equal(op->type[0], TYPE_F16X2);
    assert_int_equal(op->type[1], TYPE_F32);
    assert_int_equal(op->type[2], TYPE_NONE);
    op = get(state, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.f16.f64");
    assert_int_equal(op->types, 3);
    assert_int_equal(op->type[2], TYPE_F16);
    assert_int_equal(get(state, "bra.uni")->types, 0);
}

static void test_comparisons_and_combinations(void **state)
{
    const OpInfo *op = get(state, "setp.lo.and.u32");
    assert_int_equal(op->cmp, CMP_LO);
    assert_int_equal(op->bool_op, BOOL_AND);
    op = get(state, "setp.u32.ge"); /* ptxas takes any order */
    assert_int_equal(op->cmp, CMP_GE);
    assert_int_equal(op->bool_op, BOOL_NONE);
    assert_int_equal(get(state, "mul.lo.u32")->cmp, CMP_NONE);
    assert_int_equal(get(state, "atom.global.and.b32")->bool_op, BOOL_NONE);
    assert_int_equal(get(state, "lop3.or.b32")->bool_op, BOOL_OR);
    assert_int_equal(get(state, "and.pred")->bool_op, BOOL_NONE);
    assert_int_equal(get(state, "set.nan.xor.f32.f64")->cmp, CMP_NAN);
    assert_int_equal(get(state, "slct.u32.f32")->cmp, CMP_NONE);
}

static void test_spaces(void **state)
{
    static const struct {
        const char *text;
        u8 space, space2;
    } rows[] = {
        {"ld.u32", SPACE_GENERIC, SPACE_NONE},
        {"ld.u32.global", SPACE_GLOBAL, SPACE_NONE},
        {"ld.param::entry.b64", SPACE_PARAM, SPACE_NONE},
        {"ld.const[3].u32", SPACE_CONST, SPACE_NONE},
        {"st.shared::cluster.b32", SPACE_SHARED_CLUSTER, SPACE_NONE},
        {"atom.shared::cta.add.u32", SPACE_SHARED, SPACE_NONE},
        {"cvta.to.global.u64", SPACE_GLOBAL, SPACE_NONE},
        {"cp.async.ca.shared.global", SPACE_SHARED, SPACE_GLOBAL},
        {"cp.async.bulk.global.shared::cta.bulk_group", SPACE_GLOBAL, SPACE_SHARED},
        {"fence.proxy.async.shared::cta", SPACE_GENERIC, SPACE_NONE},
        {"bar.sync", SPACE_GENERIC, SPACE_NONE},
        {"tex.2d.v4.f32.f32", SPACE_TEX, SPACE_NONE},
        {"tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32", SPACE_TENSOR, SPACE_NONE},
        {"add.u32", SPACE_NONE, SPACE_NONE},
    };
    for (u32 i = 0; i < COUNT_OF(rows); i++) {
        const OpInfo *op = get(state, rows[i].text);
        assert_true(op->known);
        assert_int_equal(op->space, rows[i].space);
        assert_int_equal(op->space2, rows[i].space2);
    }
}

static void test_vectors_and_sizes(void **state)
{
    assert_int_equal(get(state, "ld.global.v4.f32")->vector, 4);
    assert_int_equal(get(state, "ld.global.v4.f32")->access_bytes, 16);
    assert_int_equal(get(state, "ld.global.v8.b32")->access_bytes, 32);
    assert_int_equal(get(state, "st.b128")->access_bytes, 16);
    assert_int_equal(get(state, "ld.u8")->access_bytes, 1);
    assert_int_equal(get(state, "red.global.add.noftz.v2.f16x2")->access_bytes, 8);
    assert_int_equal(get(state, "ldmatrix.sync.aligned.m8n8.x4.shared.b16")->access_bytes, 0);
    assert_int_equal(get(state, "st.bulk.shared::cta")->access_bytes, 0);
    assert_int_equal(get(state, "tex.2d.v4.f32.f32")->access_bytes, 0);
    assert_int_equal(get(state, "add.u32")->vector, 1);
}

static void test_memory_effect_and_strength(void **state)
{
    static const struct {
        const char *text;
        u8 mem, strength;
    } rows[] = {
        {"ld.global.u32", MEM_READ, STRENGTH_WEAK},
        {"ld.global.nc.u32", MEM_READ, STRENGTH_WEAK},
        {"ld.weak.global.u32", MEM_READ, STRENGTH_WEAK},
        {"ld.global.L1::no_allocate.u32", MEM_READ, STRENGTH_WEAK},
        {"ld.volatile.global.u32", MEM_READ, STRENGTH_STRONG},
        {"ld.relaxed.gpu.u32", MEM_READ, STRENGTH_STRONG},
        {"ld.global.cv.u32", MEM_READ, STRENGTH_STRONG},
        {"st.shared.u32", MEM_WRITE, STRENGTH_WEAK},
        {"st.release.sys.u32", MEM_WRITE, STRENGTH_STRONG},
        {"st.global.wt.u32", MEM_WRITE, STRENGTH_STRONG},
        {"atom.add.u32", MEM_READ_WRITE, STRENGTH_STRONG},
        {"red.global.add.u32", MEM_READ_WRITE, STRENGTH_STRONG},
        {"bar.sync", MEM_READ_WRITE, STRENGTH_STRONG},
        {"membar.gl", MEM_READ_WRITE, STRENGTH_STRONG},
        {"cp.async.commit_group", MEM_READ_WRITE, STRENGTH_STRONG},
        {"mbarrier.try_wait.parity.b64", MEM_READ_WRITE, STRENGTH_STRONG},
        {"griddepcontrol.wait", MEM_READ_WRITE, STRENGTH_STRONG},
        {"call", MEM_READ_WRITE, STRENGTH_STRONG},
        {"shfl.sync.idx.b32", MEM_NONE, STRENGTH_WEAK},
        {"cvta.global.u64", MEM_NONE, STRENGTH_WEAK},
        {"prefetch.global.L1", MEM_NONE, STRENGTH_WEAK},
    };
    for (u32 i = 0; i < COUNT_OF(rows); i++) {
        const OpInfo *op = get(state, rows[i].text);
        if (!op->known || op->mem != rows[i].mem || op->strength != rows[i].strength)
            fail_msg("%s: mem %u, strength %u", rows[i].text, op->mem, op->strength);
    }
}

static void test_side_effects(void **state)
{
    assert_flags(state, "ld.global.u32", 0, OPF_SIDE_EFFECT | OPF_VOLATILE);
    assert_flags(state, "ld.volatile.global.u32", OPF_SIDE_EFFECT | OPF_VOLATILE, 0);
    assert_flags(state, "st.local.u32", OPF_SIDE_EFFECT, OPF_VOLATILE);
    assert_flags(state, "prefetchu.L1", OPF_SIDE_EFFECT, 0);
    assert_flags(state, "discard.L2", OPF_SIDE_EFFECT, 0);
    assert_flags(state, "nanosleep.u32", OPF_SIDE_EFFECT, OPF_TERMINATOR);
    assert_flags(state, "trap", OPF_SIDE_EFFECT, OPF_TERMINATOR | OPF_NO_RETURN);
    assert_flags(state, "stackrestore.u64", OPF_SIDE_EFFECT, 0);
    assert_flags(state, "activemask.b32", OPF_VOLATILE, OPF_SIDE_EFFECT);
}

/* ---- convergence ---------------------------------------------------------------------------------------------- */

static void test_convergence(void **state)
{
    const u32 merged = OPF_CONVERGENT | OPF_NAMES_THREADS;
    assert_flags(state, "bar.sync", merged | OPF_BARRIER, OPF_TERMINATOR);
    assert_flags(state, "bar.arrive", merged | OPF_BARRIER, 0);
    assert_flags(state, "barrier.cta.red.popc.aligned.u32", merged | OPF_BARRIER, 0);
    assert_flags(state, "barrier.cluster.arrive", merged | OPF_BARRIER, 0);
    assert_flags(state, "bar.warp.sync", merged, OPF_BARRIER);
    assert_flags(state, "shfl.sync.bfly.b32", merged | OPF_SIDE_EFFECT, OPF_BARRIER);
    assert_flags(state, "shfl.up.b32", OPF_CONVERGENT, OPF_NAMES_THREADS);
    assert_flags(state, "vote.ballot.sync.b32", merged, 0);
    assert_flags(state, "vote.uni.pred", OPF_CONVERGENT, OPF_NAMES_THREADS | OPF_UNIFORM_HINT);
    assert_flags(state, "match.any.sync.b64", merged, 0);
    assert_flags(state, "redux.sync.add.u32", merged, 0);
    assert_flags(state, "activemask.b32", OPF_CONVERGENT, OPF_NAMES_THREADS);
    assert_flags(state, "elect.sync", OPF_CONVERGENT, OPF_NAMES_THREADS);
    assert_flags(state, "ldmatrix.sync.aligned.m8n8.x1.shared.b16", merged, 0);
    assert_flags(state, "setmaxnreg.dec.sync.aligned.u32", merged, 0);
    assert_flags(state, "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16", merged | OPF_ASYNC, 0);
    assert_flags(state, "tcgen05.wait::st.sync.aligned", merged | OPF_ASYNC, 0);
    assert_flags(state, "tcgen05.mma.cta_group::1.kind::f16", OPF_ASYNC, OPF_CONVERGENT);
    assert_flags(state, "call.uni", OPF_CALL | OPF_CONVERGENT | OPF_UNIFORM_HINT, OPF_NAMES_THREADS | OPF_TERMINATOR);
    assert_flags(state, "mbarrier.try_wait.b64", OPF_ASYNC, OPF_CONVERGENT);
    assert_flags(state, "fence.acq_rel.gpu", OPF_FENCE, OPF_CONVERGENT);
}

static void test_uniformity(void **state)
{
    assert_int_equal(get(state, "add.u32")->uniformity, UNI_OPERANDS);
    assert_int_equal(get(state, "ld.global.u32")->uniformity, UNI_OPERANDS);
    assert_int_equal(get(state, "ld.volatile.global.u32")->uniformity, UNI_DIVERGENT);
    assert_int_equal(get(state, "atom.add.u32")->uniformity, UNI_DIVERGENT);
    assert_int_equal(get(state, "shfl.sync.idx.b32")->uniformity, UNI_DIVERGENT);
    assert_int_equal(get(state, "vote.sync.ballot.b32")->uniformity, UNI_MEMBERS);
    assert_int_equal(get(state, "redux.sync.max.s32")->uniformity, UNI_MEMBERS);
    assert_int_equal(get(state, "match.all.sync.b32")->uniformity, UNI_DIVERGENT);
    assert_int_equal(get(state, "bar.red.or.pred")->uniformity, UNI_WARP);
    assert_int_equal(get(state, "barrier.red.or.pred")->uniformity, UNI_DIVERGENT);
    assert_int_equal(get(state, "activemask.b32")->uniformity, UNI_DIVERGENT);
}

/* ---- arithmetic ----------------------------------------------------------------------------------------------- */

static void test_control_flow(void **state)
{
    assert_flags(state, "bra", OPF_TERMINATOR | OPF_BRANCH, OPF_NO_RETURN | OPF_UNIFORM_HINT | OPF_SIDE_EFFECT);
    assert_flags(state, "bra.uni", OPF_TERMINATOR | OPF_BRANCH | OPF_UNIFORM_HINT, 0);
    assert_flags(state, "brx.idx.uni", OPF_TERMINATOR | OPF_BRANCH | OPF_UNIFORM_HINT, OPF_NO_RETURN);
    assert_flags(state, "ret.uni", OPF_TERMINATOR | OPF_NO_RETURN, OPF_BRANCH | OPF_SIDE_EFFECT);
    assert_flags(state, "exit", OPF_TERMINATOR | OPF_NO_RETURN, OPF_BRANCH);
}

static void test_carry(void **state)
{
    assert_flags(state, "add.cc.u32", OPF_CARRY_OUT, OPF_CARRY_IN);
    assert_flags(state, "addc.u32", OPF_CARRY_IN, OPF_CARRY_OUT);
    assert_flags(state, "subc.cc.s64", OPF_CARRY_IN | OPF_CARRY_OUT, 0);
    assert_flags(state, "mad.lo.cc.u32", OPF_CARRY_OUT, OPF_CARRY_IN);
    assert_flags(state, "madc.hi.u32", OPF_CARRY_IN, OPF_CARRY_OUT);
    assert_false(op_is_pure(get(state, "add.cc.u32")));
    assert_false(op_is_pure(get(state, "addc.u32")));
}

static void test_commutes(void **state)
{
    static const char *const yes[] = {
        "add.s64",      "mul.wide.s32",   "mad.lo.u32", "fma.rn.f32",     "add.f32",     "mul.rn.f16x2", "min.f32",
        "and.pred",     "xor.b64",        "max.u16x2",  "sad.u32",        "setp.eq.u32", "setp.neu.f64", "setp.ne.and.s32",
        "setp.nan.f32", "set.eq.u32.f64", "add.f32x2",  "fma.rn.f32.f16", "addc.u32",
    };
    static const char *const no[] = {
        "sub.u32",        "add.f64",          "mul.rn.f64",   "fma.rn.f64", "min.f64",
        "add.f32.f16",    "sub.f32.bf16",     "shl.b32",      "div.u32",    "setp.lt.u32",
        "setp.geu.f32",   "set.gt.u32.s32",   "selp.b32",     "lop3.b32",   "copysign.f32",
        "fma.rn.oob.f16", "vadd.u32.u32.u32", "dp4a.u32.s32", "prmt.b32",
    };
    for (u32 i = 0; i < COUNT_OF(yes); i++)
        assert_flags(state, yes[i], OPF_COMMUTES, 0);
    for (u32 i = 0; i < COUNT_OF(no); i++)
        assert_flags(state, no[i], 0, OPF_COMMUTES);
}

static void test_cheap(void **state)
{
    static const char *const yes[] = {
        "add.s32",     "mov.b64",    "mov.pred",           "and.pred",   "setp.lt.u32", "setp.ltu.f32",
        "selp.f32",    "mad.lo.s32", "mul.wide.s32",       "fma.rn.f32", "add.f16x2",   "lop3.b32",
        "cvt.u64.u32", "cvt.s32.s8", "cvta.to.global.u64", "shl.b32",
    };
    static const char *const no[] = {
        "div.u32",           "rem.s32",     "sqrt.rn.f32",    "sin.approx.f32",   "add.f64",           "mul.lo.u64",
        "setp.lt.f64",       "setp.eq.s64", "cvt.rn.f32.s32", "cvt.rzi.s32.f32",  "popc.b32",          "ld.global.u32",
        "shfl.sync.idx.b32", "fma.rn.f64",  "bfe.u32",        "vadd.u32.u32.u32", "tex.2d.v4.f32.f32",
    };
    for (u32 i = 0; i < COUNT_OF(yes); i++)
        assert_flags(state, yes[i], OPF_CHEAP, 0);
    for (u32 i = 0; i < COUNT_OF(no); i++)
        assert_flags(state, no[i], 0, OPF_CHEAP);
}

static void test_pure(void **state)
{
    static const char *const yes[] = {
        "add.u32",
        "div.s64",
        "setp.eq.u32",
        "cvta.to.shared.u32",
        "mov.u32",
        "mapa.u64",
        "sqrt.rn.f64",
        "mbarrier.pending_count.b64",
        "createpolicy.cvt.L2.b64",
        "isspacep.global",
    };
    static const char *const no[] = {
        "ld.param.u32",  "tex.2d.v4.f32.f32",
        "txq.width.b32", "activemask.b32",
        "elect.sync",    "bra",
        "ret",           "trap",
        "nanosleep.u32", "alloca.u64",
        "call",          "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32",
    };
    for (u32 i = 0; i < COUNT_OF(yes); i++)
        assert_true(op_is_pure(get(state, yes[i])));
    for (u32 i = 0; i < COUNT_OF(no); i++)
        assert_false(op_is_pure(get(state, no[i])));
}

/* ---- roles ---------------------------------------------------------------------------------------------------- */

/* Roles of `operands`, a letter each: [ for an address, . for anything else. */
static void assert_roles(void **state, const char *text, const char *operands, const char *roles)
{
    static const char letter[] = {[ROLE_NONE] = '-',    [ROLE_DEF] = 'd',   [ROLE_USE] = 's',   [ROLE_DEF_USE] = 'x',
                                  [ROLE_ADDRESS] = 'm', [ROLE_LABEL] = 'l', [ROLE_TABLE] = 't', [ROLE_FUNCTION] = 'f'};
    const OpInfo *op = get(state, text);
    u32 count = (u32)strlen(operands);
    char found[32] = "";
    for (u32 i = 0; i < count; i++)
        found[i] = letter[op_role(op, i, count, operands[i] == '[')];
    if (strcmp(found, roles))
        fail_msg("%s: roles %s, want %s", text, found, roles);
}

static void test_roles(void **state)
{
    assert_roles(state, "add.u32", "...", "dss");
    assert_roles(state, "setp.lt.and.s32", "....", "dsss");
    assert_roles(state, "ld.global.u32", ".[", "dm");
    assert_roles(state, "ld.global.u32", "..", "dm"); /* ld.global.u32 r, g[8]; */
    assert_roles(state, "ld.global.L2::cache_hint.u32", ".[.", "dms");
    assert_roles(state, "st.shared.v2.u32", "[.", "ms");
    assert_roles(state, "atom.global.cas.b32", ".[..", "dmss");
    assert_roles(state, "red.global.add.u32", "[.", "ms");
    assert_roles(state, "mbarrier.arrive.shared.b64", ".[", "dm");
    assert_roles(state, "mbarrier.try_wait.parity.b64", ".[..", "dmss");
    assert_roles(state, "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes", "[[.[", "mmsm");
    assert_roles(state, "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group", "[[", "mm");
    assert_roles(state, "tex.grad.2d.v4.f32.f32", ".[..", "dmss");
    assert_roles(state, "sust.b.2d.v2.b32.trap", "[.", "ms");
    assert_roles(state, "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16", "........", "xsssssss");
    assert_roles(state, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "....", "dsss");
    assert_roles(state, "tcgen05.mma.cta_group::1.kind::f16", "[....", "mssss");
    assert_roles(state, "tcgen05.mma.cta_group::1.kind::mxf4.block_scale", "[[..[[.", "mmssmms");
    assert_roles(state, "tcgen05.ld.red.sync.aligned.32x32b.x8.min.u32", "..[", "ddm");
    assert_roles(state, "bra", ".", "l");
    assert_roles(state, "brx.idx", "..", "st");
    assert_roles(state, "fence.proxy.tensormap::generic.acquire.gpu", "[.", "ms");
    assert_roles(state, "bar.red.popc.u32", "....", "dsss");
}

static void test_roles_of_an_unforeseen_count(void **state)
{
    assert_roles(state, "add.u32", "....", "xxxx");
    assert_roles(state, "add.u32", "..", "xx");
    assert_roles(state, "ld.global.u32", ".[..", "xmxx");
    assert_roles(state, "ret", ".", "x");
}

static void test_has_modifier(void **state)
{
    assert_true(op_has_modifier(get(state, "ld.relaxed.gpu.u32"), ".gpu"));
    assert_true(op_has_modifier(get(state, "ld.relaxed.gpu.u32"), ".u32"));
    assert_false(op_has_modifier(get(state, "ld.relaxed.gpu.u32"), ".u3"));
    assert_false(op_has_modifier(get(state, "ld.shared::cta.u32"), ".shared"));
    assert_true(op_has_modifier(get(state, "mad.f32.f32x2.f32"), ".f32"));
}

/* ---- types, comparisons --------------------------------------------------------------------------------------- */

static void test_types(void **state)
{
    (void)state;
    for (u32 t = TYPE_NONE + 1; t < TYPE_COUNT; t++) {
        const char *name = type_name((Type)t);
        assert_int_equal(type_from_text(name, (u32)strlen(name)), t);
        assert_int_equal(type_bits((Type)t) == 0, type_class((Type)t) == TC_OPAQUE);
    }
    assert_int_equal(type_bits(TYPE_PRED), 1);
    assert_int_equal(type_bits(TYPE_F16X2), 32);
    assert_int_equal(type_bits(TYPE_B128), 128);
    assert_int_equal(type_class(TYPE_B32), TC_BITS);
    assert_int_equal(type_class(TYPE_S8), TC_SIGNED);
    assert_int_equal(type_class(TYPE_U16X2), TC_PACKED);
    assert_int_equal(type_class(TYPE_S16X2), TC_PACKED);
    assert_int_equal(type_class(TYPE_NONE), TC_NONE);
    assert_int_equal(type_from_text(".u33", 4), TYPE_NONE);
    assert_int_equal(type_from_text(".u3", 3), TYPE_NONE);
    assert_int_equal(type_from_text(".u32x", 4), TYPE_U32);
}

/* Outcomes of a comparison as a set: less, equal, greater, unordered. */
static u32 outcomes(Cmp cmp)
{
    enum { LESS = 1, EQUAL = 2, GREATER = 4, UNORDERED = 8 };
    switch (cmp) {
    case CMP_EQ: return EQUAL;
    case CMP_NE: return LESS | GREATER;
    case CMP_LT:
    case CMP_LO: return LESS;
    case CMP_LE:
    case CMP_LS: return LESS | EQUAL;
    case CMP_GT:
    case CMP_HI: return GREATER;
    case CMP_GE:
    case CMP_HS: return GREATER | EQUAL;
    case CMP_EQU: return EQUAL | UNORDERED;
    case CMP_NEU: return LESS | GREATER | UNORDERED;
    case CMP_LTU: return LESS | UNORDERED;
    case CMP_LEU: return LESS | EQUAL | UNORDERED;
    case CMP_GTU: return GREATER | UNORDERED;
    case CMP_GEU: return GREATER | EQUAL | UNORDERED;
    case CMP_NUM: return LESS | EQUAL | GREATER;
    case CMP_NAN: return UNORDERED;
    default: return 0;
    }
}

static void test_comparison_algebra(void **state)
{
    (void)state;
    for (u32 c = CMP_EQ; c <= CMP_NAN; c++) {
        Cmp cmp = (Cmp)c, of_float = cmp_inverse(cmp, TC_FLOAT), of_int = cmp_inverse(cmp, TC_SIGNED);
        assert_int_equal(cmp_outcomes(cmp), outcomes(cmp));
        if (of_float) {
            assert_int_equal(outcomes(of_float), 15 & ~outcomes(cmp));
            assert_int_equal(cmp_inverse(of_float, TC_FLOAT), cmp);
        }
        if (of_int) {
            assert_int_equal(outcomes(of_int), 7 & ~outcomes(cmp));
            assert_int_equal(cmp_inverse(of_int, TC_UNSIGNED), cmp);
        }
        assert_true(of_float || of_int);
        u32 mirrored = (outcomes(cmp) & 10) | (outcomes(cmp) & 1) << 2 | (outcomes(cmp) & 4) >> 2;
        assert_int_equal(outcomes(cmp_swapped(cmp)), mirrored);
        assert_int_equal(cmp_swapped(cmp_swapped(cmp)), cmp);
        assert_true(strlen(cmp_name(cmp)) >= 2);
    }
    assert_int_equal(cmp_inverse(CMP_LT, TC_FLOAT), CMP_GEU); /* NaN: not(a < b) is not a >= b */
    assert_int_equal(cmp_inverse(CMP_LO, TC_UNSIGNED), CMP_HS);
    assert_int_equal(cmp_swapped(CMP_LO), CMP_HI);
    assert_int_equal(cmp_inverse(CMP_LO, TC_FLOAT), CMP_NONE);
    assert_int_equal(cmp_inverse(CMP_NUM, TC_BITS), CMP_NONE);
}

/* ---- special registers ---------------------------------------------------------------------------------------- */

static void test_sregs_are_found(void **state)
{
    (void)state;
    for (u32 i = 0; i < sreg_count(); i++) {
        int component = 7;
        const SregInfo *info = sreg_info(i);
        assert_int_equal(sreg_find(info->name, (u32)strlen(info->name), &component), i);
        assert_int_equal(component, -1);
        assert_true(info->min <= info->max);
        assert_true(i == 0 || strcmp(sreg_info(i - 1)->name, info->name) < 0);
        if (info->is_volatile)
            assert_int_equal(info->uniformity, UNI_DIVERGENT);
    }
}

static int find_sreg(const char *text, int *component) { return sreg_find(text, (u32)strlen(text), component); }

static void test_sreg_names(void **state)
{
    (void)state;
    int component;
    int tid = find_sreg("%tid.y", &component);
    assert_int_equal(component, 1);
    assert_int_equal(find_sreg("%tid.x", &component), tid);
    assert_int_equal(component, 0);
    assert_int_equal(find_sreg("%tid.b", &component), tid);
    assert_int_equal(component, 2);
    assert_int_equal(sreg_info((u32)tid)->uniformity, UNI_DIVERGENT);
    assert_int_equal(sreg_info((u32)tid)->max, 1023);
    assert_int_equal(sreg_info((u32)find_sreg("%ntid.x", &component))->uniformity, UNI_CTA);
    assert_true(sreg_info((u32)find_sreg("%clock64", &component))->is_volatile);
    assert_int_equal(sreg_info((u32)find_sreg("%is_explicit_cluster", &component))->type, TYPE_PRED);
    static const char *const none[] = {
        "%ti",  "%tidx", "%tid.", "%tid.q", "%tid.xx", "%tid.x.y", "%laneid.x", "%envreg32",
        "%pm8", "%r1",   "%",     "",       "tid",     "%tid.x ",  "WARP_SZ",
    };
    for (u32 i = 0; i < COUNT_OF(none); i++)
        assert_int_equal(find_sreg(none[i], &component), -1);
}

static void test_synchronization(void **state)
{
    assert_int_equal(get(state, "bar.sync")->sync, SYNC_BARRIER);
    assert_int_equal(get(state, "barrier.cta.red.popc.u32")->sync, SYNC_REDUCE);
    assert_int_equal(get(state, "bar.arrive")->sync, SYNC_ARRIVE);
    assert_int_equal(get(state, "shfl.sync.idx.b32")->sync, SYNC_LANES);
    assert_int_equal(get(state, "shfl.idx.b32")->sync, SYNC_NONE);
    assert_int_equal(get(state, "redux.sync.add.s32")->sync, SYNC_LANES);
    assert_flags(state, "bar.sync", OPF_ALIGNED, 0);
    assert_flags(state, "barrier.sync", 0, OPF_ALIGNED);
    assert_flags(state, "barrier.sync.aligned", OPF_ALIGNED, 0);
    assert_flags(state, "cvt.u64.u32", OPF_FUSES, 0);
    assert_flags(state, "cvt.u32.u64", 0, OPF_FUSES);
    assert_flags(state, "trap", OPF_ENDS_THREAD, OPF_TERMINATOR);
    assert_flags(state, "ret", OPF_TERMINATOR, OPF_ENDS_THREAD);
}

static void assert_sem(void **state, const char *text, Opcode op, u32 from, u32 bits, bool is_signed)
{
    Sem sem = get(state, text)->sem;
    if (sem.op != op || sem.from != from || sem.bits != bits || sem.is_signed != is_signed)
        fail_msg("%s: opcode %u, %u to %u bits, signed %d", text, sem.op, sem.from, sem.bits, sem.is_signed);
}

static void test_what_arithmetic_computes(void **state)
{
    assert_sem(state, "add.s32", OPC_ADD, 32, 32, true);
    assert_sem(state, "add.cc.u32", OPC_ADD, 32, 32, false);
    assert_sem(state, "mul.lo.u64", OPC_MUL, 64, 64, false);
    assert_sem(state, "mul.wide.s16", OPC_MUL, 16, 32, true);
    assert_sem(state, "mad.wide.u32", OPC_MAD, 32, 64, false);
    assert_sem(state, "cvt.u64.s32", OPC_CVT, 32, 64, true);
    assert_sem(state, "and.pred", OPC_AND, 1, 1, false);
    assert_sem(state, "shr.b32", OPC_SHR, 32, 32, false);
    assert_sem(state, "popc.b64", OPC_POPC, 64, 32, false);
    assert_sem(state, "setp.lt.and.s64", OPC_SETP, 64, 1, true);
    assert_int_equal(get(state, "setp.ltu.ftz.f32")->sem.compared, TYPE_F32);
    assert_true(get(state, "setp.ltu.ftz.f32")->sem.ftz);
    assert_false(get(state, "cvt.u64.s32")->sem.to_signed);
}

static void test_what_is_no_plain_arithmetic(void **state)
{
    static const char *const text[] = {"add.sat.s32",    "mul.hi.u32",      "add.f32",  "add.u16x2",     "cvt.sat.u32.s64",
                                       "cvt.rn.f32.s32", "min.relu.s32",    "addc.u32", "setp.eq.f16x2", "set.eq.f32.s32",
                                       "mul24.lo.s32",   "add.s32.strange", "and.b128", "mul.wide.u64",  "mad.wide.s64"};
    for (u32 k = 0; k < COUNT_OF(text); k++)
        assert_sem(state, text[k], OPC_UNKNOWN, 0, 0, false);
}

static u64 apply(void **state, const char *text, u64 a, u64 b)
{
    u64 result = 0;
    assert_true(sem_apply(get(state, text)->sem, a, b, &result));
    return result;
}

static void test_arithmetic_on_constants(void **state)
{
    u64 result;
    assert_int_equal(apply(state, "add.u16", 0xffff, 2), 1);
    assert_int_equal(apply(state, "sub.s32", 1, 2), 0xffffffff);
    assert_int_equal(apply(state, "shl.b32", 1, 32), 0);
    assert_int_equal(apply(state, "shr.s32", 0x80000000, 40), 0xffffffff);
    assert_int_equal(apply(state, "shr.u32", 0x80000000, 31), 1);
    assert_int_equal(apply(state, "shr.s64", (u64)1 << 63, 63), UINT64_MAX);
    assert_false(sem_apply(get(state, "mul.wide.u32")->sem, 1, 1, &result));
    assert_false(sem_apply(get(state, "div.u32")->sem, 1, 0, &result));
}

int main(void)
{
#define WITH_TABLES(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        WITH_TABLES(test_real_opcodes_are_known),
        WITH_TABLES(test_every_row_decodes_to_itself),
        WITH_TABLES(test_opcodes_are_composed_of_parts),
        WITH_TABLES(test_a_comparison_is_replaced),
        WITH_TABLES(test_a_comparison_gets_a_third_predicate),
        WITH_TABLES(test_modifiers_are_taken_away),
        cmocka_unit_test(test_modifiers_are_listed_once),
        WITH_TABLES(test_unknown_is_the_worst_case),
        WITH_TABLES(test_unknown_modifiers_leave_control_flow),
        WITH_TABLES(test_decoding_is_cached),
        WITH_TABLES(test_types_in_textual_order),
        WITH_TABLES(test_comparisons_and_combinations),
        WITH_TABLES(test_spaces),
        WITH_TABLES(test_vectors_and_sizes),
        WITH_TABLES(test_memory_effect_and_strength),
        WITH_TABLES(test_side_effects),
        WITH_TABLES(test_convergence),
        WITH_TABLES(test_uniformity),
        WITH_TABLES(test_control_flow),
        WITH_TABLES(test_carry),
        WITH_TABLES(test_commutes),
        WITH_TABLES(test_cheap),
        WITH_TABLES(test_pure),
        WITH_TABLES(test_roles),
        WITH_TABLES(test_roles_of_an_unforeseen_count),
        WITH_TABLES(test_has_modifier),
        WITH_TABLES(test_synchronization),
        WITH_TABLES(test_what_arithmetic_computes),
        WITH_TABLES(test_what_is_no_plain_arithmetic),
        WITH_TABLES(test_arithmetic_on_constants),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_comparison_algebra),
        cmocka_unit_test(test_sregs_are_found),
        cmocka_unit_test(test_sreg_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
