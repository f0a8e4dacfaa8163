/* Random functions of few registers, and threads that run them one after the other: what the analyses claim can be held
 * against what happens. Include after cmocka.h. */
#ifndef PTXOPT_TESTS_PTX_RUN_H
#define PTXOPT_TESTS_PTX_RUN_H

#include "analysis/analyses.h"
#include "ptx_text.h"

enum { RUN_REGS = 6, RUN_PREDS = 4, RUN_LOOPS = 64 };

static u32 random_state = 1;
static inline u32 random_below(u32 bound)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (u32)(((u64)random_state * bound) >> 32);
}

static inline char *random_predicate_instr(char *t)
{
    u32 p = random_below(RUN_PREDS), q = random_below(RUN_PREDS), s = random_below(RUN_PREDS), a = random_below(RUN_REGS);
    static const char *const compares[] = {"eq", "ne", "lt", "ge", "gt", "le", "lo", "hs"};
    const char *cmp = compares[random_below(COUNT_OF(compares))];
    switch (random_below(8)) {
    case 0: return t + sprintf(t, "not.pred %%p%u, %%p%u;\n", p, q);
    case 1: return t + sprintf(t, "and.pred %%p%u, %%p%u, %%p%u;\n", p, q, s);
    case 2: return t + sprintf(t, "or.pred %%p%u, %%p%u, %%p%u;\n", p, q, s);
    case 3: return t + sprintf(t, "mov.pred %%p%u, %%p%u;\n", p, q);
    case 4:
        return t + sprintf(t, "setp.%s.%s.u32 %%p%u, %%r%u, %u, %s%%p%u;\n", cmp, random_below(2) ? "and" : "or", p, a,
                           random_below(9), random_below(2) ? "!" : "", q);
    case 5: return t + sprintf(t, "setp.%s.u32 %%p%u|%%p%u, %%r%u, %u;\n", cmp, p, (p + 1) % RUN_PREDS, a, random_below(9));
    case 6: return t + sprintf(t, "setp.%s.u32 %%p%u, %%r%u, %%r%u;\n", cmp, p, a, random_below(RUN_REGS));
    default: return t + sprintf(t, "setp.%s.u32 %%p%u, %%r%u, %u;\n", cmp, p, a, random_below(9));
    }
}

static inline char *random_instr(char *t)
{
    if (random_below(5) == 0)
        t += sprintf(t, "@%s%%p%u ", random_below(2) ? "" : "!", random_below(RUN_PREDS));
    u32 d = random_below(RUN_REGS), a = random_below(RUN_REGS), b = random_below(RUN_REGS);
    switch (random_below(9)) {
    case 0: return t + sprintf(t, "mov.u32 %%r%u, %u;\n", d, random_below(4));
    case 1: return t + sprintf(t, "mov.u32 %%r%u, %s;\n", d, random_below(3) ? "%ctaid.x" : "%tid.x");
    case 2: return t + sprintf(t, "ld.param.u32 %%r%u, [n];\n", d);
    case 3: return t + sprintf(t, "add.cc.u32 %%r%u, %%r%u, 0x%08x;\n", d, a, 0x90000000u);
    case 4: return t + sprintf(t, "addc.u32 %%r%u, %%r%u, 0;\n", d, a);
    case 5:
    case 6: return t + sprintf(t, "add.u32 %%r%u, %%r%u, %%r%u;\n", d, a, b);
    case 7: return t + sprintf(t, "setp.lt.u32 %%p%u, %%r%u, %%r%u;\n", random_below(RUN_PREDS), a, b);
    default: return random_predicate_instr(t);
    }
}

/* Mostly forwards, some loops, early returns. */
static inline void random_function(char *text, u32 blocks)
{
    char *t = text + sprintf(text, PTX_HEAD ".entry f(.param .u32 n) {\n.reg .b32 %%r<%u>; .reg .pred %%p<%u>;\n", RUN_REGS,
                             RUN_PREDS);
    if (random_below(4)) /* nothing is garbage */
        for (u32 k = 0; k < RUN_REGS; k++)
            t += sprintf(t, "mov.u32 %%r%u, %s; setp.eq.u32 %%p%u, %%r%u, 1;\n", k, k == 2 ? "%tid.x" : "2", k % RUN_PREDS,
                         k);
    for (u32 b = 0; b < blocks; b++) {
        t += sprintf(t, "L%u:\n", b);
        for (u32 k = random_below(4); k > 0; k--)
            t = random_instr(t);
        u32 near = b + 1 + random_below(3), back = random_below(b + 1);
        u32 to = random_below(3) && near < blocks ? near : back;
        if (random_below(4))
            t += sprintf(t, "@%s%%p%u bra L%u;\n", random_below(3) ? "" : "!", random_below(RUN_PREDS), to);
        else if (random_below(4) == 0)
            t += sprintf(t, "@%%p%u ret;\n", random_below(RUN_PREDS));
        if (random_below(4) == 0 && near < blocks)
            t += sprintf(t, "bra L%u;\n", near);
    }
    sprintf(t, "ret;\n}\n");
}

