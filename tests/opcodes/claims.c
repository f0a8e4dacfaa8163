#include "claims.h"

#include <stdlib.h>

#include "ir/inspect.h"
#include "ir/reg_walk.h"
#include "parse/parse.h"

/* ---- reading them ----------------------------------------------------------------------------------------------- */

static const Instr *find_instr(const Module *m)
{
    for (u32 f = 0; f < m->functions.n; f++)
        for_each_block(b, m->functions.v[f])
            for (const Label *l = b->labels; l; l = l->next)
                if (!strcmp(l->name->text, "HERE"))
                    return b->first && b->first->kind == INSTR_SCOPE_BEGIN ? b->first->next : b->first ? b->first : b->jump;
    return NULL;
}

/* Which of the kernel's values a register is; VALUES_MAX: none. */
static u32 value_of(const Kernel *k, const Function *fn, RegId id)
{
    const Reg *r = fn_reg(fn, id);
    for (u32 i = 0; i < k->values; i++)
        if (r->number == (i32)k->value[i].number && r->name->text[1] == k->value[i].kind && !r->name->text[2])
            return i;
    return VALUES_MAX;
}

static void read_registers(const Kernel *k, const Instr *i, Claims *c)
{
    const Function *fn = i->block->fn;
    for (RegWalk w = reg_walk(i); next_read(&w);) {
        u32 value = w.reg == CARRY_REG ? VALUES_MAX : value_of(k, fn, w.reg);
        if (value < VALUES_MAX)
            c->uses[value] = true;
    }
    for (RegWalk w = reg_walk(i); next_write(&w);) {
        u32 value = w.reg == CARRY_REG ? VALUES_MAX : value_of(k, fn, w.reg);
        if (value == VALUES_MAX)
            continue;
        c->defines[value] = true;
        c->kills[value] |= w.kills;
    }
}

bool claims_read(const char *instr, Claims *c)
{
    static const u8 constants[PIECE];
    Kernel k;
    Arena arena = {0};
    Diag diag;
    *c = (Claims){.op.known = false};
    kernel_make(&k, instr, constants, false);
    Str text = {k.text.v, k.text.n};
    FILE *nobody = fopen("/dev/null", "w");
    diag_init(&diag, nobody, "kernel.ptx", text);
    Module *m = parse_module(&arena, "kernel.ptx", text, &diag);
    const Instr *i = find_instr(m);
    bool ok = !diag.errors && i && i->kind == INSTR_OP;
    if (ok) {
        c->op = *i->op;
        read_registers(&k, i, c);
        c->reads_volatile = instr_reads_volatile_register(i);
        for_each_slot(o, i)
            c->reads_divergent |= o->kind == OPND_SREG && sreg_info(o->id)->uniformity != UNI_CTA;
    }
    module_free(m);
    diag_free(&diag);
    fclose(nobody);
    arena_free(&arena);
    kernel_free(&k);
    return ok;
}

/* ---- holding them against what was observed --------------------------------------------------------------------- */

typedef struct Cover {
    const Claims *c;
    const Observed *o;
    Text *said;
    u32 lines;
} Cover;

__attribute__((format(printf, 3, 4))) static void demand(Cover *v, bool holds, const char *format, ...)
{
    va_list arguments;
    if (holds)
        return;
    va_start(arguments, format);
    text_printf(v->said, "    ");
    text_vprintf(v->said, format, arguments);
    text_printf(v->said, "\n");
    va_end(arguments);
    v->lines++;
}

static bool has(const Cover *v, u32 flag) { return op_has(&v->c->op, flag); }

static void cover_registers(Cover *v)
{
    const Claims *c = v->c;
    const Observed *o = v->o;
    for (u32 i = 0; i < o->values; i++) {
        char kind = o->value[i].kind;
        u32 number = o->value[i].number;
        demand(v, c->uses[i] || !o->reads[i], "it reads %%%c%u", kind, number);
        demand(v, c->defines[i] || !o->writes[i], "it writes %%%c%u", kind, number);
        demand(v, !c->kills[i] || c->uses[i] || !o->shows[i], "it leaves something of the old %%%c%u", kind, number);
    }
    demand(v, has(v, OPF_CARRY_IN) || !o->reads_carry, "it reads the carry");
    demand(v, has(v, OPF_CARRY_OUT) || !o->writes_carry, "it writes the carry");
    demand(v, !has(v, OPF_CARRY_OUT) || has(v, OPF_CARRY_IN) || !o->shows_carry, "it leaves something of the old carry");
}

