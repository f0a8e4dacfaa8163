/* Values of registers: chosen programs, and random ones against a walk that keeps no tree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/listing.h"
#include "ptx_run.h"

typedef struct Fixture {
    Arena arena;
    Module *m;
    Function *fn;
    Analyses an;
    BitSet wanted;
    Listing *listing;
} Fixture;

static void load(Fixture *f, const char *text)
{
    memset(f, 0, sizeof *f);
    f->m = ptx_module(&f->arena, text);
    f->fn = f->m->functions.v[0];
    analyses_init(&f->an, f->fn);
    an_compute(&f->an, AN_LIVE | AN_DOM);
    f->wanted = bitset_new(&f->arena, f->fn->regs.n);
    bitset_fill(&f->wanted);
    f->listing = listing_compute(&f->arena, f->fn, an_order(&f->an), an_ssa(&f->an), an_live(&f->an), &f->wanted);
    assert_non_null(f->listing);
}

static void unload(Fixture *f)
{
    listing_free(f->listing);
    cfg_free(f->fn);
    analyses_free(&f->an);
    module_free(f->m);
    arena_free(&f->arena);
}

/* The value of reg that the first instruction of the block that reads it reads. */
static u32 read_in(const Fixture *f, const char *label, const char *reg)
{
    const Block *b = ptx_block(f->fn, label);
    for (u32 n = f->listing->first[b->id]; n < f->listing->end[b->id]; n++)
        for (u32 k = f->listing->instrs.v[n].use; k < f->listing->instrs.v[n].use + f->listing->instrs.v[n].uses; k++) {
            const ListedUse *use = &f->listing->uses.v[k];
            if (use->slot != LISTING_NONE && f->listing->instrs.v[n].i->opnd[use->slot].id == ptx_reg(f->fn, reg))
                return use->value;
        }
    fail_msg("%s is not read in %s", reg, label);
    return 0;
}

static void ways_meet_in_phis(void **state)
{
    (void)state;
    Fixture f;
    load(&f, PTX_HEAD ".entry f() { .reg .b32 %r<9>; .reg .pred %p<9>;\n"
                      "A: mov.u32 %r1, 1; mov.u32 %r2, 2; mov.u32 %r3, 3; @%p1 bra C;\n"
                      "B: mov.u32 %r1, 4; mov.u32 %r3, 5; st.global.u32 [0], %r3; bra D;\n"
                      "C: st.global.u32 [0], %r2;\n"
                      "D: add.u32 %r4, %r1, %r2; ret; }");
    const ListedValue *phi = &f.listing->values.v[read_in(&f, "D", "%r1")];
    assert_ptr_equal(phi->phi, ptx_block(f.fn, "D"));
    assert_int_equal(phi->args, 2);
    assert_int_not_equal(f.listing->args.v[phi->arg], f.listing->args.v[phi->arg + 1]);
    assert_int_equal(read_in(&f, "D", "%r2"), read_in(&f, "C", "%r2"));
    const Block *d = ptx_block(f.fn, "D");
    assert_int_equal(f.listing->phis[d->id], 2);
    for (u32 k = f.listing->first_phi[d->id]; k < f.listing->first_phi[d->id] + 2; k++) /* nobody reads %r3 any more */
        assert_int_equal(f.listing->values.v[k].is_read, f.listing->values.v[k].reg == ptx_reg(f.fn, "%r1"));
    unload(&f);
}

static void loops_carry_phis(void **state)
{
    (void)state;
    Fixture f;
    load(&f, PTX_HEAD ".entry f() { .reg .b32 %r<9>; .reg .pred %p<9>;\n"
                      "A: mov.u32 %r1, 1; mov.u32 %r2, 2;\n"
                      "B: add.u32 %r1, %r1, %r2; setp.lt.u32 %p1, %r1, 9; @%p1 bra B;\n"
                      "C: st.global.u32 [0], %r1; ret; }");
    u32 read = read_in(&f, "B", "%r1"), left = read_in(&f, "C", "%r1");
    const ListedValue *phi = &f.listing->values.v[read];
    assert_ptr_equal(phi->phi, ptx_block(f.fn, "B"));
    assert_true(f.listing->args.v[phi->arg] == left || f.listing->args.v[phi->arg + 1] == left);
    assert_null(f.listing->values.v[read_in(&f, "B", "%r2")].phi);
    unload(&f);
}