typedef struct Thread {
    u32 tid;
    u32 r[32];                /* registers and predicates, by RegId; the carry is 0 */
    u32 iteration[RUN_LOOPS]; /* of the loop of that depth that the thread is in, by Loop.depth */
} Thread;

static inline u32 operand_value(const Thread *t, const Operand *o)
{
    if (o->kind == OPND_REG)
        return o->flags & OPNDF_NOT ? !t->r[o->id] : t->r[o->id];
    if (o->kind == OPND_SREG)
        return strcmp(sreg_info(o->id)->name, "%tid") ? 3 : t->tid;
    return o->kind == OPND_MEM ? 7 : (u32)o->value;
}

static inline bool compare_values(Cmp cmp, u32 a, u32 b)
{
    switch (cmp) {
    case CMP_EQ: return a == b;
    case CMP_NE: return a != b;
    case CMP_LT:
    case CMP_LO: return a < b;
    case CMP_GE:
    case CMP_HS: return a >= b;
    case CMP_GT:
    case CMP_HI: return a > b;
    case CMP_LE:
    case CMP_LS: return a <= b;
    default: fail_msg("comparison %d", cmp); return false;
    }
}

static inline void run_setp(Thread *t, Instr *i)
{
    const Operand *to = instr_operand(i, 0), *third = instr_operand(i, 3);
    u32 a = operand_value(t, instr_operand(i, 1)), b = operand_value(t, instr_operand(i, 2));
    bool holds = compare_values((Cmp)i->op->cmp, a, b),
         c = third && operand_value(t, third), and = i->op->bool_op == BOOL_AND;
    bool first = third ? (and? holds && c : holds || c) : holds, second = third ? (and? !holds && c : !holds || c) : !holds;
    if (to->kind == OPND_PAIR) {
        t->r[to[1].id] = first;
        t->r[to[2].id] = second;
    } else {
        t->r[to->id] = first;
    }
}

static inline void run_instr(Thread *t, Instr *i)
{
    u32 d = i->opnd[0].id, a = operand_value(t, instr_operand(i, 1)), b = i->slots > 2 ? operand_value(t, &i->opnd[2]) : 0;
    switch (i->op->opcode) {
    case OPC_ADD:
        t->r[d] = a + b;
        if (op_has(i->op, OPF_CARRY_OUT))
            t->r[CARRY_REG] = a + b < a;
        break;
    case OPC_ADDC: t->r[d] = a + b + t->r[CARRY_REG]; break;
    case OPC_SETP: run_setp(t, i); break;
    case OPC_MOV:
    case OPC_LD: t->r[d] = a; break;
    case OPC_NOT: t->r[d] = !a; break;
    case OPC_AND: t->r[d] = a && b; break;
    case OPC_OR: t->r[d] = a || b; break;
    default: fail_msg("%s", i->op->text->text);
    }
}

static inline void enter_block(const Loops *loops, Thread *t, const Block *from, const Block *to)
{
    const Loop *loop = loop_of(loops, to);
    if (loop && loop->header == to)
        t->iteration[loop->depth] = from && loop_contains(loops, loop, from) ? t->iteration[loop->depth] + 1 : 0;
}

/* A thread's walk through the function: for each block, what `at_block` and `at_instr` (before it runs) see; either may
 * be NULL. Ends after `steps` blocks. */
typedef struct Walk {
    Function *fn;
    const Loops *loops;
    void *user;
    void (*at_block)(void *user, const Thread *t, const Block *from, const Block *b);
    void (*at_instr)(void *user, const Thread *t, const Instr *i, bool runs);
} Walk;

static inline void walk(const Walk *w, Thread *t, u32 steps)
{
    const Block *from = NULL, *b = w->fn->entry;
    while (b && steps-- > 0) {
        enter_block(w->loops, t, from, b);
        if (w->at_block)
            w->at_block(w->user, t, from, b);
        const Block *to = b->fall;
        for_each_instr(i, b) {
            bool runs = !i->guard || (t->r[i->guard] != 0) != i->guard_not;
            if (w->at_instr)
                w->at_instr(w->user, t, i, runs);
            if (runs && instr_is(i, OPF_TERMINATOR))
                to = branch_target(i);
            else if (runs)
                run_instr(t, i);
        }
        from = b;
        b = to;
    }
}

#endif
