/* Computes products of a widened index by mul.wide, where ptxas makes one instruction of that and the following addition:
 *
 *     cvt.s64.s32 %rd4, %r1;                 mul.wide.s32 %rd5, %r1, 8;
 *     shl.b64 %rd5, %rd4, 3;                 add.s64 %rd6, %rd1, %rd5;
 *     add.s64 %rd6, %rd1, %rd5;
 *
 * Sound: a number of 32 bits, extended and multiplied by one below 2^31, is the whole product of the two, signed or not.
 * The index is read where its register still holds it. The conversion goes if nobody reads it any more.
 *
 * Pays (tests/ptxas/BASES.md): SHF, LEA and LEA.HI.X become IMAD.WIDE. ptxas schedules the kernel anew, so few of these in
 * a large kernel are a gamble. Measured: where the kernel has no loops, many additions read the product, or the base is no
 * parameter, one kernel in four got slower. Of the kernels with few of these, one in eight did. Where the conversion stays,
 * little is saved.
 *
 * Declines: indices that are the same in the whole warp, which ptxas extends and shifts in uniform registers; conversions
 * outside of a loop that the product is in; blocks into which many registers are live. */
#include "phase/address/wide.h"

#include "base/bound.h"
#include "ir/builder.h"
#include "ir/inspect.h"
#include "phase/address/bases.h"
#include "target/ptxas.h"

enum {
    FACTOR_MOST = INT32_MAX,
    COPIES = 4 /* the most copies between a base and the parameter that it is */
};

typedef struct WideProduct {
    Instr *i; /* the shift or multiplication */
    RegId wide, index;
    bool is_signed;
    u64 factor;
} WideProduct;

typedef VEC(WideProduct) WideProducts;

static Instr *definition(Analyses *an, const Instr *at, RegId reg)
{
    const Ssa *ssa = an_ssa(an);
    Instr *def = reg ? ssa_definition(ssa, ssa_at(ssa, at->block, at, reg), reg) : NULL;
    return def && !def->guard ? def : NULL;
}

static bool is_integer_of(const Function *fn, RegId reg, u32 bits)
{
    const Reg *r = &fn->regs.v[reg];
    TypeClass class = type_class(r->type);
    return reg && r->vector == 1 && class != TC_FLOAT && class != TC_PRED && type_bits(r->type) == bits;
}

/* The constant by which i multiplies its first source, of 64 bits; 0: i does something else. */
static u64 factor_of(const Instr *i)
{
    if (i->kind != INSTR_OP || i->guard || i->op->sem.bits != 64 || instr_operands(i) != 3)
        return 0;
    const Operand *by = instr_operand(i, 2);
    if (by->kind != OPND_IMM || by->value <= 0)
        return 0;
    if (i->op->sem.op == OPC_SHL)
        return by->value < 31 ? (u64)1 << by->value : 0;
    return i->op->sem.op == OPC_MUL && i->op->sem.from == 64 && by->value <= FACTOR_MOST ? (u64)by->value : 0;
}

/* Whether i multiplies a widened index whose register still holds it at i. */
static bool read_product(Analyses *an, Instr *i, WideProduct *p)
{
    const Function *fn = an->fn;
    u64 factor = factor_of(i);
    if (!factor || !is_integer_of(fn, operand_plain_register(instr_operand(i, 0)), 64))
        return false;
    const Instr *widen = definition(an, i, operand_plain_register(instr_operand(i, 1)));
    const Sem *sem = widen ? &widen->op->sem : NULL;
    if (!sem || sem->op != OPC_CVT || sem->bits != 64 || sem->from != 32 || sem->is_signed != sem->to_signed)
        return false;
    RegId index = operand_plain_register(instr_operand(widen, 1));
    const Loop *loop = loop_of(an_loops(an), i->block);
    ValueId value = ssa_at(an_ssa(an), i->block, i, index);
    if (!is_integer_of(fn, index, 32) || !value || value != ssa_at(an_ssa(an), widen->block, widen, index) ||
        !bases_scope_reaches(fn, fn->regs.v[index].scope, i->scope) ||
        (loop && !loop_contains(an_loops(an), loop, widen->block)))
        return false;
    *p = (WideProduct){i, operand_plain_register(instr_operand(i, 1)), index, sem->is_signed, factor};
    return true;
}

