/* Loops that poll: by weak loads too, of addresses and by flags that are computed in the loop, through memory of the thread, through
 * callees, and beside a counter, which never comes to its end. */
#include "gen.h"

enum { POLLS_MOST = 20000 /* more than any kernel needs until somebody stores */ };

static const char *const load_kind[] = {".shared", ".volatile.shared", ".relaxed.cta.shared", ".weak.shared"};

/* Loads the flag into `seen`, by its address or by the offset from %flags. */
static void load_flag(Gen *g, Reg seen, Reg at, u32 offset)
{
    const char *kind = load_kind[below(g, COUNT_OF(load_kind))];
    switch (below(g, 7)) {
    case 0: line(g, "call (%s), look_function, (%s);", NAME(seen), NAME(at)); break;
    case 1: line(g, "call (%s), peek_function, (%s);", NAME(seen), NAME(at)); break;
    case 2:
        line(g, "add.s32 %s, %%flags, %u;", NAME(at), offset);
        line(g, "ld%s.u32 %s, [%s];", kind, NAME(seen), NAME(at));
        break;
    case 3:
        line(g, "ld.local.u32 %s, [kept+4];", NAME(at));
        line(g, "ld%s.u32 %s, [%s];", kind, NAME(seen), NAME(at));
        break;
    case 4:
        line(g, "ld%s.u32 %s, [%%flags+%u];", kind, NAME(seen), offset);
        line(g, "st.local.u32 [kept], %s;", NAME(seen));
        line(g, "ld.local.u32 %s, [kept];", NAME(seen));
        break;
    default: line(g, "ld%s.u32 %s, [%%flags+%u];", kind, NAME(seen), offset);
    }
}

/* Sets the flag `met` if what was seen ends the loop, and `again` if it does not. */
static void test_flag(Gen *g, Reg seen, Reg met, Reg again)
{
    u32 kind = below(g, 4);
    if (kind == 0) {
        line(g, "setp.lt.s32 %s, %s, %%epoch;", NAME(again), NAME(seen));
        line(g, "selp.u32 %s, 0, 1, %s;", NAME(met), NAME(again));
        return;
    }
    line(g, "setp.ge.s32 %s, %s, %%epoch;", NAME(again), NAME(seen));
    if (kind == 1) {
        line(g, "@%s mov.u32 %s, 1;", NAME(again), NAME(met));
    } else if (kind == 2) {
        line(g, "selp.u32 %s, 1, %s, %s;", NAME(met), NAME(met), NAME(again));
    } else {
        Label next = label_fresh(g);
        line(g, "@!%s bra %s;", NAME(again), next.name);
        line(g, "mov.u32 %s, 1;", NAME(met));
        label_here(g, &next);
    }
    line(g, "setp.eq.s32 %s, %s, 0;", NAME(again), NAME(met));
}

void poll_flag(Gen *g, u32 offset)
{
    Label top = label_fresh(g), out = label_fresh(g);
    Reg seen = fresh(g, P_TEMP32), at = fresh(g, P_TEMP32), met = fresh(g, P_TEMP32), again = fresh(g, P_PRED),
        count = fresh(g, P_TEMP32), r = pick_defined(g, P_32);
    bool counts = percent(g, 40);
    line(g, "add.s32 %s, %%flags, %u;", NAME(at), offset);
    line(g, "st.local.u32 [kept+4], %s;", NAME(at));
    line(g, "mov.u32 %s, 0;", NAME(met));
    if (counts)
        line(g, "mov.u32 %s, 0;", NAME(count));
    label_here(g, &top);
    load_flag(g, seen, at, offset);
    test_flag(g, seen, met, again);
    if (counts) {
        line(g, "@!%s bra %s;", NAME(again), out.name);
        line(g, "add.s32 %s, %s, 1;", NAME(count), NAME(count));
        line(g, "setp.lt.s32 %s, %s, %u;", NAME(again), NAME(count), POLLS_MOST);
    }
    line(g, "@%s bra %s;", NAME(again), top.name);
    label_here(g, &out);
    line(g, "add.s32 %s, %s, %s;", NAME(r), NAME(r), NAME(met));
}

void poll_declarations(Text *module)
{
    text_printf(module,
                ".global .align 4 .b32 posted[8];\n"
                "\n.func (.reg .b32 %%seen) peek_function(.reg .b32 %%at)\n{\n\tld.shared.u32 %%seen, [%%at];\n\tret;\n}\n"
                "\n.func (.reg .b32 %%seen) look_function(.reg .b32 %%at)\n{\n\tcall (%%seen), peek_function, (%%at);\n"
                "\tret;\n}\n");
}

/* Block 1 reads what block 0 has posted: one of its threads polls for that, a barrier brings the others to it. It answers behind another
 * barrier, and what was posted is written over. */
void poll_prologue(Gen *g)
{
    static const char *const strength[] = {"global.cg", "volatile.global", "global"};
    const char *poll = strength[below(g, 3)], *answer = strength[below(g, 3)];
    text_printf(g->text,
                "\tmov.u32 %%q1, 77;\n\tmov.u32 %%q0, %%ctaid.x;\n\tsetp.eq.s32 %%other, %%q0, 0;\n\t@%%other bra POST;\n"
                "\tsetp.ne.s32 %%other, %%q0, 1;\n\t@%%other bra POSTED;\n\t@!%%first bra MEET;\n");
    text_printf(g->text, "AWAIT:\n\tld.%s.u32 %%q0, [posted];\n\tsetp.ne.s32 %%other, %%q0, 1;\n\t@%%other bra AWAIT;\n",
                poll);
    text_printf(g->text,
                "MEET:\n\tbar.sync 0;\n\tld.global.u32 %%q1, [posted+4];\n\tbar.sync 0;\n"
                "\t@%%first st.%s.u32 [posted+8], 1;\n\tbra POSTED;\n",
                answer);
    text_printf(g->text,
                "POST:\n\t@!%%first bra POSTED;\n\tst.global.u32 [posted+4], 77;\n\tst.volatile.global.u32 [posted], 1;\n"
                "\tmov.u32 %%q0, %%nctaid.x;\n\tsetp.eq.s32 %%other, %%q0, 1;\n\t@%%other bra POSTED;\n"
                "ANSWERED:\n\tld.volatile.global.u32 %%q0, [posted+8];\n\tsetp.ne.s32 %%other, %%q0, 1;\n"
                "\t@%%other bra ANSWERED;\n\tst.global.u32 [posted+4], 78;\nPOSTED:\n\tst.global.u32 [%%out+124], %%q1;\n");
}
