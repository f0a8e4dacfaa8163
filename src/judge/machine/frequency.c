#include "judge/machine/frequency.h"

enum { NONE = SASS_NONE };

#define COLD_SHARE 0.03  /* of a branch that leads to a cold block, or is rare */
#define TABLE_SHARE 0.75 /* of each edge of a branch by a table */

/* An edge out of a loop, and how often a warp that enters the loop takes it. */
typedef struct Exit {
    int target;
    double weight;
} Exit;

typedef VEC(Exit) Exits;

/* A part that runs once in an iteration of a loop: a block, or a whole loop inside it. */
typedef struct Node {
    int block, loop; /* loop: NONE for a block */
} Node;

/* The function as a whole counts as the last loop. */
typedef struct Walk {
    const SassCode *code;
    const bool *cold;
    int whole;
    Node *nodes;     /* of each loop together, in reverse post-order */
    size_t *first;   /* by loop: of its nodes; one more at the end */
    Exits *exits;    /* by loop; the largest weight is 1 */
    double *share;   /* by block: per iteration of its innermost loop */
    double *entered; /* by loop: per iteration of the loop around it */
} Walk;

static int loop_of(const Walk *walk, int block)
{
    int loop = walk->code->blocks[block].loop;
    return loop == NONE ? walk->whole : loop;
}

static int parent_of(const Walk *walk, int loop)
{
    int parent = walk->code->loops[loop].parent;
    return parent == NONE ? walk->whole : parent;
}

static bool is_header(const Walk *walk, int block)
{
    int loop = walk->code->blocks[block].loop;
    return loop != NONE && walk->code->loops[loop].block == block;
}

static unsigned depth_of(const Walk *walk, int loop) { return loop == walk->whole ? 0 : walk->code->loops[loop].depth; }

/* The loop directly inside `loop` that holds the block, or `loop` itself; NONE where the block is outside. */
static int inside(const Walk *walk, int loop, int block)
{
    int at = loop_of(walk, block), child = at;
    while (at != walk->whole && depth_of(walk, at) > depth_of(walk, loop)) {
        child = at;
        at = parent_of(walk, at);
    }
    return at != loop ? NONE : child;
}

static void list_nodes(Walk *walk)
{
    const SassCode *code = walk->code;
    size_t *next = walk->first + 1; /* counts first, then places */
    for (int i = 0; i < code->reachable; i++)
        next[loop_of(walk, code->by_order[i])]++;
    for (size_t l = 0; l < code->loop_count; l++)
        next[parent_of(walk, (int)l)]++;
    size_t sum = 0;
    for (int l = 0; l <= walk->whole; l++) {
        size_t count = next[l];
        next[l] = sum;
        sum += count;
    }
    for (int i = 0; i < code->reachable; i++) {
        int block = code->by_order[i], loop = loop_of(walk, block);
        if (is_header(walk, block))
            walk->nodes[next[parent_of(walk, loop)]++] = (Node){block, loop};
        walk->nodes[next[loop]++] = (Node){block, NONE};
    }
}

/* Sends a share of an iteration of `loop` along an edge from a block of that order. */
static void send(Walk *walk, int loop, int target, double share)
{
    int child = inside(walk, loop, target);
    if (child == NONE)
        vec_push(&walk->exits[loop], ((Exit){target, share}));
    else if (child != loop)
        walk->entered[child] += share; /* reducible: by its header */
    else if (!is_header(walk, target))
        walk->share[target] += share;
}

static bool is_rare_edge(const Walk *walk, const SassBlock *block, int target)
{
    const SassInstr *last = &walk->code->instrs[block->last];
    return walk->cold[target] || (last->rare && sass_target_block(walk->code, last) == target);
}