static void guarded_writes_read_the_old_value(void **state)
{
    (void)state;
    Fixture f;
    load(&f, PTX_HEAD ".entry f() { .reg .b32 %r<9>; .reg .pred %p<9>;\n"
                      "A: mov.u32 %r1, 1;\n"
                      "@%p1 mov.u32 %r1, 2;\n"
                      "B: st.global.u32 [0], %r1; ret; }");
    const ListedValue *v = &f.listing->values.v[read_in(&f, "B", "%r1")];
    assert_false(v->whole);
    const ListedInstr *at = &f.listing->instrs.v[v->instr];
    bool old = false;
    for (u32 k = at->use; k < at->use + at->uses; k++)
        old |= f.listing->uses.v[k].slot == LISTING_NONE && f.listing->values.v[f.listing->uses.v[k].value].reg == v->reg;
    assert_true(old);
    unload(&f);
}

/* What the walk says that registers hold at the start of each block: [block][register]. */
static u32 *held_at_starts(Fixture *f)
{
    u32 *held = mem_zalloc(sizeof(u32) * f->fn->blocks.n * f->fn->regs.n);
    ListingWalk w = listing_walk(f->listing);
    for (u32 pre = 1; pre <= an_dom(&f->an)->count; pre++) {
        const Block *b = an_dom(&f->an)->by_pre[pre];
        listing_enter(&w, b);
        memcpy(held + b->id * f->fn->regs.n, w.now, sizeof(u32) * f->fn->regs.n);
        for (u32 n = f->listing->first[b->id]; n < f->listing->end[b->id]; n++)
            listing_step(&w, n);
    }
    listing_walk_free(&w);
    return held;
}

/* A path through the program, and when each register was written and each value made on it. */
typedef struct Path {
    u64 clock, *written, *made;
} Path;

static void step_block(const Fixture *f, Path *path, const Block *b)
{
    for (u32 n = f->listing->first[b->id]; n < f->listing->end[b->id]; n++) {
        const ListedInstr *at = &f->listing->instrs.v[n];
        for (u32 k = at->use; k < at->use + at->uses; k++) {
            u32 value = f->listing->uses.v[k].value;
            if (value && f->listing->uses.v[k].slot != LISTING_NONE) /* an old value that nobody reads may have no phi */
                assert_int_equal(path->made[value], path->written[f->listing->values.v[value].reg]);
        }
        path->clock++;
        for (u32 k = 0; k < at->values; k++)
            path->written[f->listing->values.v[at->value + k].reg] = path->made[at->value + k] = path->clock;
    }
}

/* On random paths through random programs, the value that a register is said to hold is the last one that was made. */
static void values_are_the_last_written(void **state)
{
    (void)state;
    for (u32 trial = 0; trial < 1000; trial++) {
        Fixture f;
        static char text[1 << 16];
        random_state = trial + 1;
        random_function(text, 2 + random_below(14));
        load(&f, text);
        u32 *held = held_at_starts(&f);
        Path path = {0, mem_zalloc(sizeof(u64) * f.fn->regs.n), mem_zalloc(sizeof(u64) * f.listing->values.n)};
        const Block *b = f.fn->entry;
        for (u32 steps = 0; b && steps < 60; steps++) {
            path.clock++;
            for (u32 k = 0; k < f.listing->phis[b->id] && steps; k++)
                path.written[f.listing->values.v[f.listing->first_phi[b->id] + k].reg] =
                    path.made[f.listing->first_phi[b->id] + k] = path.clock;
            for (RegId reg = 1; reg < f.fn->regs.n; reg++)
                if (held[b->id * f.fn->regs.n + reg])
                    assert_int_equal(path.made[held[b->id * f.fn->regs.n + reg]], path.written[reg]);
            step_block(&f, &path, b);
            CfgList next = cfg_succs(f.fn, b);
            b = next.n ? next.v[random_below(next.n)].block : NULL;
        }
        mem_free(held);
        mem_free(path.written);
        mem_free(path.made);
        unload(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ways_meet_in_phis),
        cmocka_unit_test(loops_carry_phis),
        cmocka_unit_test(guarded_writes_read_the_old_value),
        cmocka_unit_test(values_are_the_last_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
