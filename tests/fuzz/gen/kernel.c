#include "gen.h"
#include "function.h"

void function_begin(Gen *g)
{
    g->text = mem_zalloc(sizeof *g->text);
    g->deferred = (Text){0};
    g->state = (State){0};
    g->level = DIVERGENT;
    g->loops = g->depth = g->scope_depth = g->dones = 0;
    for (u32 i = 0; i < POOLS; i++)
        g->next[i] = pool_named[i];
}

void function_end(Gen *g, Text *module, const char *declarations)
{
    text_printf(module, "{\n%s", declarations);
    for (u32 i = P_NONE + 1; i < POOLS; i++)
        if (g->next[i])
            text_printf(module, "\t.reg %s %s<%u>;\n", pool_type[i], pool_stem[i], g->next[i]);
    text_printf(module, "\n");
    text_append(module, g->text->v, g->text->n);
    text_append(module, g->deferred.v, g->deferred.n);
    text_printf(module, "}\n");
    vec_free(g->text);
    mem_free(g->text);
    g->text = NULL;
    vec_free(&g->deferred);
}

/* ---- the kernel's begin and end --------------------------------------------------------------------------------- */

static const char kernel_declarations[] =
    "\t.reg .b32 %lin, %nt, %lane, %warp, %wbase, %wcount, %wlast, %wmask, %own0, %own1, %own3, %q0, %q1, %q2;\n"
    "\t.reg .b64 %in, %fin, %out, %cnt, %scratch, %own2, %qd;\n"
    "\t.reg .pred %first, %other;\n\t.reg .b32 %flags, %epoch;\n\t.local .align 4 .b32 stack[4], kept[2];\n";

static const char kernel_prologue[] =
    "\tld.param.u64 %in, [in];\n\tld.param.u64 %fin, [fin];\n\tld.param.u64 %out, [out];\n\tld.param.u64 %cnt, [cnt];\n"
    "\tld.param.u64 %scratch, [scratch];\n"
    "\tmov.u32 %q0, %tid.x;\n\tmov.u32 %q1, %tid.y;\n\tmov.u32 %q2, %ntid.x;\n\tmad.lo.u32 %lin, %q1, %q2, %q0;\n"
    "\tmov.u32 %q0, %ntid.y;\n\tmul.lo.u32 %nt, %q0, %q2;\n"
    "\tmov.u32 %q1, %ctaid.x;\n\tmad.lo.u32 %q2, %q1, %nt, %lin;\n\tmul.wide.u32 %qd, %q2, 128;\n\tadd.s64 %out, %out, "
    "%qd;\n"
    "\tmul.wide.u32 %qd, %q1, 1024;\n\tadd.s64 %scratch, %scratch, %qd;\n\tmul.wide.u32 %qd, %lin, 4;\n"
    "\tadd.s64 %own2, %scratch, %qd;\n"
    "\tand.b32 %lane, %lin, 31;\n\tshr.u32 %warp, %lin, 5;\n\tshl.b32 %wbase, %warp, 5;\n\tsub.s32 %wcount, %nt, %wbase;\n"
    "\tmin.u32 %wcount, %wcount, 32;\n\tsub.s32 %wlast, %wcount, 1;\n\tmov.u32 %q0, 1;\n\tshl.b32 %wmask, %q0, %wcount;\n"
    "\tsub.s32 %wmask, %wmask, 1;\n\tsetp.eq.s32 %first, %lin, 0;\n";

static void share_arrays(Gen *g)
{
    for (u32 i = 0; i < ARRAYS; i++) {
        if (i != 2) {
            text_printf(g->text, "\tmov.u32 %%q0, array%u;\n\tmad.lo.u32 %%own%u, %%lin, 4, %%q0;\n", i, i);
            text_printf(g->text, "\tst.shared.u32 [%%own%u], %%lin;\n", i);
        } else {
            text_printf(g->text, "\tst.global.u32 [%%own2], %%q2;\n");
        }
        g->state.pending[i] = OWN_WRITE;
    }
}