/* Edges that stay in the loop take all of the block's runs, unless they are rare; those that leave it are the loop's exits. */
static void send_from(Walk *walk, int loop, int index)
{
    const SassBlock *block = &walk->code->blocks[index];
    double share = walk->share[index];
    double whole = block->out.n > 2 ? TABLE_SHARE : 1;
    unsigned staying = 0, rare = 0;
    for (u32 e = 0; e < block->out.n; e++) {
        bool stays = inside(walk, loop, block->out.v[e]) != NONE;
        staying += stays;
        rare += stays && is_rare_edge(walk, block, block->out.v[e]);
    }
    for (u32 e = 0; e < block->out.n; e++) {
        int target = block->out.v[e];
        if (inside(walk, loop, target) == NONE)
            send(walk, loop, target, is_rare_edge(walk, block, target) ? share * COLD_SHARE : share);
        else if (walk->code->blocks[target].order > block->order)
            send(walk, loop, target, share * (rare < staying && is_rare_edge(walk, block, target) ? COLD_SHARE : whole));
    }
}

/* How often the dominator of a block runs in an iteration of the loop; 1 where it is outside. */
static double dominator_share(const Walk *walk, int loop, int block)
{
    int above = walk->code->blocks[block].dominator, at = inside(walk, loop, above);
    if (at == NONE || above == block)
        return 1;
    return at == loop ? walk->share[above] : walk->entered[at];
}

static void walk_loop(Walk *walk, int loop)
{
    for (size_t n = walk->first[loop]; n < walk->first[loop + 1]; n++) {
        const Node *node = &walk->nodes[n];
        double *share = node->loop == NONE ? &walk->share[node->block] : &walk->entered[node->loop];
        double most = dominator_share(walk, loop, node->block);
        if (*share > most)
            *share = most;
        if (node->loop == NONE) {
            if (n == walk->first[loop])
                walk->share[node->block] = 1;
            send_from(walk, loop, node->block);
            continue;
        }
        if (n == walk->first[loop])
            walk->entered[node->loop] = 1; /* the function begins with a loop */
        for (u32 e = 0; e < walk->exits[node->loop].n; e++) {
            const Exit *exit = &walk->exits[node->loop].v[e];
            if (walk->code->blocks[exit->target].order > walk->code->blocks[node->block].order)
                send(walk, loop, exit->target, walk->entered[node->loop] * exit->weight);
        }
    }
    double most = 0;
    for (u32 e = 0; e < walk->exits[loop].n; e++)
        if (walk->exits[loop].v[e].weight > most)
            most = walk->exits[loop].v[e].weight;
    for (u32 e = 0; e < walk->exits[loop].n && most > 0; e++)
        walk->exits[loop].v[e].weight /= most;
}

/* Walks from the inside out for shares of an iteration, then from the outside in for how often the loops run. */
static void walk_all(Walk *walk, const double *iterations, double *frequency)
{
    const SassCode *code = walk->code;
    unsigned deepest = 0;
    for (size_t l = 0; l < code->loop_count; l++)
        if (code->loops[l].depth > deepest)
            deepest = code->loops[l].depth;
    for (unsigned depth = deepest; depth > 0; depth--)
        for (size_t l = 0; l < code->loop_count; l++)
            if (code->loops[l].depth == depth)
                walk_loop(walk, (int)l);
    walk_loop(walk, walk->whole);

    double *runs = walk->entered; /* becomes: iterations in all */
    runs[walk->whole] = 1;
    for (unsigned depth = 1; depth <= deepest; depth++)
        for (size_t l = 0; l < code->loop_count; l++)
            if (code->loops[l].depth == depth)
                runs[l] *= runs[parent_of(walk, (int)l)] * iterations[l];
    for (int b = 0; b < code->block_count; b++)
        frequency[b] = code->blocks[b].order == NONE ? 0 : walk->share[b] * runs[loop_of(walk, b)];
}

void sass_frequencies(const SassCode *code, const double *iterations, const bool *cold, double *frequency)
{
    Arena arena = {0};
    size_t loops = code->loop_count + 1, blocks = (size_t)code->block_count;
    Walk walk = {.code = code, .cold = cold, .whole = (int)code->loop_count};
    walk.nodes = arena_array(&arena, Node, blocks + loops);
    walk.first = arena_array(&arena, size_t, loops + 1);
    walk.exits = arena_array(&arena, Exits, loops);
    walk.share = arena_array(&arena, double, blocks);
    walk.entered = arena_array(&arena, double, loops);
    if (blocks) {
        list_nodes(&walk);
        walk_all(&walk, iterations, frequency);
    }
    for (size_t l = 0; l < loops; l++)
        vec_free(&walk.exits[l]);
    arena_free(&arena);
}
