/* Order, dominators, post-dominators, loops and control dependence, on graphs made of bare blocks and edges, against
 * definitions by reachability that are too slow to be wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysed.h"
#include "ir/edit.h"

/* ---- graphs ---------------------------------------------------------------------------------------------------- */

static void make_blocks(Fixture *f, u32 blocks)
{
    memset(f, 0, sizeof *f);
    f->m = module_new(&f->arena, "test.ptx", (Str){"", 0});
    f->fn = function_new(f->m, intern_cstr(&f->m->names, "f"));
    for (u32 k = 0; k < blocks; k++)
        block_append_layout(f->fn, block_new(f->fn, 0));
    cfg_build(f->fn);
    analyses_init(&f->an, f->fn);
}

static void edge(Fixture *f, u32 from, u32 to)
{
    cfg_add_edge(f->fn->cfg, fn_block(f->fn, from), fn_block(f->fn, to));
    fn_edges_changed(f->fn);
}

/* make_graph(&f, 3, "0>1 0>2 1>2") */
static void make_graph(Fixture *f, u32 blocks, const char *edges)
{
    make_blocks(f, blocks);
    while (*edges) {
        char *end;
        u32 from = (u32)strtoul(edges, &end, 10);
        u32 to = (u32)strtoul(end + 1, &end, 10);
        edge(f, from, to);
        edges = end + (*end == ' ');
    }
    an_compute(&f->an, AN_ORDER | AN_DOM | AN_POSTDOM | AN_LOOPS | AN_CONTROL);
}

static Block *block(Fixture *f, u32 id) { return fn_block(f->fn, id); }

static u32 random_state = 1;
static u32 random_below(u32 bound)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (u32)(((u64)random_state * bound) >> 32);
}

/* ---- definitions ----------------------------------------------------------------------------------------------- */

#define MAX 28 /* blocks of random graphs; after them the exit and virtual blocks */
#define NODES (2 * MAX + 1)
typedef bool Matrix[NODES][NODES];

static void close_transitively(Matrix m, u32 n)
{
    for (u32 k = 0; k < n; k++)
        for (u32 a = 0; a < n; a++)
            for (u32 b = 0; b < n; b++)
                m[a][b] = m[a][b] || (m[a][k] && m[k][b]);
}

/* over[a][b]: every path from root to b passes a; only for b that root reaches. */
static void naive_dominators(Matrix edges, u32 n, u32 root, Matrix over)
{
    Matrix reach;
    memcpy(reach, edges, sizeof reach);
    close_transitively(reach, n);
    reach[root][root] = true;
    for (u32 a = 0; a < n; a++) {
        Matrix without;
        memcpy(without, edges, sizeof without);
        for (u32 b = 0; b < n; b++)
            without[a][b] = without[b][a] = false;
        close_transitively(without, n);
        for (u32 b = 0; b < n; b++)
            over[a][b] = reach[root][b] && reach[root][a] && (a == b || a == root || (b != root && !without[root][b]));
    }
}

typedef struct Naive {
    u32 blocks, nodes, exit;
    Matrix edges, reach, dom;  /* of the blocks */
    Matrix augmented, postdom; /* with exit and virtual blocks */
} Naive;

/* The augmented graph of dom.h, by definition: needs the order only to name the first block of an infinite region. */
static void naive_augment(Naive *n, Fixture *f)
{
    memcpy(n->augmented, n->edges, sizeof n->edges);
    n->exit = n->blocks;
    n->nodes = n->blocks + 1;
    for (u32 a = 0; a < n->blocks; a++) {
        if (!order_reachable(an_order(&f->an), block(f, a)))
            memset(n->augmented[a], 0, sizeof n->augmented[a]);
        else if (cfg_succs(f->fn, block(f, a)).n == 0)
            n->augmented[a][n->exit] = true;
    }
    for (u32 a = 0; a < n->blocks; a++) {
        bool first = order_reachable(an_order(&f->an), block(f, a)) && n->reach[a][a];
        for (u32 b = 0; b < n->blocks; b++)
            first =
                first && (!n->reach[a][b] || (n->reach[b][a] && an_order(&f->an)->index[a] <= an_order(&f->an)->index[b]));
        if (!first)
            continue;
        u32 round = n->nodes++;
        for (u32 b = 0; b < n->blocks; b++)
            if (n->reach[a][b] && n->augmented[b][a]) {
                n->augmented[b][a] = false;
                n->augmented[b][round] = true;
            }
        n->augmented[round][a] = n->augmented[round][n->exit] = true;
    }
}