/* %q2 is the thread's number in the grid. One register of each pool stays undefined. */
static void first_values(Gen *g)
{
    Text *t = g->text;
    for (u32 i = 0; i + 1 < pool_named[P_32]; i++)
        if (i % 3 == 0)
            text_printf(t, "\tmad.lo.s32 %%r%u, %%q2, %u, %u;\n", i, 1 + below(g, 9), below(g, 50));
        else
            text_printf(t,
                        "\tmad.lo.u32 %%q0, %%q2, %u, %u;\n\tand.b32 %%q0, %%q0, 1023;\n\tmul.wide.u32 %%qd, %%q0, 4;\n"
                        "\tadd.s64 %%qd, %%qd, %%in;\n\tld.global.u32 %%r%u, [%%qd];\n",
                        3 + below(g, 9), below(g, 900), i);
    for (u32 i = 0; i + 1 < pool_named[P_16]; i++)
        text_printf(t, "\tcvt.u16.u32 %%rs%u, %%r%u;\n", i, i + 1);
    for (u32 i = 0; i + 1 < pool_named[P_64]; i++)
        text_printf(t, "\tmul.wide.s32 %%rd%u, %%r%u, %%r%u;\n", i, i, i + 3);
    for (u32 i = 0; i + 1 < pool_named[P_F32]; i++)
        text_printf(t,
                    "\tadd.s32 %%q0, %%q2, %u;\n\tand.b32 %%q0, %%q0, 255;\n\tmul.wide.u32 %%qd, %%q0, 4;\n"
                    "\tadd.s64 %%qd, %%qd, %%fin;\n\tld.global.f32 %%f%u, [%%qd];\n",
                    below(g, 200), i);
    for (u32 i = 0; i + 1 < pool_named[P_F64]; i++)
        text_printf(t, "\tcvt.f64.f32 %%fd%u, %%f%u;\n", i, i);
    for (u32 i = 0; i + 1 < pool_named[P_PRED]; i++)
        text_printf(t, "\tsetp.%s.s32 %%p%u, %%r%u, %d;\n", i & 1 ? "gt" : "lt", i, i, (int)between(g, -3, 20));
    text_printf(
        t,
        "\tld.param.u32 %%u0, [p0];\n\tld.param.u32 %%u1, [p1];\n\tmov.u32 %%u2, %%ctaid.x;\n\tmov.u32 %%u3, %%nt;\n"
        "\tsetp.gt.u32 %%up0, %%u0, %u;\n\tmov.u32 %%w0, %%warp;\n\txor.b32 %%w1, %%warp, %%u1;\n"
        "\tmov.u32 %%w2, %%wcount;\n\tsetp.lt.u32 %%wp0, %%w0, 1;\n",
        below(g, 9));
    for (u32 i = P_PRED; i <= P_WARPPRED; i++)
        g->state.pool[i].defined = (1u << (pool_named[i] - 1)) - 1;
}

/* Everything that is defined goes to the thread's slots: 0-9 %r, 10-11 %rd, 12 %rs, 13 %f and %fd, 14 predicates, 15 the
 * uniform ones. Statements store to the slots 16-31. */