static bool covers_space(const OpInfo *op, Space space)
{
    return op->space == SPACE_GENERIC || op->space == (u8)space || op->space2 == (u8)space ||
           (op->space == SPACE_SHARED_CLUSTER && space == SPACE_SHARED);
}

static void cover_memory(Cover *v)
{
    static const struct {
        Memory memory;
        Space space;
        const char *name;
    } rows[] = {
        {MEMORY_GLOBAL, SPACE_GLOBAL, "global"}, {MEMORY_SHARED, SPACE_SHARED, "shared"},
        {MEMORY_LOCAL, SPACE_LOCAL, "local"},    {MEMORY_PARAM, SPACE_PARAM, "param"},
        {MEMORY_CONST, SPACE_CONST, "const"},    {MEMORY_KERNEL_PARAM, SPACE_PARAM, "param"},
    };
    const OpInfo *op = &v->c->op;
    bool read = op->mem == MEM_READ || op->mem == MEM_READ_WRITE, write = op->mem == MEM_WRITE || op->mem == MEM_READ_WRITE;
    for (u32 i = 0; i < COUNT_OF(rows); i++) {
        bool reads = v->o->memory_read >> rows[i].memory & 1, writes = v->o->memory_written >> rows[i].memory & 1;
        demand(v, read || !reads, "it reads memory");
        demand(v, write || !writes, "it writes memory");
        demand(v, !(reads || writes) || covers_space(op, rows[i].space), "it accesses %s memory", rows[i].name);
    }
    demand(v, !op->access_bytes || v->o->widest <= op->access_bytes, "it writes %u bytes, not %u", v->o->widest,
           op->access_bytes);
    demand(v, !v->o->is_strong || op->strength == STRENGTH_STRONG, "its accesses are strong");
    demand(v, !v->o->orders || (op->mem != MEM_NONE && op->strength == STRENGTH_STRONG),
           "it orders what other threads see");
    demand(v, !v->o->orders || v->o->memory_read || v->o->memory_written || op->mem == MEM_READ_WRITE,
           "it orders all accesses");
    demand(v, !v->o->memory_written || has(v, OPF_SIDE_EFFECT), "it has a side effect");
}

static void cover_threads(Cover *v)
{
    const Observed *o = v->o;
    const OpInfo *op = &v->c->op;
    bool waits = o->waits_lane || o->waits_warp, calls = has(v, OPF_CALL); /* whose callee may be anything */
    bool names_threads = has(v, OPF_CONVERGENT) && has(v, OPF_NAMES_THREADS);
    demand(v, has(v, OPF_CONVERGENT) || !o->crosses, "it sees what other threads hold");
    demand(v, has(v, OPF_CONVERGENT) || !o->sees_absence, "it sees who is there");
    demand(v, has(v, OPF_CONVERGENT) || v->c->reads_volatile || !o->copy_differs, "it sees who executes it together");
    demand(v, !names_threads || !o->copy_differs, "two copies of it may not merge");
    demand(v, (has(v, OPF_CONVERGENT) && has(v, OPF_SIDE_EFFECT)) || !(waits || o->arrives), "others wait for it");
    demand(v, has(v, OPF_BARRIER) || calls || !(o->waits_warp || o->arrives), "it is a barrier");
    bool claims_lanes = op->sync == SYNC_LANES || op->sync == SYNC_WARP;
    bool claims_warps = op->sync == SYNC_BARRIER || op->sync == SYNC_REDUCE || op->sync == SYNC_CLUSTER;
    demand(v, !waits || calls || claims_lanes || claims_warps, "it waits for others");
    demand(v, !o->waits_warp || calls || claims_warps, "it waits for other warps");
    demand(v, o->waits_warp || !claims_warps, "it does not wait for other warps");
    demand(v, o->waits_lane || !claims_lanes || !names_threads, "it does not wait for other lanes");
    demand(v, op->sync == SYNC_ARRIVE || !(o->arrives && !o->waits_warp), "it arrives and does not wait");
    demand(v, o->arrives || op->sync != SYNC_ARRIVE, "no barrier waits for it");
    demand(v, op->sync == SYNC_REDUCE || op->sync == SYNC_NONE || op->sync == SYNC_LANES || !o->crosses,
           "operands are exchanged");
}