static void naive_compute(Naive *n, Fixture *f)
{
    memset(n, 0, sizeof *n);
    n->blocks = f->fn->blocks.n;
    for_each_block(b, f->fn) {
        CfgList succs = cfg_succs(f->fn, b);
        for (u32 k = 0; k < succs.n; k++)
            n->edges[b->id][succs.v[k].block->id] = true;
    }
    memcpy(n->reach, n->edges, sizeof n->edges);
    close_transitively(n->reach, n->blocks);
    naive_dominators(n->edges, n->blocks, 0, n->dom);
    naive_augment(n, f);
    Matrix reverse;
    for (u32 a = 0; a < NODES; a++)
        for (u32 b = 0; b < NODES; b++)
            reverse[a][b] = n->augmented[b][a];
    naive_dominators(reverse, n->nodes, n->exit, n->postdom);
}

/* ---- comparisons ----------------------------------------------------------------------------------------------- */

static void compare_order(Fixture *f, const Naive *n)
{
    const Order *o = an_order(&f->an);
    u32 reachable = 0;
    for (u32 a = 0; a < n->blocks; a++) {
        bool reached = a == 0 || n->reach[0][a];
        assert_int_equal(order_reachable(o, block(f, a)), reached);
        reachable += reached;
        if (reached)
            assert_ptr_equal(o->rpo[o->index[a]], block(f, a));
    }
    assert_int_equal(o->count, reachable);
    assert_ptr_equal(o->rpo[0], f->fn->entry);
    for (u32 p = 0; p < o->count; p++) {
        for_each_edge(e, &o->succ, p)
            assert_true(n->edges[o->rpo[p]->id][o->rpo[o->succ.to[e]]->id]);
        for_each_edge(e, &o->pred, p)
            assert_true(n->edges[o->rpo[o->pred.to[e]]->id][o->rpo[p]->id]);
        assert_int_equal(o->succ.start[p + 1] - o->succ.start[p], cfg_succs(f->fn, o->rpo[p]).n);
    }
}

static void compare_tree(Fixture *f, const DomTree *t, Matrix over, u32 blocks)
{
    for (u32 b = 0; b < blocks; b++) {
        const Block *idom = t->idom[b];
        assert_true(!idom || (idom->id != b && over[idom->id][b]));
        for (u32 a = 0; a < blocks; a++) {
            assert_int_equal(dominates(t, block(f, a), block(f, b)), over[a][b]);
            if (a != b && over[a][b]) /* no other strict dominator stands below the immediate one */
                assert_true(idom && over[a][idom->id]);
        }
    }
    if (t->post)
        return;
    for (u32 a = 0; a < blocks; a++)
        for (u32 b = 0; b < blocks; b++) {
            const Block *common = dom_nearest_common(t, block(f, a), block(f, b));
            for (u32 c = 0; c < blocks; c++) {
                bool above = over[c][a] && over[c][b];
                assert_int_equal(above, common && over[c][common->id]);
            }
        }
    for (u32 k = 1; k <= t->count; k++)
        assert_int_equal(t->pre[t->by_pre[k]->id], k);
}