static bool is_parameter(Analyses *an, const Instr *at, RegId reg)
{
    for (u32 k = 0; WITHIN(COPIES, k < COPIES); k++) {
        const Instr *def = definition(an, at, reg);
        if (!def || def->op->opcode == OPC_LD)
            return def && an->fn->is_entry && def->op->space == SPACE_PARAM;
        if (def->op->opcode != OPC_MOV && def->op->opcode != OPC_CVTA && def->op->opcode != OPC_CVTA_TO)
            return false;
        reg = operand_plain_register(instr_operand(def, 1));
        at = def;
    }
    return false;
}

/* Whether many registers are live into b. IMAD.WIDE needs pairs of them. */
static bool is_crowded(Analyses *an, const Block *b)
{
    return live_words(an_live(an), b, PTXAS_CROWDED + 1) > PTXAS_CROWDED;
}

/* Whether a single instruction reads the product: an addition, in the same block, to a parameter. */
static bool is_offset_of_parameter(Analyses *an, const WideProduct *p)
{
    RegId product = p->i->opnd[0].id;
    Instr *reader = p->i->next;
    for (; reader && !(reader->kind == INSTR_OP && instr_reads(reader, product)); reader = reader->next)
        if (reader->kind == INSTR_OP && instr_writes(reader, product))
            return false;
    if (!reader || reader->op->sem.op != OPC_ADD || reader->op->sem.bits != 64 ||
        !an_is_only_reader(an, p->i, NULL, reader, product))
        return false;
    RegId a = operand_plain_register(instr_operand(reader, 1)), b = operand_plain_register(instr_operand(reader, 2));
    return a && b && is_parameter(an, reader, a == product ? b : a);
}

/* Whether it pays, if the index is not uniform. */
static bool may_pay(Analyses *an, const WideProduct *p)
{
    return p->i->op->sem.op == OPC_SHL && is_offset_of_parameter(an, p) && !is_crowded(an, p->i->block);
}

/* Whether so many products are many beside the instructions of the function. */
static bool are_dense(const Function *fn, u32 products)
{
    u32 instrs = 0;
    for_each_block(b, fn)
        for_each_instr(i, b)
            instrs += i->kind == INSTR_OP;
    return (u64)products * PTXAS_SPARSE_PRODUCTS > instrs;
}

static void widen(Analyses *an, PhaseRun *run, const WideProduct *p)
{
    OpParts parts = {.wide = true, .type = {p->is_signed ? TYPE_S32 : TYPE_U32}};
    Operand slots[3] = {p->i->opnd[0], register_operand(p->index), build_integer(p->factor, 32, p->is_signed)};
    phase_passed(run, "ProductWidened", p->i, "computed from the number of 32 bits, which ptxas fuses with an addition");
    phase_count(run, "ProductsWidened", 1);
    instr_set_op(p->i, isa_op(an->fn->module->isa, OPC_MUL, parts));
    instr_set_operands(p->i, slots, 3);
}

/* Keeps in the list the products of indices that are not uniform, whose conversions are then unread and go. Empties the
 * list if they are few. */
static void keep_dense(Analyses *an, WideProducts *products)
{
    u32 *reads = arena_array(an->scratch, u32, an->fn->regs.n), kept = 0, varying = 0;
    bool dense = are_dense(an->fn, products->n); /* uniformity is not asked for in vain */
    for (u32 k = 0; k < products->n && dense; k++)
        if (!uniform_has(&an_uniform(an)->warp, products->v[k].index))
            products->v[varying++] = products->v[k];
    products->n = varying;
    for_each_block(b, an->fn)
        for_each_instr(i, b)
            for (RegWalk w = reg_walk(i); varying && next_read(&w);)
                reads[w.reg]++;
    for (u32 k = 0; k < products->n; k++)
        reads[products->v[k].wide]--;
    for (u32 k = 0; k < products->n; k++)
        if (reads[products->v[k].wide] == 0)
            products->v[kept++] = products->v[k];
    products->n = are_dense(an->fn, kept) ? kept : 0;
}

bool wide_run(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    WideProducts products = {0};
    WideProduct p;
    bool any = false, always = knobs->cbe_wide == WIDE_ALWAYS;
    if (knobs->cbe_wide == WIDE_NEVER || (!always && !an_loops(an)->n))
        return false;
    for_each_block(b, an->fn)
        for_each_instr(i, b)
            if (factor_of(i) && read_product(an, i, &p) && (always || may_pay(an, &p)))
                vec_push(&products, p);
    if (products.n && !always)
        keep_dense(an, &products);
    for (u32 k = 0; k < products.n; k++)
        if (phase_may_rewrite(run)) {
            widen(an, run, &products.v[k]);
            any = true;
        }
    vec_free(&products);
    return any;
}