static void last_values(Gen *g)
{
    Text *t = g->text;
    text_printf(t, "\tmov.u64 %%qd, 1;\n\tmov.u32 %%q0, 1;\n");
    for (u32 p = P_PRED; p <= P_WARPPRED; p++) {
        u32 slot = p == P_PRED ? 14 : p == P_16 ? 12 : p == P_F32 ? 13 : 15;
        for (u32 i = 0; i < pool_named[p]; i++) {
            Reg r = {(u8)p, (u16)i};
            if (!(g->state.pool[p].defined >> i & 1))
                continue;
            if (p == P_32) {
                text_printf(t, "\tst.global.u32 [%%out+%u], %s;\n", i * 4, NAME(r));
                continue;
            }
            if (p == P_64) {
                text_printf(t, "\tmad.lo.s64 %%qd, %%qd, 31, %s;\n", NAME(r));
                continue;
            }
            if (p == P_PRED || p == P_CTAPRED || p == P_WARPPRED)
                text_printf(t, "\tselp.u32 %%q1, 1, 0, %s;\n", NAME(r));
            else if (p == P_16)
                text_printf(t, "\tcvt.u32.u16 %%q1, %s;\n", NAME(r));
            else if (p == P_F64)
                text_printf(t, "\tcvt.rn.f32.f64 %%f0, %s;\n\tmov.b32 %%q1, %%f0;\n", NAME(r));
            else
                text_printf(t, "\tmov.b32 %%q1, %s;\n", NAME(r));
            text_printf(t, "\tmad.lo.u32 %%q0, %%q0, 31, %%q1;\n");
        }
        if (p == P_PRED || p == P_16 || p == P_F64 || p == P_WARPPRED)
            text_printf(t, "\tst.global.u32 [%%out+%u], %%q0;\n\tmov.u32 %%q0, 1;\n", (p == P_F64 ? 13 : slot) * 4);
    }
    text_printf(t, "\tst.global.u64 [%%out+40], %%qd;\n");
}

static void write_kernel(Gen *g, Text *module, u32 size)
{
    text_printf(module, "\n.visible .entry kernel(\n\t.param .u64 in, .param .u64 fin, .param .u64 out, .param .u64 cnt,\n"
                        "\t.param .u64 scratch, .param .u32 p0, .param .u32 p1)\n");
    if (g->block.x)
        text_printf(module, ".reqntid %u, %u, 1\n", g->block.x, g->block.y);
    function_begin(g);
    g->in_function = false;
    g->level = CTA_UNIFORM;
    g->budget = (i32)size;
    text_append(g->text, kernel_prologue, sizeof kernel_prologue - 1);
    for (u32 i = 0; i < 4; i++)
        text_printf(g->text, "\tst.local.u32 [stack+%u], %%lin;\n", i * 4);
    if (g->may_sync)
        share_arrays(g);
    wait_prologue(g);
    first_values(g);
    local_prologue(g);
    while (g->budget > 0)
        statements(g, 1);
    last_values(g);
    text_printf(g->text, "\tret;\n");
    function_end(g, module, kernel_declarations);
}

/* ---- the launch ------------------------------------------------------------------------------------------------- */

static void write_launch(Gen *g, Text *t, const char *label, Shape s)
{
    u32 threads = s.grid * s.x * s.y;
    text_printf(t, "launch %s\nbuffer in s32 1088 random %u -20 40\n", label, below(g, 1000));
    text_printf(t, "buffer fin u32 256 values 0x3f000000 0x7fc00000 0x3f800000 0xbf800000 0x00000000 0x80000000 0x7f800000 "
                   "0x40490fdb 0xc2c80000 0x00000001 0x3f000000\n");
    text_printf(t, "buffer out u32 %u zero\nbuffer cnt u32 16 zero\nbuffer scratch u32 %u zero\n", threads * 32,
                s.grid * 256);
    text_printf(t, "kernel kernel\ngrid %u 1 1\nblock %u %u 1\n", s.grid, s.x, s.y);
    text_printf(t, "arg ptr in\narg ptr fin\narg ptr out\narg ptr cnt\narg ptr scratch\narg u32 %u\narg u32 %u\n",
                below(g, 12), below(g, 12));
    text_printf(t, "output out\noutput cnt\noutput scratch\n\n");
}

static void write_launches(Gen *g, Text *t)
{
    static const Shape whole[] = {{1, 64, 1}, {2, 32, 1}, {1, 16, 4}, {1, 96, 1}},
                       any[] = {{1, 45, 1}, {2, 7, 5}, {1, 70, 1}, {3, 1, 1}, {1, 33, 2}};
    Shape first = g->whole_warps ? whole[below(g, 4)] : any[below(g, 5)];
    Shape second = g->whole_warps || percent(g, 50) ? whole[below(g, 4)] : any[below(g, 5)];
    text_printf(t, "# Launches for a generated kernel.\n");
    write_launch(g, t, "first", g->block.x ? g->block : first);
    write_launch(g, t, "second", g->block.x ? g->block : second);
}