static void compare_loops(Fixture *f, Naive *n)
{
    const Loops *l = an_loops(&f->an);
    u32 found = 0;
    Matrix forward;
    memcpy(forward, n->edges, sizeof forward);
    for (u32 h = 0; h < n->blocks; h++) {
        Matrix without;
        memcpy(without, n->edges, sizeof without);
        for (u32 b = 0; b < n->blocks; b++)
            without[h][b] = without[b][h] = false;
        close_transitively(without, n->blocks);
        bool member[MAX] = {false}, is_header = false;
        for (u32 t = 0; t < n->blocks; t++) {
            if (!n->edges[t][h] || !n->dom[h][t])
                continue;
            is_header = member[h] = member[t] = true;
            forward[t][h] = false;
            for (u32 b = 0; b < n->blocks; b++)
                member[b] = member[b] || (without[b][t] && (b == 0 || n->reach[0][b]));
        }
        const Loop *loop = loop_of(l, block(f, h));
        if (!is_header) {
            assert_true(!loop || loop->header != block(f, h));
            continue;
        }
        found++;
        assert_ptr_equal(loop->header, block(f, h));
        assert_ptr_equal(loop->blocks[0], loop->header);
        assert_int_equal(loop->depth, loop->parent ? loop->parent->depth + 1 : 1);
        u32 members = 0;
        for (u32 b = 0; b < n->blocks; b++) {
            assert_int_equal(loop_contains(l, loop, block(f, b)), member[b]);
            members += member[b];
            if (!member[b])
                continue;
            assert_ptr_equal(loop->blocks[l->number[b] - loop->first], block(f, b));
            assert_true(loop_of(l, block(f, b))->block_count <= loop->block_count); /* `of` is the innermost */
            assert_true(!loop->parent || loop_contains(l, loop->parent, block(f, b)));
        }
        assert_int_equal(loop->block_count, members);
    }
    assert_int_equal(l->n, found);
    close_transitively(forward, n->blocks);
    bool any = false;
    for (u32 a = 0; a < n->blocks; a++) {
        bool cyclic = forward[a][a] && (a == 0 || n->reach[0][a]);
        any = any || cyclic;
        assert_int_equal(cyclic, l->in_irreducible.bits && bitset_has(&l->in_irreducible, a));
    }
    assert_int_equal(any, l->irreducible > 0);
}

static bool listed(const BlockVec *list, const Block *b)
{
    u32 times = 0;
    for (u32 k = 0; k < list->n; k++)
        times += list->v[k] == b;
    assert_true(times <= 1);
    return times == 1;
}

static void compare_control(Fixture *f, Naive *n)
{
    Matrix depends = {{0}};
    for (u32 b = 0; b < n->nodes; b++)
        for (u32 a = 0; a < n->blocks; a++)
            for (u32 s = 0; s < n->nodes; s++)
                if (n->augmented[a][s] && n->postdom[b][s] && (a == b || !n->postdom[b][a]))
                    depends[b][a] = true;
    Matrix closure;
    memcpy(closure, depends, sizeof closure);
    close_transitively(closure, n->nodes);
    for (u32 b = 0; b < n->blocks; b++) {
        BlockVec direct = {0}, all = {0};
        control_direct(an_control(&f->an), block(f, b), &direct);
        control_closure(an_control(&f->an), block(f, b), &all);
        for (u32 a = 0; a < n->blocks; a++) {
            bool reached = order_reachable(an_order(&f->an), block(f, a)) && order_reachable(an_order(&f->an), block(f, b));
            assert_int_equal(listed(&direct, block(f, a)), reached && depends[b][a]);
            assert_int_equal(listed(&all, block(f, a)), reached && closure[b][a]);
        }
        vec_free(&direct);
        vec_free(&all);
    }
}

static void compare(Fixture *f)
{
    static Naive n;
    naive_compute(&n, f);
    compare_order(f, &n);
    compare_tree(f, an_dom(&f->an), n.dom, n.blocks);
    compare_tree(f, an_postdom(&f->an), n.postdom, n.blocks);
    compare_loops(f, &n);
    compare_control(f, &n);
}