static void cover_results(Cover *v)
{
    const Observed *o = v->o;
    const OpInfo *op = &v->c->op;
    bool writes = op->mem == MEM_WRITE || op->mem == MEM_READ_WRITE;
    demand(v, has(v, OPF_VOLATILE) || v->c->reads_volatile || writes || !o->repeats_differ, "two executions differ");
    demand(v, op->uniformity != UNI_OPERANDS || v->c->reads_divergent || !o->uniform_differs,
           "results differ where the operands do not");
    bool members = op->uniformity == UNI_MEMBERS, together = op->uniformity == UNI_WARP || op->uniformity == UNI_CTA;
    demand(v, !(members || together) || !o->lanes_differ, "results differ between lanes");
    demand(v, !together || !o->masks_differ, "results differ between lanes of different masks");
    demand(v, !has(v, OPF_COMMUTES) || !o->swaps_differ, "the sources may not be exchanged");
}

static void cover_control(Cover *v)
{
    const Observed *o = v->o;
    bool leaves = has(v, OPF_NO_RETURN), branches = has(v, OPF_BRANCH);
    demand(v, branches || !o->goes_to_target, "it branches");
    demand(v, has(v, OPF_TERMINATOR) || !(o->goes_to_target || o->returns), "it ends a block");
    demand(v, leaves || !o->returns, "it returns");
    demand(v, has(v, OPF_ENDS_THREAD) || !o->ends, "it ends the thread");
    demand(v, !has(v, OPF_TERMINATOR) || leaves || branches, "it ends a block and leads somewhere");
    demand(v, !leaves || !(o->goes_on || o->goes_to_target), "control goes on");
    demand(v, has(v, OPF_SIDE_EFFECT | OPF_TERMINATOR) || !(o->ends || o->returns), "it must stay");
}

/* ---- what arithmetic computes ----------------------------------------------------------------------------------- */

static u64 operand(Sem sem, u64 value)
{
    return sem.is_signed ? (u64)sem_signed(value, sem.from) : value & sem_max(sem.from);
}

static u32 outcome(Sem sem, u64 a, u64 b)
{
    bool less = sem.is_signed ? (i64)a < (i64)b : a < b;
    return a == b ? CMP_IF_EQUAL : less ? CMP_IF_LESS : CMP_IF_GREATER;
}

static bool is_shift(Sem sem) { return sem.op == OPC_SHL || sem.op == OPC_SHR; }

/* False: nothing is said of it. */
static bool computed(const OpInfo *op, const u64 *source, u64 *result)
{
    Sem sem = op->sem;
    u64 a = operand(sem, source[0]), b = is_shift(sem) ? source[1] & sem_max(32) : operand(sem, source[1]);
    if (sem.op == OPC_MUL) {
        *result = a * b & sem_max(sem.bits);
        return true;
    }
    if (sem.op == OPC_SETP && type_is_integer(sem.compared)) {
        Cmp unsigned_only[] = {CMP_LO, CMP_LS, CMP_HI, CMP_HS};
        for (u32 i = 0; i < COUNT_OF(unsigned_only); i++)
            sem.is_signed &= op->cmp != unsigned_only[i];
        *result = (cmp_outcomes(op->cmp) & outcome(sem, operand(sem, source[0]), operand(sem, source[1]))) != 0;
        return op->bool_op == BOOL_NONE;
    }
    return sem_apply(sem, a, b, result);
}

/* Only of two sources in registers. */
static void cover_sem(Cover *v)
{
    const Observed *o = v->o;
    const OpInfo *op = &v->c->op;
    bool two = o->values == 3 && v->c->defines[0] && v->c->uses[1] && v->c->uses[2] && op->operands_max == 3;
    two |= o->values == 3 && op->opcode == OPC_SETP;
    for (u32 t = 0; t < THREADS && two && op->sem.op; t++) {
        u64 source[2] = {o->source[0][t], o->source[1][t]}, expected;
        if (!computed(op, source, &expected))
            return;
        u64 got = o->result[t] & sem_max(op->sem.bits);
        demand(v, got == expected, "it makes 0x%llx of 0x%llx and 0x%llx, not 0x%llx", (unsigned long long)got,
               (unsigned long long)source[0], (unsigned long long)source[1], (unsigned long long)expected);
        if (got != expected)
            return;
    }
}

u32 claims_cover(const Claims *c, const Observed *o, Text *said)
{
    Cover v = {c, o, said, 0};
    cover_registers(&v);
    cover_memory(&v);
    cover_threads(&v);
    cover_results(&v);
    cover_control(&v);
    cover_sem(&v);
    return v.lines;
}