/* Blocks of one shape, which the kernel's text says, let more be proven; else block.x stays 0. Some are one warp, or a part. */
static void choose_block(Gen *g)
{
    static const Shape whole[] = {{2, 64, 1}, {1, 96, 1}, {1, 16, 4}, {3, 32, 1}, {2, 8, 4}},
                       any[] = {{2, 45, 1}, {1, 70, 1}, {2, 7, 5}, {2, 20, 1}, {2, 5, 3}};
    if (percent(g, 40))
        g->block = g->whole_warps ? whole[below(g, 5)] : any[below(g, 5)];
}

/* ---- all of it -------------------------------------------------------------------------------------------------- */

static u64 choose_features(Gen *g, const GenOptions *options)
{
    u64 set = options->features;
    u32 drop = options->mix ? 10 * below(g, 7) : 0; /* per cent of them */
    for (u32 i = 0; i < GEN_FEATURES; i++)
        if (percent(g, drop))
            set &= ~((u64)1 << i);
    return set;
}

void ptxgen(const GenOptions *options, Text *ptx, Text *launch)
{
    static const u32 targets[] = {75, 80, 80, 86, 90};
    Gen g = {.random = {options->seed * 0x2545f4914f6cdd1du + 1}};
    g.features = choose_features(&g, options);
    g.target = targets[below(&g, COUNT_OF(targets))];
    g.may_sync = has(&g, GEN_BARRIER) || has(&g, GEN_WARP) ? percent(&g, 85) : false;
    g.whole_warps = percent(&g, 50);
    g.plain_barriers = percent(&g, 60);
    choose_block(&g);
    text_printf(ptx, "// ptxgen --seed=%llu --size=%u\n", (unsigned long long)options->seed, options->size);
    g.old_isa = has(&g, GEN_SEEN) && percent(&g, 25);
    if (g.old_isa)
        g.target = 70;
    text_printf(ptx, ".version %s\n.target sm_%u\n.address_size 64\n\n", g.old_isa ? "6.3" : "8.0", g.target);
    text_printf(ptx, ".const .align 4 .b32 table[16] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, -3};\n");
    if (g.may_sync)
        text_printf(ptx, ".shared .align 4 .b32 array0[256];\n.shared .align 4 .b32 array1[256];\n"
                         ".shared .align 4 .b32 array3[256];\n");
    bool may_sync = g.may_sync;
    g.has_flags = may_sync && (has(&g, GEN_SPIN) || has(&g, GEN_WAIT_CALL));
    wait_declarations(&g, ptx);
    local_declarations(&g, ptx);
    g.may_sync = false; /* in functions */
    g.may_exit = !may_sync;
    write_callees(&g, ptx);
    g.may_sync = may_sync;
    write_kernel(&g, ptx, options->size);
    if (has(&g, GEN_LINES))
        text_printf(ptx, "\n.file 1 \"kernel.cu\"\n");
    if (launch)
        write_launches(&g, launch);
}

u32 ptxgen_feature(const char *name, size_t len)
{
    static const char *const names[] = {
#define FEATURE(id, name, what) name,
#include "../features.def"
#undef FEATURE
    };
    for (u32 i = 0; i < GEN_FEATURES; i++)
        if (strlen(names[i]) == len && memcmp(names[i], name, len) == 0)
            return i;
    return GEN_FEATURES;
}

bool ptxgen_features(const char *list, u64 *set)
{
    *set = 0;
    while (*list) {
        size_t len = strcspn(list, ",");
        u32 feature = ptxgen_feature(list, len);
        if (feature == GEN_FEATURES) {
            fprintf(stderr, "ptxgen: no such feature: %.*s\n", (int)len, list);
            return false;
        }
        *set |= (u64)1 << feature;
        list += len + (list[len] == ',');
    }
    return true;
}