/* ---- random graphs --------------------------------------------------------------------------------------------- */

/* Mostly forward edges of short reach, some backward ones: shapes between straight code and chaos, by `chaos` percent. */
static void random_graph(Fixture *f, u32 blocks, u32 chaos)
{
    make_blocks(f, blocks);
    for (u32 a = 0; a < blocks; a++)
        for (u32 edges = random_below(10) < 9 ? 1 + random_below(3) / 2 + random_below(8) / 7 : 0; edges > 0; edges--) {
            u32 to = random_below(100) < chaos ? random_below(blocks) : a + 1 + random_below(3);
            if (to < blocks)
                edge(f, a, to);
        }
    an_compute(&f->an, AN_ORDER | AN_DOM | AN_POSTDOM | AN_LOOPS | AN_CONTROL);
}

static void random_graphs_agree_with_the_definitions(void **state)
{
    (void)state;
    for (u32 round = 0; round < 3000; round++) {
        Fixture f;
        random_state = round + 1;
        random_graph(&f, 1 + random_below(round < 2000 ? 10 : MAX), 5 + random_below(round % 2 ? 20 : 90));
        compare(&f);
        unload(&f);
    }
}

/* ---- shapes ---------------------------------------------------------------------------------------------------- */

static void chosen_graphs_agree_with_the_definitions(void **state)
{
    (void)state;
    static const struct {
        u32 blocks;
        const char *edges, *what;
    } shape[] = {
        {1, "", "one block"},
        {1, "0>0", "one infinite block"},
        {2, "0>1 0>1", "two edges to one block"},
        {3, "0>1 2>1", "an unreachable predecessor"},
        {4, "0>1 1>2 2>1 2>2 1>3", "a loop in a loop of one block"},
        {4, "0>1 1>0 2>3 3>2", "a loop at the entry, an unreachable one"},
        {3, "0>1 0>2 1>2 2>1", "entered at two places"},
        {5, "0>1 0>2 1>2 2>1 2>3 3>4 4>3", "irreducible, then infinite"},
        {6, "0>1 1>2 2>1 1>3 3>1 1>4 4>1 1>5", "three latches"},
        {6, "0>1 1>2 1>3 2>4 3>4 4>1 0>5", "an infinite loop with a diamond"},
        {7, "0>1 1>2 2>3 3>1 2>4 3>5 4>6 5>6", "two exits"},
        {7, "0>1 1>2 2>2 2>3 3>1 1>4 4>5 5>4 5>6", "loops in sequence and nested"},
        {6, "0>1 1>2 2>3 3>2 3>1 1>4 4>5 5>1", "one header, two loops through it"},
        {8, "0>1 1>2 1>3 2>4 3>5 4>5 5>4 4>1 5>6 0>7", "irreducible inside a loop"},
    };
    for (u32 k = 0; k < COUNT_OF(shape); k++) {
        Fixture f;
        make_graph(&f, shape[k].blocks, shape[k].edges);
        compare(&f);
        unload(&f);
    }
}

static void preheader_is_the_only_way_in(void **state)
{
    (void)state;
    static const struct {
        u32 blocks;
        const char *edges;
        i32 header, preheader; /* -1: none */
    } shape[] = {
        {4, "0>1 1>2 2>1 2>3", 1, 0},          {4, "0>1 0>3 1>2 2>1 2>3", 1, -1}, /* goes elsewhere too */
        {5, "0>1 0>2 1>3 2>3 3>3 3>4", 3, -1},                                    /* two edges in */
        {5, "0>1 0>4 1>2 2>3 3>2 3>4", 2, 1},  {3, "0>1 1>0 0>2", 0, -1},         /* the function's start is an edge in */
        {4, "0>1 1>1 1>2 3>1", 1, 0},                                             /* 3 is not reachable */
    };
    for (u32 k = 0; k < COUNT_OF(shape); k++) {
        Fixture f;
        make_graph(&f, shape[k].blocks, shape[k].edges);
        const Loop *loop = loop_of(an_loops(&f.an), block(&f, (u32)shape[k].header));
        assert_int_equal(loop->header->id, shape[k].header);
        assert_int_equal(loop->preheader ? (i32)loop->preheader->id : -1, shape[k].preheader);
        unload(&f);
    }
}

static void loops_share_and_nest(void **state)
{
    (void)state;
    Fixture f;
    make_graph(&f, 8, "0>1 1>2 2>3 3>2 3>1 1>4 4>5 5>4 5>6 6>7 6>6");
    const Loops *l = an_loops(&f.an);
    assert_int_equal(l->n, 4);
    const Loop *outer = loop_of(l, block(&f, 1)), *inner = loop_of(l, block(&f, 2));
    assert_ptr_equal(inner->parent, outer);
    assert_ptr_equal(loop_of(l, block(&f, 3)), inner);
    assert_int_equal(outer->block_count, 3);
    assert_int_equal(inner->latch_count, 1);
    assert_ptr_equal(inner->latches[0], block(&f, 3));
    assert_false(loop_contains(l, outer, block(&f, 4)));
    assert_null(loop_of(l, block(&f, 7)));
    assert_true(l->v[0]->parent == NULL);
    unload(&f);
}

static void later_blocks_are_nowhere(void **state)
{
    (void)state;
    Fixture f;
    make_graph(&f, 2, "0>1 1>1");
    an_freeze(&f.an, AN_LOOPS);
    Block *fresh = block_new(f.fn, 0);
    assert_false(order_reachable(an_order(&f.an), fresh));
    assert_false(dominates(an_dom(&f.an), f.fn->entry, fresh));
    assert_null(dom_nearest_common(an_dom(&f.an), f.fn->entry, fresh));
    assert_null(loop_of(an_loops(&f.an), fresh));
    assert_false(loop_contains(an_loops(&f.an), loop_of(an_loops(&f.an), block(&f, 1)), fresh));
    unload(&f);
}

static void an_edit_leaves_what_does_not_depend_on_it(void **state)
{
    (void)state;
    Fixture f;
    make_graph(&f, 3, "0>1 1>1 1>2");
    const DomTree *dom = an_dom(&f.an);
    an_compute(&f.an, AN_LIVE);
    fn_code_changed(f.fn);
    assert_int_equal(an_valid(&f.an), AN_ORDER | AN_DOM | AN_POSTDOM | AN_LOOPS | AN_CONTROL);
    assert_ptr_equal(an_dom(&f.an), dom);
    edge(&f, 2, 0);
    assert_int_equal(an_valid(&f.an), AN_NONE);
    assert_int_equal(an_loops(&f.an)->n, 2);
    assert_int_equal(an_valid(&f.an), AN_ORDER | AN_DOM | AN_LOOPS);
    an_compute(&f.an, AN_CONTROL);
    assert_int_equal(an_valid(&f.an), AN_ORDER | AN_DOM | AN_LOOPS | AN_POSTDOM | AN_CONTROL);
    unload(&f);
}

static void what_is_frozen_answers_for_before(void **state)
{
    (void)state;
    Fixture f;
    make_graph(&f, 3, "0>1 1>1 1>2");
    const Loops *loops = an_loops(&f.an);
    an_freeze(&f.an, AN_LOOPS);
    edge(&f, 2, 0);
    assert_ptr_equal(an_loops(&f.an), loops);
    assert_int_equal(loops->n, 1);
    an_thaw(&f.an, AN_ALL & ~AN_DOM); /* which loops do not outlive, but what it rests on does */
    assert_true(dominates(an_dom(&f.an), block(&f, 0), block(&f, 2)));
    assert_null(f.an.slot[ANALYSIS_LOOPS].result);
    assert_non_null(f.an.slot[ANALYSIS_ORDER].result);
    an_thaw(&f.an, AN_ALL);
    assert_int_equal(an_loops(&f.an)->n, 2);
    unload(&f);
}

static void a_thaw_forgets_what_is_out_of_date(void **state)
{
    (void)state;
    Fixture f;
    make_graph(&f, 3, "0>1 1>1 1>2");
    an_freeze(&f.an, AN_ALL);
    edge(&f, 2, 0);
    an_thaw(&f.an, AN_ALL);
    for (u32 k = 0; k < ANALYSES; k++) {
        assert_null(f.an.slot[k].result);
        assert_int_equal(f.an.slot[k].arena.reserved, 0);
    }
    unload(&f);
}

/* Computed before the edit, all that is frozen answers for the function from before it, and goes with the thaw. */
static void what_is_frozen_is_computed_before_the_edit(void **state)
{
    (void)state;
    Fixture f;
    make_graph(&f, 3, "0>1 1>1 1>2");
    an_freeze(&f.an, AN_FACTS);
    assert_null(f.an.slot[ANALYSIS_FACTS].result);
    an_compute_frozen(&f.an);
    const Facts *facts = f.an.slot[ANALYSIS_FACTS].result;
    const DomTree *dom = f.an.slot[ANALYSIS_DOM].result;
    assert_non_null(facts);
    edge(&f, 2, 0);
    assert_ptr_equal(an_facts(&f.an), facts);
    assert_ptr_equal(an_dom(&f.an), dom);
    assert_int_equal(an_valid(&f.an) & (AN_FACTS | AN_DOM), AN_NONE);
    an_thaw(&f.an, AN_ALL);
    assert_null(f.an.slot[ANALYSIS_FACTS].result);
    assert_null(analyses_stale(&f.an));
    unload(&f);
}

/* ---- size: nothing recurses, nothing is quadratic --------------------------------------------------------------- */

enum { MANY = 100000, NESTED = 10000 };

/* Each block branches on to the next one or away to the last. */
static void ladder_of_exits(void **state)
{
    (void)state;
    Fixture f;
    make_blocks(&f, MANY);
    for (u32 a = 0; a + 1 < MANY; a++) {
        edge(&f, a, a + 1);
        edge(&f, a, MANY - 1);
    }
    an_compute(&f.an, AN_DOM | AN_LOOPS | AN_CONTROL);
    assert_ptr_equal(an_dom(&f.an)->idom[MANY - 1], f.fn->entry);
    assert_ptr_equal(an_dom(&f.an)->idom[MANY - 2], block(&f, MANY - 3));
    assert_ptr_equal(an_postdom(&f.an)->idom[5], block(&f, MANY - 1));
    assert_ptr_equal(dom_nearest_common(an_dom(&f.an), block(&f, MANY - 2), block(&f, 77)), block(&f, 77));
    BlockVec on = {0};
    control_direct(an_control(&f.an), block(&f, 1000), &on);
    assert_int_equal(on.n, 1);
    vec_clear(&on);
    control_closure(an_control(&f.an), block(&f, 1000), &on);
    assert_int_equal(on.n, 1000);
    vec_free(&on);
    unload(&f);
}

/* do do do ... while while while: headers 0 .. n-1, latches n .. 2n-1, innermost first. */
static void nest_of_loops(void **state)
{
    (void)state;
    Fixture f;
    make_blocks(&f, 2 * NESTED + 1);
    for (u32 k = 0; k < 2 * NESTED; k++)
        edge(&f, k, k + 1);
    for (u32 k = 0; k < NESTED; k++)
        edge(&f, NESTED + k, NESTED - 1 - k);
    an_compute(&f.an, AN_DOM | AN_LOOPS | AN_CONTROL);
    assert_int_equal(an_loops(&f.an)->n, NESTED);
    assert_int_equal(an_loops(&f.an)->v[NESTED - 1]->depth, NESTED);
    assert_int_equal(an_loops(&f.an)->v[0]->block_count, 2 * NESTED);
    assert_int_equal(an_loops(&f.an)->irreducible, 0);
    BlockVec on = {0};
    control_closure(an_control(&f.an), block(&f, NESTED - 1), &on);
    assert_int_equal(on.n, NESTED);
    vec_free(&on);
    unload(&f);
}

/* One block with very many successors, each arm on to one join. */
static void fan(void **state)
{
    (void)state;
    Fixture f;
    make_blocks(&f, MANY);
    for (u32 a = 1; a + 1 < MANY; a++) {
        edge(&f, 0, a);
        edge(&f, a, MANY - 1);
    }
    an_compute(&f.an, AN_DOM | AN_LOOPS | AN_CONTROL);
    assert_ptr_equal(an_dom(&f.an)->idom[MANY - 1], f.fn->entry);
    assert_ptr_equal(an_postdom(&f.an)->idom[0], block(&f, MANY - 1));
    unload(&f);
}

static void assert_writes(Fixture *f, const char *header, const char *reg, u32 expected, const Instr *last)
{
    u32 writes;
    const Loop *loop = loop_headed_by(an_loops(&f->an), ptx_block(f->fn, header));
    assert_ptr_equal(loop_last_write(loop, ptx_reg(f->fn, reg), &writes), last);
    assert_int_equal(writes, expected);
}

/* The answers are kept for one loop at a time, until the code changes. */
static void writes_of_loops(void **state)
{
    (void)state;
    Fixture f;
    load_with(&f,
              PTX_HEAD ".entry f() { .reg .b32 %r<9>; .reg .pred %p<9>;\n"
                       "A: add.u32 %r1, %r1, 1; mov.u32 %r2, 0;\n"
                       "B: add.u32 %r2, %r2, 1; @%p2 add.u32 %r2, %r2, 2; @%p1 bra B;\n"
                       "C: @%p2 bra A; ret; }",
              AN_LOOPS);
    an_freeze(&f.an, AN_LOOPS);
    const Instr *step = ptx_block(f.fn, "A")->first, *first = ptx_block(f.fn, "B")->first;
    for (u32 round = 0; round < 2; round++) {
        assert_writes(&f, "A", "%r1", 1, step);
        assert_writes(&f, "A", "%r2", 3, first->next);
        assert_writes(&f, "B", "%r2", 2, first->next);
        assert_writes(&f, "B", "%r1", 0, NULL);
    }
    instr_remove(first->next);
    assert_writes(&f, "B", "%r2", 1, first);
    assert_writes(&f, "A", "%r2", 2, first);
    RegId made = reg_new(f.fn, TYPE_U32);
    u32 writes;
    assert_null(loop_last_write(loop_headed_by(an_loops(&f.an), ptx_block(f.fn, "A")), made, &writes));
    assert_int_equal(writes, 0);
    an_thaw(&f.an, AN_LOOPS);
    unload(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_graphs_agree_with_the_definitions),
        cmocka_unit_test(chosen_graphs_agree_with_the_definitions),
        cmocka_unit_test(preheader_is_the_only_way_in),
        cmocka_unit_test(loops_share_and_nest),
        cmocka_unit_test(later_blocks_are_nowhere),
        cmocka_unit_test(an_edit_leaves_what_does_not_depend_on_it),
        cmocka_unit_test(what_is_frozen_answers_for_before),
        cmocka_unit_test(a_thaw_forgets_what_is_out_of_date),
        cmocka_unit_test(what_is_frozen_is_computed_before_the_edit),
        cmocka_unit_test(ladder_of_exits),
        cmocka_unit_test(nest_of_loops),
        cmocka_unit_test(writes_of_loops),
        cmocka_unit_test(fan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
