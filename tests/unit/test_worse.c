/* The definition of worse, on cubins made by hand, and the reader of cubins on those that are broken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "cubin_made.h"
#include "judge/machine/worse.h"

#define KERNEL(...)                                                                                               \
    {                                                                                                             \
        .code = (const Made[]){__VA_ARGS__}, .count = sizeof(Made[]){__VA_ARGS__} / sizeof(Made), .registers = 32 \
    }

/* The code of a kernel while it is written. */
typedef struct Written {
    Made code[MADE_INSTRS];
    size_t count;
} Written;

static void put(Written *w, Made made)
{
    assert_true(w->count < MADE_INSTRS);
    w->code[w->count++] = made;
}

/* Appends a conditional branch to the instruction with this number. */
static void branch_to(Written *w, size_t to) { put(w, BRANCH_IF((int16_t)((int)to - (int)w->count))); }

/* Appends a loop of so many instructions of two kinds. */
static void add_loop(Written *w, Made one, unsigned ones, Made other, unsigned others)
{
    size_t first = w->count;
    for (unsigned k = 0; k < ones + others; k++)
        put(w, k < ones ? one : other);
    branch_to(w, first);
}

/* Appends a loop that shifts a counter, or so many of its iterations, which need none. */
static void add_rounds(Written *w, bool are_copies, int rounds)
{
    if (!are_copies)
        add_loop(w, SHUFFLE(9), 1, ALU(4), 3);
    for (int k = 0; are_copies && k < rounds; k++) {
        put(w, SHUFFLE(9));
        put(w, ALU(4));
    }
}

static MadeKernel kernel_of(const Written *w) { return (MadeKernel){.code = w->code, .count = w->count, .registers = 32}; }

static Cubin open_made(const MadeKernel *kernel)
{
    Cubin cubin;
    MadeFile file = made_cubin(kernel);
    const char *fault = cubin_read(&cubin, file.bytes, file.size);
    if (fault)
        fail_msg("%s", fault);
    return cubin;
}

static Judgement judge(const MadeKernel *before, const MadeKernel *after)
{
    Cubin old = open_made(before), new = open_made(after);
    Unit was, is;
    Judgement judgement;
    assert_true(unit_read(&was, &old, 0));
    assert_true(unit_read(&is, &new, 0));
    worse_judge(&judgement, &was, &is);
    unit_free(&was);
    unit_free(&is);
    cubin_close(&old);
    cubin_close(&new);
    return judgement;
}

static unsigned worse(const MadeKernel *before, const MadeKernel *after) { return judge(before, after).worse; }

static void nothing_moved(void **state)
{
    (void)state;
    MadeKernel k = KERNEL(LOAD(4), FFMA(4), STORE(2), LEAVE);
    Judgement j = judge(&k, &k);
    assert_false(j.changed || j.better || j.worse);
    assert_string_equal(worse_describe(NULL, &j), "nothing");
}

static void spills(void **state)
{
    (void)state;
    MadeKernel without = KERNEL(LOAD(4), ALU(1), FFMA(4), STORE(2), LEAVE);
    MadeKernel with = KERNEL(LOAD(4), SPILL(1), FFMA(4), STORE(2), LEAVE);
    assert_int_equal(worse(&without, &with), WORSE_SPILLS);
    assert_int_equal(worse(&with, &without), 0);
    assert_true(judge(&with, &without).better);
    assert_int_equal(worse(&with, &with), 0);
}

/* ptxas writes the size of its notes with sixteen bits: after 65536 bytes they begin anew. */
static void spills_without_notes(void **state)
{
    (void)state;
    static Made code[8193];
    for (size_t i = 0; i < COUNT_OF(code); i++)
        code[i] = i + 1 < COUNT_OF(code) ? REFILL(1) : LEAVE;
    MadeKernel many = {.code = code, .count = COUNT_OF(code), .registers = 32};
    MadeKernel few = {.code = code + 1, .count = COUNT_OF(code) - 1, .registers = 32};
    Judgement j = judge(&few, &many);
    assert_int_equal(j.moved.spilled[0], 0);
    assert_int_equal(j.moved.spilled[1], 8192); /* made refills are of one byte */
    assert_true(j.worse & WORSE_SPILLS);
}

/* Once ptxas obeys setmaxnreg, the registers are the author's business; that it no longer does is worse by a rule of its own. */
static void registers_that_move(void **state)
{
    (void)state;
    MadeKernel ignores = KERNEL(LOAD(4), STORE(2), LEAVE), obeys = KERNEL(RESIZE(15), LOAD(4), RESIZE(15), STORE(2), LEAVE);
    MadeKernel spills = KERNEL(RESIZE(15), LOAD(4), SPILL(1), STORE(2), LEAVE);
    obeys.registers = spills.registers = 168;
    Judgement forth = judge(&ignores, &obeys), back = judge(&obeys, &ignores);
    assert_int_equal(forth.worse, 0);
    assert_true(forth.better);
    assert_true(back.worse & WORSE_SETMAXNREG);
    assert_int_equal(worse_order(&forth, &back), 1);
    assert_int_equal(worse(&ignores, &spills), WORSE_SPILLS);
    obeys.registers = 176;
    assert_int_equal(worse(&spills, &obeys) & WORSE_SETMAXNREG, 0);
}

/* A block size that only the later text knows was promised, and holds for the earlier one, too. */
static void warps_by_later_size(void **state)
{
    (void)state;
    MadeKernel before = KERNEL(LOAD(4), LEAVE), after = before;
    before.registers = 40;
    after.registers = 41;
    after.threads = 640;
    assert_int_equal(worse(&before, &after), 0);
}

static void warps_by_registers(void **state)
{
    (void)state;
    MadeKernel before = KERNEL(LOAD(4), LEAVE), after = before;
    after.registers = 33; /* 40 are given out */
    assert_int_equal(worse(&before, &after), WORSE_WARPS);
    assert_true(judge(&after, &before).better);
    before.registers = 25; /* as many are given out as for 32 */
    after.registers = 32;
    assert_int_equal(worse(&before, &after), 0);
    before.registers = 33;
    after.registers = 40;
    assert_int_equal(worse(&before, &after), 0);
}

static void warps_by_size_of_block(void **state)
{
    (void)state;
    MadeKernel before = KERNEL(LOAD(4), LEAVE), after = before;
    before.registers = 40;
    after.registers = 41; /* 48 warps, or 40 */
    assert_int_equal(worse(&before, &after), WORSE_WARPS);
    before.threads = after.threads = 640; /* two blocks of 20 warps, either way */
    assert_int_equal(worse(&before, &after), 0);
    before.threads = after.threads = 32; /* no more than 32 blocks */
    assert_int_equal(worse(&before, &after), 0);
}

static void warps_by_shared_memory(void **state)
{
    (void)state;
    MadeKernel before = KERNEL(LOAD(4), LEAVE), after = before;
    before.shared = 20 * 1024;
    after.shared = 30 * 1024;
    assert_int_equal(worse(&before, &after), WORSE_WARPS);
    before.shared = 100;
    after.shared = 2000; /* 54 blocks would fit */
    assert_int_equal(worse(&before, &after), 0);
}

/* Objects for the linker hold no bytes of variables either, whatever their size. */
static void warps_by_shared_memory_of_objects(void **state)
{
    (void)state;
    MadeKernel before = KERNEL(LOAD(4), LEAVE), after = before;
    before.for_linker = after.for_linker = true;
    before.shared = 20 * 1024;
    after.shared = 30 * 1024;
    assert_int_equal(worse(&before, &after), WORSE_WARPS);
    assert_int_equal(worse(&after, &before), 0);
}

static void warps_by_barriers(void **state)
{
    (void)state;
    MadeKernel before = KERNEL(LOAD(4), LEAVE), after = before;
    before.barriers = 1;
    after.barriers = 5;
    assert_int_equal(worse(&before, &after), WORSE_WARPS);
    after.barriers = 4; /* 16 blocks of 128 threads are 64 warps */
    assert_int_equal(worse(&before, &after), 0);
}

static void cycles(void **state)
{
    (void)state;
    MadeKernel before = KERNEL(ALU(15), ALU(15), ALU(15), ALU(15), ALU(15), ALU(15), ALU(15), ALU(14), LEAVE);
    MadeKernel after = KERNEL(ALU(15), ALU(15), ALU(15), ALU(15), ALU(15), ALU(15), ALU(15), ALU(15), LEAVE);
    assert_int_equal(worse(&before, &after), 0); /* 1 of 120 */
    after.code = (const Made[]){ALU(15), ALU(15), ALU(15), ALU(15), ALU(15), ALU(15), ALU(15), ALU(15), ALU(2), LEAVE};
    after.count = 10;
    assert_int_equal(worse(&before, &after), WORSE_CYCLES | WORSE_INSTRUCTIONS);
    assert_true(judge(&after, &before).better);
}

/* A load is waited for once, whether lanes part or all take one side. */
static void waits_on_two_paths(void **state)
{
    (void)state;
    MadeKernel before = KERNEL(LOAD_TO(0), FFMA_AFTER(0), BRANCH_IF(3), FFMA(4), FFMA(4), FFMA(4), LEAVE);
    MadeKernel twice = KERNEL(LOAD_TO(0), BRANCH_IF(3), FFMA_AFTER(0), FFMA(4), FFMA_AFTER(0), FFMA(4), LEAVE);
    MadeKernel after = KERNEL(LOAD_TO(0), BRANCH_IF(3), FFMA(4), FFMA(4), FFMA_AFTER(0), FFMA(4), LEAVE);
    MadeKernel never = KERNEL(LOAD_TO(0), BRANCH_IF(3), FFMA(4), FFMA(4), FFMA(4), FFMA(4), LEAVE);
    assert_int_equal(worse(&before, &twice), 0);
    assert_int_equal(worse(&twice, &after), 0);
    assert_int_equal(worse(&never, &after), WORSE_CYCLES);
    assert_int_equal(worse(&never, &twice), WORSE_CYCLES);
}

/* The second arm ends before what was loaded in front of the branch is there. */
static void waits_after_short_arms(void **state)
{
    (void)state;
    MadeKernel late = KERNEL(BRANCH_IF(3), FFMA(4), BRANCH(3), LOAD_TO(0), FFMA(4), FFMA_AFTER(0), LEAVE);
    MadeKernel never = KERNEL(BRANCH_IF(3), FFMA(4), BRANCH(3), LOAD_TO(0), FFMA(4), FFMA(4), LEAVE);
    assert_int_equal(worse(&never, &late), WORSE_CYCLES);
}

static void instructions(void **state)
{
    (void)state;
    MadeKernel before = KERNEL(LOAD(4), ALU(4), FFMA(4), STORE(2), LEAVE);
    MadeKernel after = KERNEL(LOAD(4), ALU(2), ALU(2), FFMA(4), STORE(2), LEAVE);
    assert_int_equal(worse(&before, &after), WORSE_INSTRUCTIONS);
    assert_true(judge(&after, &before).better);
    MadeKernel faster = KERNEL(LOAD(4), ALU(1), ALU(1), FFMA(4), STORE(2), LEAVE);
    assert_int_equal(worse(&before, &faster), 0);
}

/* Spills come before warps, warps before cycles that they do not outweigh. */
static void order(void **state)
{
    (void)state;
    MadeKernel spills = KERNEL(LOAD(4), SPILL(1), FFMA(4), STORE(2), LEAVE),
               slow = KERNEL(LOAD(4), FFMA(4), STORE(4), LEAVE);
    MadeKernel fast = KERNEL(LOAD(4), FFMA(4), STORE(2), LEAVE), wide = fast;
    wide.registers = 41;
    const MadeKernel *const best[] = {&fast, &slow, &wide, &spills};
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 4; b++) {
            Judgement forth = judge(best[a], best[b]), back = judge(best[b], best[a]);
            assert_int_equal(worse_order(&forth, &back), a == b ? 0 : a < b ? -1 : 1);
        }
    fast = (MadeKernel)KERNEL(ALU(15), ALU(15), ALU(15), ALU(14), LEAVE);
    MadeKernel longer = KERNEL(ALU(15), ALU(15), ALU(15), ALU(10), ALU(4), LEAVE);
    Judgement forth = judge(&fast, &longer), back = judge(&longer, &fast);
    assert_int_equal(worse_order(&forth, &back), -1);
}

/* A cycle more in a loop weighs more than several fewer outside. */
static void loops_weigh(void **state)
{
    (void)state;
    MadeKernel before = KERNEL(ALU(9), LOAD(4), FFMA(4), BRANCH_IF(-2), LEAVE);
    MadeKernel after = KERNEL(ALU(1), LOAD(4), FFMA(5), BRANCH_IF(-2), LEAVE);
    assert_int_equal(worse(&before, &after), WORSE_CYCLES);
    assert_int_equal(worse(&after, &before), 0);
}

/* An unrolled loop and the one for what remains of it, of both of which the first version has two copies: the copies share the
 * iterations with each other, and the longer one is not the shorter one unrolled. */
static void copies_of_unrolled_loop(void **state)
{
    (void)state;
    enum { UNROLLED = 4, BODY = 3 };
    Written code[2] = {0};
    for (int side = 0; side < 2; side++) {
        Written *w = &code[side];
        for (int loop = 0; loop < (side ? 2 : 4); loop++) {
            size_t first = w->count;
            for (int k = 0; k < BODY * (loop % 2 ? 1 : UNROLLED); k++)
                put(w, k % BODY ? ALU(4) : LOAD(4));
            branch_to(w, first);
        }
        put(w, LEAVE);
    }
    MadeKernel before = kernel_of(&code[0]), after = kernel_of(&code[1]);
    Judgement forth = judge(&before, &after), back = judge(&after, &before);
    assert_int_equal((int)forth.moved.cycles[0], LOOP_ITERATIONS * (4 * BODY * (UNROLLED + 1) + 2) + 1);
    assert_int_equal((int)forth.moved.cycles[1], (int)forth.moved.cycles[0]);
    assert_int_equal((int)back.moved.cycles[0], (int)back.moved.cycles[1]);
    assert_int_equal(forth.worse, 0);
    assert_int_equal(back.worse, WORSE_INSTRUCTIONS);
    assert_int_equal(forth.moved.unrolled + back.moved.unrolled, 0);
}

/* Two loops share a header, or each has its own: what stands in the inner one runs no more often for that. Nor are loops whose depth
 * changes thereby copies of the one beside them, which does a third of what they do. */
static void loop_in_loop_of_one_version(void **state)
{
    (void)state;
    enum { LOOPS = 3, LOGIC = 0x212 };
    Written code[2] = {0};
    for (int side = 0; side < 2; side++) {
        Written *w = &code[side];
        put(w, ALU(4));
        add_loop(w, LOAD(4), 1, FFMA(4), 3);
        size_t header = w->count;
        for (int k = 0; k < 12; k++)
            put(w, side ? MADE(LOGIC, MADE_ALWAYS, 4, 0) : ALU(4));
        for (int loop = 0; loop < LOOPS; loop++) {
            add_loop(w, LOAD(4), 3, FFMA(4), 9 + loop % 2);
            put(w, STORE(2));
        }
        if (side)
            branch_to(w, header);
        else
            put(w, ALU(4));
        branch_to(w, 0);
        put(w, LEAVE);
    }
    MadeKernel before = kernel_of(&code[0]), after = kernel_of(&code[1]);
    Judgement forth = judge(&before, &after), back = judge(&after, &before);
    assert_int_equal(forth.worse | back.worse, 0);
    assert_true(forth.moved.cycles[1] > 0.99 * forth.moved.cycles[0]);
    assert_true(back.moved.cycles[1] > 0.99 * back.moved.cycles[0]);
    assert_int_equal(forth.moved.unrolled + back.moved.unrolled, 0);
    assert_int_equal((int)forth.moved.cycles[0], (int)judge(&before, &before).moved.cycles[0]);
}

/* A loop around another one, of which most loads move in front of it, and a new one that loads once: as many copies of that as there
 * are loads would hold no loop. */
static void loop_around_is_no_copies(void **state)
{
    (void)state;
    enum { LOADS = 40 };
    Written code[2] = {0};
    for (int side = 0; side < 2; side++) {
        Written *w = &code[side];
        for (int k = 0; side && k < LOADS - LOADS / 4 - 1; k++)
            put(w, LOAD(4));
        size_t first = w->count;
        put(w, ALU(4));
        add_loop(w, STORE(2), 2, FFMA(4), 3);
        for (int k = 0; k < (side ? LOADS / 4 : LOADS); k++)
            put(w, LOAD(4));
        branch_to(w, first);
        if (side)
            add_loop(w, LOAD(4), 1, ALU(4), 1);
        put(w, LEAVE);
    }
    MadeKernel before = kernel_of(&code[0]), after = kernel_of(&code[1]);
    Judgement forth = judge(&before, &after), back = judge(&after, &before);
    assert_int_equal(forth.moved.unrolled + back.moved.unrolled, 0);
    assert_int_equal((int)forth.moved.cycles[0], (int)judge(&before, &before).moved.cycles[0]);
}

/* A loop without work that is longer than another one, but does something else. */
static void other_loop_is_no_copies(void **state)
{
    (void)state;
    enum { LOGIC = 0x212 };
    Written code[2] = {0};
    for (int side = 0; side < 2; side++) {
        Written *w = &code[side];
        add_loop(w, ALU(4), 5, ALU(4), 0);
        if (side)
            add_loop(w, MADE(LOGIC, MADE_ALWAYS, 4, 0), 9, ALU(4), 0);
        put(w, LEAVE);
    }
    MadeKernel before = kernel_of(&code[0]), after = kernel_of(&code[1]);
    Judgement j = judge(&before, &after);
    assert_int_equal(j.moved.unrolled, 0);
    assert_int_equal((int)j.moved.cycles[0], LOOP_ITERATIONS * (5 * 4 + 1) + 1);
}

/* Copies of one iteration in a row, then a loop for what remains. */
static void unrolled_loop(void **state)
{
    (void)state;
    MadeKernel before = KERNEL(LOAD(4), FFMA(4), STORE(2), ALU(4), BRANCH_IF(-4), LEAVE);
    MadeKernel after =
        KERNEL(LOAD(4), FFMA(4), STORE(2), LOAD(4), FFMA(4), STORE(2), LOAD(4), FFMA(4), STORE(2), LOAD(4), FFMA(4),
               STORE(2), ALU(4), BRANCH_IF(-13), LOAD(4), FFMA(4), STORE(2), ALU(4), BRANCH_IF(-4), LEAVE);
    Judgement j = judge(&before, &after);
    assert_int_equal(j.worse, 0);
    assert_int_equal(j.moved.unrolled, 1);
    assert_true(j.better);
    j = judge(&after, &before); /* no longer unrolled */
    assert_int_equal(j.worse, WORSE_CYCLES);
    assert_int_equal(j.moved.unrolled, 0);
}

/* An unrolled loop in another one, which grows by what sets it up, in a kernel that grows elsewhere too: the outer loop was not
 * unrolled to its end there. */
static void unrolled_inner_loop(void **state)
{
    (void)state;
    enum { SET_UP = 30, MORE = 12, ELSEWHERE = 60 };
    Written code[2] = {0};
    for (int side = 0; side < 2; side++) {
        Written *w = &code[side];
        for (int k = 0; k < SET_UP + side * MORE; k++)
            put(w, ALU(4));
        for (int copies = side ? 4 : 1; copies; copies = copies > 1 ? 1 : 0) {
            size_t first = w->count;
            for (int k = 0; k < 2 * copies; k++)
                put(w, k % 2 ? FFMA(4) : LOAD(4));
            for (int k = 0; k < 3; k++)
                put(w, ALU(4));
            branch_to(w, first);
        }
        branch_to(w, 0);
        for (int k = 0; k < side * ELSEWHERE; k++)
            put(w, ALU(4));
        put(w, LEAVE);
    }
    MadeKernel before = kernel_of(&code[0]), after = kernel_of(&code[1]);
    Judgement j = judge(&before, &after);
    assert_int_equal(j.worse, 0);
    assert_int_equal(j.moved.unrolled, 1);
    assert_true(j.better);
    assert_int_equal((int)j.moved.cycles[0], (int)judge(&before, &before).moved.cycles[0]);
    assert_true(judge(&after, &before).worse & WORSE_CYCLES);
}

static void unrolled_loop_that_costs(void **state)
{
    (void)state;
    MadeKernel before = KERNEL(LOAD(4), FFMA(4), STORE(2), ALU(1), BRANCH_IF(-4), LEAVE);
    MadeKernel after = KERNEL(LOAD(9), FFMA(9), STORE(9), LOAD(9), FFMA(9), STORE(9), ALU(1), BRANCH_IF(-7), LEAVE);
    assert_int_equal(worse(&before, &after), WORSE_CYCLES | WORSE_INSTRUCTIONS);
}

/* Half of a loop's loads and arithmetic go, as merged tails make them: it was not unrolled before. */
static void shorter_loop(void **state)
{
    (void)state;
    MadeKernel before = KERNEL(LOAD(4), LOAD(4), LOAD(4), FFMA(4), FFMA(4), FFMA(4), FFMA(4), ALU(4), ALU(4), ALU(4),
                               ALU(4), ALU(4), ALU(4), ALU(4), STORE(2), BRANCH_IF(-15), LEAVE);
    MadeKernel after =
        KERNEL(LOAD(4), LOAD(4), FFMA(4), FFMA(4), ALU(4), ALU(4), ALU(4), ALU(4), ALU(4), STORE(2), BRANCH_IF(-10), LEAVE);
    Judgement j = judge(&before, &after);
    assert_int_equal(j.worse, 0);
    assert_true(j.better);
    assert_true(judge(&after, &before).worse & WORSE_CYCLES);
    assert_int_equal(judge(&after, &before).moved.unrolled, 0);
}

/* Two loops with the same body, one unrolled four times, of which most stores go. */
static void loops_in_their_places(void **state)
{
    (void)state;
    enum { COPIES = 4, STORES = 11, MERGED = 5 };
    Written code[2] = {0};
    for (int side = 0; side < 2; side++) {
        Written *w = &code[side];
        for (int copies = 1; copies <= COPIES; copies += COPIES - 1) {
            size_t first = w->count;
            for (int c = 0; c < copies; c++) {
                put(w, LOAD(4));
                for (int s = 0; s < (side ? MERGED : STORES); s++)
                    put(w, STORE(2));
            }
            branch_to(w, first);
        }
        put(w, LEAVE);
    }
    MadeKernel before = kernel_of(&code[0]), after = kernel_of(&code[1]);
    assert_int_equal(judge(&before, &after).worse, 0);
    assert_int_equal(judge(&before, &after).moved.unrolled, 0);
    assert_int_equal(judge(&after, &before).worse, WORSE_CYCLES | WORSE_INSTRUCTIONS);
}

static void unrolled_to_the_end(void **state)
{
    (void)state;
    MadeKernel before = KERNEL(LOAD(4), FFMA(4), STORE(2), ALU(4), BRANCH_IF(-4), LEAVE);
    Written code = {0};
    for (int i = 0; i < 40; i++) {
        put(&code, LOAD(4));
        put(&code, FFMA(4));
        put(&code, STORE(2));
    }
    put(&code, LEAVE);
    MadeKernel after = kernel_of(&code);
    Judgement j = judge(&before, &after);
    assert_int_equal(j.worse, 0);
    assert_int_equal(j.moved.unrolled, 1);
}

/* Two loops of five iterations that shift a counter, written out in a kernel that loses other instructions: each ran as often as it
 * has shuffles now, and not as often as both together, or as all that came says. So it is inside of another loop. */
static void rounds_written_out(void **state)
{
    (void)state;
    enum { ROUNDS = 5, LOOPS = 2, ELSEWHERE = 20 };
    for (int inside = 0; inside < 2; inside++) {
        Written code[2] = {0};
        for (int side = 0; side < 2; side++) {
            Written *w = &code[side];
            put(w, LOAD(4));
            for (int loop = 0; loop < LOOPS; loop++)
                add_rounds(w, side, ROUNDS);
            if (inside) {
                branch_to(w, 0);
            }
            for (int k = 0; !side && k < ELSEWHERE; k++)
                put(w, ALU(1));
            put(w, LEAVE);
        }
        MadeKernel before = kernel_of(&code[0]), after = kernel_of(&code[1]);
        Judgement forth = judge(&before, &after), back = judge(&after, &before);
        int times = inside ? LOOP_ITERATIONS : 1, rounds = LOOPS * ROUNDS, rest = 4 + inside;
        assert_int_equal((int)forth.moved.cycles[0], times * (rounds * (9 + 3 * 4 + 1) + rest) + ELSEWHERE + 1);
        assert_int_equal((int)forth.moved.cycles[1], times * (rounds * (9 + 4) + rest) + 1);
        assert_int_equal((int)back.moved.cycles[1], (int)forth.moved.cycles[0]);
        assert_int_equal(forth.moved.unrolled, LOOPS);
        assert_true(forth.better);
        assert_true(back.worse & WORSE_CYCLES);
    }
}

/* A loop in a loop, both written out. The inner one runs so often in each iteration of the outer one, not in all. */
static void nested_rounds_written_out(void **state)
{
    (void)state;
    enum { OUTER = 3, INNER = 4 };
    Written code[2] = {0};
    for (int side = 0; side < 2; side++) {
        Written *w = &code[side];
        for (int k = 0; k < (side ? OUTER : 1); k++) {
            put(w, LOAD(4));
            add_rounds(w, side, INNER);
        }
        if (!side) {
            branch_to(w, 0);
        }
        put(w, LEAVE);
    }
    MadeKernel before = kernel_of(&code[0]), after = kernel_of(&code[1]);
    Judgement j = judge(&before, &after);
    assert_int_equal((int)j.moved.cycles[0], OUTER * (4 + INNER * (9 + 3 * 4 + 1) + 1) + 1);
    assert_int_equal((int)j.moved.cycles[1], OUTER * (4 + INNER * (9 + 4)) + 1);
}

/* The loop around one that is written out is unrolled as well: only the copies in one of its iterations count. */
static void rounds_in_unrolled_loop(void **state)
{
    (void)state;
    enum { OUTER = 2, INNER = 4 };
    Written code[2] = {0};
    for (int side = 0; side < 2; side++) {
        Written *w = &code[side];
        for (int k = 0; k < (side ? OUTER : 1); k++) {
            put(w, LOAD(4));
            add_rounds(w, side, INNER);
        }
        branch_to(w, 0);
        put(w, LEAVE);
    }
    MadeKernel before = kernel_of(&code[0]), after = kernel_of(&code[1]);
    Judgement forth = judge(&before, &after), back = judge(&after, &before);
    assert_int_equal((int)forth.moved.cycles[0], LOOP_ITERATIONS * (4 + INNER * (9 + 3 * 4 + 1) + 1) + 1);
    assert_int_equal((int)forth.moved.cycles[1], LOOP_ITERATIONS / OUTER * (OUTER * (4 + INNER * (9 + 4)) + 1) + 1);
    assert_int_equal((int)back.moved.cycles[1], (int)forth.moved.cycles[0]);
}

/* A copy of the loop without its check, unrolled, a loop for what remains of that, and the loop itself: the three share its work. */
static void split_loop(void **state)
{
    (void)state;
    MadeKernel before = KERNEL(LOAD(4), ALU(4), ALU(4), ALU(4), FFMA(4), ALU(4), BRANCH_IF(-6), LEAVE);
    MadeKernel after =
        KERNEL(LOAD(4), FFMA(4), LOAD(4), FFMA(4), LOAD(4), FFMA(4), LOAD(4), FFMA(4), ALU(4), BRANCH_IF(-9), LOAD(4),
               FFMA(4), ALU(4), BRANCH_IF(-3), LOAD(4), ALU(4), ALU(4), ALU(4), FFMA(4), ALU(4), BRANCH_IF(-6), LEAVE);
    Judgement j = judge(&before, &after);
    assert_int_equal(j.worse, 0);
    assert_int_equal(j.moved.unrolled, 1);
}

/* ---- shares of a loop's iterations -------------------------------------------------------------------------------- */

/* The loops that one loop became, each by how many of its iterations one of theirs does; 0: there are no more. */
typedef struct Shape {
    unsigned loops[4];
    bool has_tests; /* those loops after the first one test what the first one does not */
} Shape;

static const Shape shapes[] = {
    {{1}, false},      {{4, 1}, false},   {{1, 1}, false}, {{1, 1, 1}, false}, {{1, 4, 1}, false},    {{8, 4, 1}, false},
    {{4, 1, 1}, true}, {{1, 1, 1}, true}, {{2, 2}, false}, {{1, 2, 1}, true},  {{4, 1, 4, 1}, false},
};

/* Appends the loops of a shape: units of sixty cycles each, beside which branches hardly count. */
static void add_shape(Written *w, const Shape *shape)
{
    for (int loop = 0; loop < 4 && shape->loops[loop]; loop++) {
        size_t first = w->count;
        for (unsigned k = 0; k < shape->loops[loop]; k++) {
            bool tests = shape->has_tests && loop == 2;
            put(w, LOAD(15));
            put(w, tests ? MADE(0x220, MADE_ALWAYS, 15, 0) : FFMA(15));
            put(w, tests ? MADE(0x221, MADE_ALWAYS, 15, 0) : ALU(15));
            put(w, STORE(15));
        }
        branch_to(w, first);
    }
}

/* What stands around the loops of a shape. */
typedef enum Nest { ALONE, IN_A_LOOP, IN_TWO_VERSIONS, IN_TWO_PARTS, NESTS } Nest;

/* In a loop there is an outer one. In two versions it is there twice, behind one another; in two parts one iteration of it does two. */
static void write_nest(Written *w, const Shape *shape, Nest nest)
{
    int outer = nest == IN_TWO_VERSIONS ? 2 : 1, inner = nest == IN_TWO_PARTS ? 2 : 1;
    for (int k = 0; k < outer; k++) {
        size_t first = w->count;
        for (int i = 0; i < inner && nest; i++)
            put(w, SHUFFLE(1));
        for (int i = 0; i < inner; i++)
            add_shape(w, shape);
        if (nest)
            branch_to(w, first);
    }
    put(w, LEAVE);
}

static void assert_same_time(const Written *one, const Written *other)
{
    MadeKernel before = kernel_of(one), after = kernel_of(other);
    Judgement forth = judge(&before, &after), back = judge(&after, &before);
    double ratio = forth.moved.cycles[1] / forth.moved.cycles[0], inverse = back.moved.cycles[0] / back.moved.cycles[1];
    if (ratio < 0.95 || ratio > 1.05 || ratio > 1.001 * inverse || inverse > 1.001 * ratio)
        print_message("cycles times %.3f, and from the other side %.3f\n", ratio, inverse);
    assert_true(ratio > 0.95 && ratio < 1.05);
    assert_true(ratio < 1.001 * inverse && inverse < 1.001 * ratio);
}

/* Whatever a loop is split into, all parts together do its work: copies behind a test, three parts of the range, an unrolled part with
 * a loop for what remains. So it is whether it stands alone or in another loop that is split itself. */
static void parts_share_iterations(void **state)
{
    (void)state;
    for (Nest nest = ALONE; nest < NESTS; nest++)
        for (size_t a = 0; a < COUNT_OF(shapes); a++)
            for (size_t b = 0; b < COUNT_OF(shapes); b++) {
                if (nest > IN_A_LOOP && a && a != b)
                    continue; /* nobody can tell which of two loops that are alike became which */
                Written one = {0}, other = {0};
                write_nest(&one, &shapes[a], nest == ALONE ? ALONE : IN_A_LOOP);
                write_nest(&other, &shapes[b], nest);
                assert_same_time(&one, &other);
            }
}

/* Two iterations are peeled off the loop, of the others ten are one: they are not counted twice. */
static void peeled_loop(void **state)
{
    (void)state;
    enum { COPIES = 10, PEELED = 2, BODY = 9 };
    Written code[2] = {0};
    size_t first = 0;
    for (int side = 0; side < 2; side++) {
        Written *w = &code[side];
        for (int c = 0; c < (side ? PEELED + COPIES : 1); c++) {
            first = c == PEELED ? w->count : first;
            put(w, LOAD(15));
            for (int k = 0; k < BODY; k++)
                put(w, FFMA(15));
        }
        branch_to(w, side ? first : 0);
        put(w, LEAVE);
    }
    MadeKernel before = kernel_of(&code[0]), after = kernel_of(&code[1]);
    assert_int_equal(judge(&before, &after).worse, 0);
    assert_int_equal(judge(&before, &after).moved.unrolled, 1);
}

/* Three times the work of a loop so short that its copies make it but few instructions longer. */
static void unrolled_short_loop(void **state)
{
    (void)state;
    MadeKernel before = KERNEL(LOAD(4), ALU(4), ALU(4), ALU(4), BRANCH_IF(-4), LEAVE);
    MadeKernel after = KERNEL(LOAD(4), LOAD(4), LOAD(4), ALU(4), ALU(4), ALU(4), ALU(4), BRANCH_IF(-7), LEAVE);
    assert_int_equal(judge(&before, &after).moved.unrolled, 1);
    assert_int_equal(judge(&before, &after).worse, 0);
    assert_true(judge(&after, &before).worse & WORSE_CYCLES);
    MadeKernel longer = KERNEL(LOAD(4), ALU(4), ALU(4), ALU(4), ALU(4), ALU(4), ALU(4), BRANCH_IF(-7), LEAVE);
    assert_int_equal(judge(&before, &longer).moved.unrolled, 0);
    assert_int_equal(judge(&before, &longer).worse, WORSE_CYCLES | WORSE_INSTRUCTIONS);
}

/* What waits at a latch for the other lanes of the warp is no loop of 64 iterations inside the one of the latch, which does not
 * end here. */
static void loop_that_gathers_lanes(void **state)
{
    (void)state;
    MadeKernel plain = KERNEL(LOAD(4), FFMA(4), FFMA(4), FFMA(4), BRANCH_IF(-4), LEAVE);
    MadeKernel gathers =
        KERNEL(LOAD(4), FFMA(4), FFMA(4), FFMA(4), ALU(1), YIELD, ALU(1), BRANCH_IF(-7), BRANCH(-4), LEAVE);
    MadeKernel reads = KERNEL(LOAD(4), FFMA(4), FFMA(4), FFMA(4), LOAD(1), YIELD, ALU(1), BRANCH_IF(-7), BRANCH(-4), LEAVE);
    MadeKernel counts =
        KERNEL(LOAD(4), FFMA(4), FFMA(4), FFMA(4), ALU(1), ALU(1), ALU(1), BRANCH_IF(-7), BRANCH(-4), LEAVE);
    enum { EACH = 5 }; /* cycles of a round */
    Judgement j = judge(&plain, &gathers);
    assert_int_equal((int)j.moved.cycles[0], LOOP_ITERATIONS * 17 + 1);
    assert_int_equal((int)j.moved.cycles[1], LOOP_ITERATIONS * (16 + EACH));
    assert_int_equal(j.moved.unrolled, 0);
    assert_int_equal((int)judge(&plain, &counts).moved.cycles[1], LOOP_ITERATIONS * (16 + LOOP_ITERATIONS * EACH));
    assert_int_equal((int)judge(&plain, &reads).moved.cycles[1], LOOP_ITERATIONS * (16 + LOOP_ITERATIONS * EACH));
    assert_int_equal(judge(&gathers, &gathers).moved.unrolled, 0);
    assert_int_equal(judge(&gathers, &gathers).worse, 0);
    assert_true(judge(&gathers, &plain).better);
    assert_int_equal(judge(&gathers, &plain).moved.unrolled, 0);
}

static size_t loops_of(Made branch)
{
    MadeKernel k = KERNEL(LOAD(4), FFMA(4), branch, FFMA(4), LEAVE);
    Cubin cubin = open_made(&k);
    SassCode code;
    assert_true(sass_read(&code, &cubin.functions[0], cubin.sm));
    size_t loops = code.loop_count;
    assert_int_equal(code.block_count, loops ? 2 : 1);
    sass_free(&code);
    cubin_close(&cubin);
    return loops;
}

/* A branch whose guard, or predicate operand, is !PT ends no block. */
static void branch_never_taken(void **state)
{
    enum { P0 = 0, NOT_P0 = 8 };
    (void)state;
    assert_int_equal(loops_of(BRANCH_IF(-2)), 1);
    assert_int_equal(loops_of(BRANCH_ON(NOT_P0, MADE_ALWAYS, -2)), 1);
    assert_int_equal(loops_of(BRANCH_ON(MADE_ALWAYS, NOT_P0, -2)), 1);
    assert_int_equal(loops_of(BRANCH_UNIFORM(NOT_P0, -2)), 1);
    assert_int_equal(loops_of(BRANCH_ON(MADE_NEVER, MADE_ALWAYS, -2)), 0);
    assert_int_equal(loops_of(BRANCH_ON(P0, MADE_NEVER, -2)), 0);
    assert_int_equal(loops_of(BRANCH_ON(MADE_ALWAYS, MADE_NEVER, -2)), 0);
    assert_int_equal(loops_of(BRANCH_UNIFORM(MADE_NEVER, -2)), 0);
}

/* Nobody waits for a load that nobody executes, and it leaves nothing; its cycles of issue stay. */
static void executed_by_nobody(void **state)
{
    (void)state;
    MadeKernel before = KERNEL(LOAD_TO(0), FFMA_AFTER(0), FFMA(4), LEAVE);
    MadeKernel after = KERNEL(((Made){0x981, MADE_NEVER, 4, 0, 1, 0, 0}), FFMA_AFTER(0), FFMA(4), LEAVE);
    MadeKernel plain = KERNEL(ALU(4), FFMA_AFTER(0), FFMA(4), LEAVE);
    MadeKernel leaves = KERNEL(FFMA(4), MADE(0x94d, MADE_NEVER, 1, 0), FFMA(4), FFMA(4), LEAVE);
    assert_int_equal(worse(&after, &before), WORSE_CYCLES);
    assert_int_equal(worse(&plain, &after), 0);
    assert_false(judge(&plain, &after).better);
    assert_int_equal((int)judge(&leaves, &leaves).moved.cycles[0], 14);
}

static void loop_through_call(void **state)
{
    (void)state;
    MadeKernel k = KERNEL(LOAD(4), FFMA(4), CALL_IF(-2), LEAVE);
    Cubin cubin = open_made(&k);
    SassCode code;
    assert_true(sass_read(&code, &cubin.functions[0], cubin.sm));
    assert_int_equal(code.loop_count, 1);
    assert_int_equal(code.loops[0].instructions, 3);
    assert_int_equal(code.loops[0].cycles, 9);
    sass_free(&code);
    cubin_close(&cubin);
}

/* What a register keeps of a convergence barrier continues where the barrier was to continue, whatever number it gets back. */
static void loop_through_saved_barrier(void **state)
{
    (void)state;
    MadeKernel k = KERNEL(BSSY(0, 5), SAVE(0, 94), LOAD(4), RESTORE(5, 94), BSYNC(5), BRANCH_IF(-5), ALU(4), BSSY(5, 2),
                          BSYNC(5), BRANCH_IF(-3), LEAVE);
    Cubin cubin = open_made(&k);
    SassCode code;
    assert_true(sass_read(&code, &cubin.functions[0], cubin.sm));
    assert_int_equal(code.loop_count, 2);
    assert_int_equal(code.loops[0].instructions, 6);
    assert_int_equal(code.loops[1].instructions, 4);
    sass_free(&code);
    cubin_close(&cubin);
}

/* What a loop calls runs as often as it; a slow path hardly ever. */
static void called_functions(void **state)
{
    (void)state;
    MadeKernel before = KERNEL(LOAD(4), BRANCH_IF(2), CALL(4), STORE(2), BRANCH_IF(-4), LEAVE, ALU(4), ALU(4), RETURN);
    MadeKernel after = KERNEL(LOAD(4), BRANCH_IF(2), CALL(4), STORE(2), BRANCH_IF(-4), LEAVE, ALU(4), ALU(6), RETURN);
    before.inner = after.inner = 6;
    before.inner_name = after.inner_name = "$k$g";
    assert_int_equal(worse(&before, &after), WORSE_CYCLES);
    before.inner_name = after.inner_name = "$__internal_0_$__cuda_sm20_div_s64";
    assert_int_equal(worse(&before, &after), 0);
}

static void what_moved(void **state)
{
    (void)state;
    MadeKernel before = KERNEL(LOAD(4), ALU(4), STORE(2), LEAVE), after = KERNEL(LOAD(4), STORE(2), LEAVE);
    after.registers = 40;
    Judgement j = judge(&before, &after);
    Arena arena = {0};
    const char *text = worse_describe(&arena, &j);
    assert_int_equal(j.worse, WORSE_WARPS);
    assert_string_equal(
        text, "instructions 4 to 3, cycles 11 to 7 (-36.4 %), registers 32 to 40, warps 64 to 32 (blocks of 1024)");
    arena_free(&arena);
}

/* Wherever it is cut, a cubin is refused in words. */
static void cut_short(void **state)
{
    (void)state;
    MadeKernel k = KERNEL(LOAD(4), FFMA(4), STORE(2), LEAVE);
    MadeFile whole = made_cubin(&k);
    for (size_t size = 0; size < whole.size; size++) {
        Cubin cubin;
        uint8_t *bytes = mem_alloc(size + 1);
        memcpy(bytes, whole.bytes, size);
        assert_non_null(cubin_read(&cubin, bytes, size));
    }
    mem_free(whole.bytes);
}

static void assert_refused(const MadeFile *file, const char *why)
{
    Cubin cubin;
    uint8_t *bytes = mem_alloc(file->size);
    memcpy(bytes, file->bytes, file->size);
    assert_string_equal(cubin_read(&cubin, bytes, file->size), why);
}

static void not_known(void **state)
{
    (void)state;
    MadeKernel k = KERNEL(LOAD(4), FFMA(4), STORE(2), LEAVE);
    MadeFile file = made_cubin(&k);
    file.bytes[EI_ABIVERSION] = 9;
    assert_refused(&file, "a cubin of a version that is not known");
    file.bytes[EI_ABIVERSION] = 8;
    file.bytes[offsetof(Elf64_Ehdr, e_flags) + 1] = 70;
    assert_refused(&file, "a cubin of an architecture that is not known");
    file.bytes[offsetof(Elf64_Ehdr, e_flags) + 1] = MADE_SM;
    file.bytes[offsetof(Elf64_Ehdr, e_machine)] = 62;
    assert_refused(&file, "not a cubin");
    mem_free(file.bytes);
}

/* One byte changed anywhere: read or refused, and judged without a fault (the suite runs under the sanitizers, too). */
static void bytes_changed(void **state)
{
    (void)state;
    MadeKernel k = KERNEL(LOAD(4), BRANCH_IF(2), SPILL(1), STORE(2), BRANCH_IF(-4), LEAVE);
    MadeFile whole = made_cubin(&k);
    Cubin good = open_made(&k);
    Unit was;
    size_t read = 0;
    assert_true(unit_read(&was, &good, 0));
    for (size_t at = 0; at < whole.size; at++) {
        for (unsigned flip = 1; flip < 256; flip = flip * 2 + 1) {
            Cubin cubin;
            uint8_t *bytes = mem_alloc(whole.size);
            memcpy(bytes, whole.bytes, whole.size);
            bytes[at] ^= (uint8_t)flip;
            if (cubin_read(&cubin, bytes, whole.size))
                continue;
            Unit is;
            Judgement judgement;
            read++;
            if (cubin.count) {
                assert_true(unit_read(&is, &cubin, 0));
                worse_judge(&judgement, &was, &is);
                unit_free(&is);
            }
            cubin_close(&cubin);
        }
    }
    assert_true(read > whole.size);
    unit_free(&was);
    cubin_close(&good);
    mem_free(whole.bytes);
}

/* How much shared memory a block has only a launch says: no rule asks how many warps fit. */
static void warps_of_dynamic_shared_memory(void **state)
{
    (void)state;
    MadeKernel before = KERNEL(LOAD(4), LEAVE), after = before;
    before.dynamic = after.dynamic = true;
    after.registers = 64;
    assert_int_equal(worse(&before, &after), 0);
    before.dynamic = after.dynamic = false;
    assert_int_equal(worse(&before, &after), WORSE_WARPS);
}

/* Spills that buy warps, and warps that cost spills, are weighed in cycles. */
static void spills_against_warps(void **state)
{
    (void)state;
    MadeKernel plain = KERNEL(LOAD_TO(0), FFMA_AFTER(0), FFMA(4), STORE(2), LEAVE),
               spills = KERNEL(LOAD_TO(0), SPILL(1), FFMA_AFTER(0), FFMA(4), STORE(2), LEAVE);
    plain.registers = 64;
    assert_int_equal(worse(&plain, &spills), 0); /* twice the warps */
    assert_int_equal(worse(&spills, &plain), WORSE_WARPS);
    Made slow[40];
    for (int i = 0; i < 40; i++)
        slow[i] = i < 39 ? SPILL(15) : LEAVE;
    MadeKernel many = {.code = slow, .count = 40, .registers = 32};
    assert_int_equal(worse(&plain, &many), WORSE_SPILLS);
    assert_int_equal(worse(&many, &plain), 0);
}

/* So are a variable in local memory that went, and the warps that its registers cost. */
static void local_memory_against_warps(void **state)
{
    (void)state;
    Made accesses[40];
    for (int i = 0; i < 40; i++)
        accesses[i] = i < 39 ? REFILL(15) : LEAVE;
    MadeKernel variable = {.code = accesses, .count = 40}, no_cheaper = variable;
    MadeKernel registers = KERNEL(LOAD_TO(0), FFMA_AFTER(0), STORE(2), LEAVE);
    variable.registers = 56;
    registers.registers = 64;
    assert_int_equal(worse(&variable, &registers), 0);
    no_cheaper.registers = 64;
    assert_int_equal(worse(&variable, &no_cheaper), WORSE_WARPS);
    registers.registers = 255;
    assert_int_equal(worse(&variable, &registers), WORSE_WARPS);
    variable.registers = 32;
    assert_int_equal(worse(&registers, &variable), 0); /* four times the warps */
    MadeKernel slow = variable;
    registers.registers = 64;
    assert_int_equal(worse(&registers, &slow) & WORSE_CYCLES, WORSE_CYCLES);
}

/* So are the cycles that a warp saves, and the warps that its registers cost: cycles count divided by the root of the warps. */
static void cycles_against_warps(void **state)
{
    (void)state;
    enum { ALL = 40 };
    Made code[ALL];
    for (int i = 0; i < ALL; i++)
        code[i] = i < ALL - 1 ? ALU(15) : LEAVE;
    static const struct {
        unsigned count, registers, worse, back;
    } tried[] = {
        {21, 64, 0, WORSE_CYCLES}, /* half the warps, and about half the cycles */
        {30, 64, WORSE_WARPS, 0},  /* three quarters */
        {38, 64, WORSE_WARPS, 0},  /* hardly fewer */
        {38, 40, WORSE_WARPS, 0},
        {30, 40, 0, WORSE_CYCLES}, /* three quarters of the warps and the cycles */
        {39, 33, WORSE_WARPS, 0},  /* a cycle that nobody could measure */
    };
    MadeKernel slow = {.code = code, .count = ALL, .registers = 32, .threads = 128};
    for (size_t i = 0; i < COUNT_OF(tried); i++) {
        MadeKernel fast = {
            .code = code + ALL - tried[i].count, .count = tried[i].count, .registers = tried[i].registers, .threads = 128};
        assert_int_equal(worse(&slow, &fast), tried[i].worse);
        assert_int_equal(worse(&fast, &slow) & WORSE_CYCLES, tried[i].back);
        assert_int_equal(judge(&fast, &slow).better, tried[i].worse != 0);
    }
}

/* Registers move warps of small blocks one way, shared memory those of large ones the other way: one version is worse, not both. */
static void warps_of_two_sizes(void **state)
{
    (void)state;
    MadeKernel few = KERNEL(LOAD(4), LEAVE), shares = few;
    few.registers = 80;      /* no block of 1024 threads */
    shares.shared = 50 << 10; /* three blocks of 128 */
    unsigned forth = worse(&few, &shares), back = worse(&shares, &few);
    assert_true((forth == WORSE_WARPS) != (back == WORSE_WARPS));
    few.threads = 128;
    shares.threads = 1024;
    forth = worse(&few, &shares);
    back = worse(&shares, &few);
    assert_true((forth != 0) + (back != 0) <= 1);
}

/* What spills save in cycles decides from a tenth on, and each pair has one answer. */
static void spills_against_cycles(void **state)
{
    (void)state;
    enum { ALL = 80 };
    Made code[ALL + 1];
    for (int i = 0; i < ALL; i++)
        code[i + 1] = i < ALL - 1 ? ALU(15) : LEAVE;
    code[0] = ALU(1);
    MadeKernel plain = {.code = code, .count = ALL + 1, .registers = 32};
    int paid = 0;
    for (int saved = 0; saved < ALL / 4; saved++) {
        Made spilled[ALL + 1];
        spilled[0] = SPILL(1);
        memcpy(spilled + 1, code + 1 + saved, (ALL - saved) * sizeof *code);
        MadeKernel spills = {.code = spilled, .count = ALL + 1 - saved, .registers = 32};
        Judgement forth = judge(&plain, &spills), back = judge(&spills, &plain);
        bool pays = forth.moved.cycles[1] < 0.9 * forth.moved.cycles[0];
        assert_int_equal(forth.worse & WORSE_SPILLS, pays ? 0 : WORSE_SPILLS);
        assert_int_equal(back.worse & WORSE_CYCLES, pays ? WORSE_CYCLES : 0);
        assert_int_equal(forth.better, pays);
        assert_int_equal(back.better, !pays);
        paid += pays;
    }
    assert_true(paid > 0 && paid < ALL / 4);
}

static Judgement weigh(const Moved *figures, int first)
{
    Judgement j = {.moved = *figures};
    j.moved.times_warps = first ? 1 / figures->times_warps : figures->times_warps;
    for (int i = 0; i < 2; i++) {
        int from = first ? !i : i;
        j.moved.instructions[i] = figures->instructions[from];
        j.moved.spilled[i] = figures->spilled[from];
        j.moved.local[i] = figures->local[from];
        j.moved.registers[i] = figures->registers[from];
        j.moved.uniform_counters[i] = figures->uniform_counters[from];
        j.moved.resizes[i] = figures->resizes[from];
        j.moved.warps[i] = figures->warps[from];
        j.moved.cycles[i] = figures->cycles[from];
        j.moved.scheduler[i] = figures->scheduler[from];
    }
    worse_weigh(&j);
    return j;
}

/* Whatever moves, and however far: of two versions one at most is worse, one at most is better, and the worse one is not preferred. */
static void one_answer_for_two(void **state)
{
    (void)state;
    enum { MOVES = 4 * 3 * 3 * 3 * 3 * 2 * 4 * 7 };
    static const double cycles[] = {1, 1.002, 1.006, 1.02, 1.08, 1.2, 3};
    unsigned long decided = 0;
    for (unsigned small = 0; small < 2; small++)
        for (unsigned k = 0; k < MOVES; k++) {
            unsigned left = k;
            Moved m = {.instructions = {100}, .registers = {32}, .spilled = {8}, .local = {8}, .threads = 128};
            static const unsigned warps[] = {64, 60, 48, 0};
            m.warps[0] = 64, m.warps[1] = warps[left % 4], left /= 4;
            m.times_warps = m.warps[1] / 64.0;
            m.instructions[1] = 99 + left % 3, left /= 3;
            m.registers[1] = 31 + left % 3, left /= 3;
            m.spilled[1] = 8 * (left % 3), left /= 3;
            m.local[1] = 8 * (left % 3), left /= 3;
            m.warps_unknown = left % 2, left /= 2;
            m.uniform_counters[1] = left % 2, m.resizes[1] = left / 2 % 2, left /= 4;
            m.cycles[0] = small ? 50 : 50000, m.cycles[1] = m.cycles[0] * cycles[left];
            for (int faster = 0; faster < 2; faster++) {
                double slow = m.cycles[1];
                m.cycles[1] = faster ? m.cycles[0] * m.cycles[0] / slow : slow;
                for (int i = 0; i < 2; i++)
                    m.scheduler[i] = m.warps[i] ? 4 * m.cycles[i] / m.warps[i] : m.cycles[i];
                Judgement forth = weigh(&m, 0), back = weigh(&m, 1);
                int order = worse_order(&forth, &back);
                assert_false(forth.worse && back.worse);
                assert_false(forth.better && back.better);
                assert_false((forth.worse && order >= 0) || (back.worse && order <= 0));
                decided += forth.worse || back.worse;
                m.cycles[1] = slow;
            }
        }
    assert_true(decided > MOVES);
}

/* A few cycles that nobody could measure are not worse; with more instructions they are. */
static void dead_band(void **state)
{
    (void)state;
    MadeKernel before = KERNEL(ALU(15), ALU(15), ALU(15), ALU(1), ALU(1), LEAVE);
    MadeKernel within = KERNEL(ALU(15), ALU(15), ALU(15), ALU(8), ALU(10), LEAVE);
    MadeKernel beyond = KERNEL(ALU(15), ALU(15), ALU(15), ALU(9), ALU(10), LEAVE);
    MadeKernel longer = KERNEL(ALU(15), ALU(15), ALU(15), ALU(1), ALU(1), ALU(2), LEAVE);
    Judgement j = judge(&before, &within);
    assert_int_equal(j.worse, 0);
    assert_false(j.better);
    assert_true(j.moved.is_in_dead_band);
    assert_int_equal(worse(&before, &beyond), WORSE_CYCLES);
    assert_int_equal(worse(&before, &longer), WORSE_CYCLES | WORSE_INSTRUCTIONS);
}

/* What is saved within the dead band makes no kernel better, nor does half a per cent: else both of two would be better. */
static void one_of_two_is_better(void **state)
{
    (void)state;
    enum { LENGTH = 200, MORE = 3, STALLS = 25, REGISTERS = 2 };
    static Written code[MORE * STALLS];
    Judgement j = judge(&(MadeKernel)KERNEL(ALU(15), ALU(10), LEAVE), &(MadeKernel)KERNEL(ALU(8), ALU(2), LEAVE));
    assert_false(j.better || j.worse);
    for (int c = 0; c < MORE * STALLS; c++) {
        for (int k = 0; k < LENGTH + c % MORE; k++)
            put(&code[c], k == 0 ? LOAD(4) : k == LENGTH ? STORE(1) : ALU(k <= c / MORE ? 15 : 14));
        put(&code[c], LEAVE);
    }
    for (int a = 0; a < MORE * STALLS * REGISTERS; a++)
        for (int b = 0; b < a; b++) {
            MadeKernel one = kernel_of(&code[a / REGISTERS]), other = kernel_of(&code[b / REGISTERS]);
            one.registers = 32 - a % REGISTERS;
            other.registers = 32 - b % REGISTERS;
            Judgement forth = judge(&one, &other), back = judge(&other, &one);
            assert_false(forth.better && back.better);
            assert_false(forth.worse && back.worse);
        }
}

/* What a load before a loop leaves pending is waited for once, not in each iteration. */
static void wait_before_loop(void **state)
{
    (void)state;
    MadeKernel before = KERNEL(LOAD_TO(0), FFMA_AFTER(0), FFMA(4), FFMA_AFTER(0), BRANCH_IF(-2), LEAVE);
    MadeKernel after = KERNEL(LOAD_TO(0), FFMA(4), FFMA(4), FFMA_AFTER(0), BRANCH_IF(-2), LEAVE);
    Judgement j = judge(&before, &after);
    assert_int_equal(j.worse, 0);
    assert_true(j.moved.cycles[1] < j.moved.cycles[0] + 1 && j.moved.cycles[0] < j.moved.cycles[1] + 20);
}

/* A loop with two exits, one of which ends the thread: the branch goes, as a guarded EXIT takes its place, and what comes after the
 * loop runs as often as before. */
static void exit_of_loop_changes(void **state)
{
    (void)state;
    enum { GUARDED_EXIT = 0x94d };
    MadeKernel before =
        KERNEL(LOAD(4), FFMA(4), BRANCH_IF(7), ALU(4), BRANCH_IF(-4), FFMA(4), STORE(2), BRANCH_IF(-2), LEAVE, LEAVE);
    MadeKernel after = KERNEL(LOAD(4), FFMA(4), MADE(GUARDED_EXIT, 0, 1, 0), ALU(4), BRANCH_IF(-4), FFMA(4), STORE(2),
                              BRANCH_IF(-2), LEAVE);
    Judgement forth = judge(&before, &after), back = judge(&after, &before);
    assert_int_equal(forth.worse, 0);
    assert_true(forth.moved.cycles[1] / forth.moved.cycles[0] > 0.99);
    assert_true(back.moved.cycles[1] / back.moved.cycles[0] < 1.01);
}

/* A store less in a loop: it is the same loop, and was not unrolled twice before. */
static void loop_loses_a_store(void **state)
{
    (void)state;
    Written code[2] = {0};
    for (int side = 0; side < 2; side++) {
        Written *w = &code[side];
        for (int k = 0; k < 30; k++)
            put(w, ALU(4));
        for (int k = 0; k < 2 - side; k++)
            put(w, STORE(2));
        branch_to(w, 0);
        put(w, LEAVE);
    }
    MadeKernel before = kernel_of(&code[0]), after = kernel_of(&code[1]);
    Judgement j = judge(&before, &after);
    assert_int_equal((int)(j.moved.cycles[0] - j.moved.cycles[1]), 2 * LOOP_ITERATIONS);
    assert_int_equal(j.moved.unrolled + judge(&after, &before).moved.unrolled, 0);
}

/* What a barrier waits for: one that all paths come to at the same time costs less than one after arms of which one is long. */
static void barrier_waits_for_long_arm(void **state)
{
    (void)state;
    enum { BAR = 0xb1d };
    MadeKernel with = KERNEL(BRANCH_IF(4), ALU(15), ALU(15), ALU(15), MADE(BAR, MADE_ALWAYS, 5, 0), STORE(2), LEAVE);
    MadeKernel without = KERNEL(BRANCH_IF(4), ALU(15), ALU(15), ALU(15), ALU(5), STORE(2), LEAVE);
    MadeKernel first = KERNEL(MADE(BAR, MADE_ALWAYS, 5, 0), BRANCH_IF(4), ALU(15), ALU(15), ALU(15), STORE(2), LEAVE);
    double least = judge(&without, &without).moved.cycles[0], bar = judge(&first, &first).moved.cycles[0];
    Judgement j = judge(&without, &with);
    assert_true(bar > least);
    assert_int_equal((int)(j.moved.cycles[1] - j.moved.cycles[0]), 23 + 32); /* 28 for 5, and 1.42 deviations of 0 or 45 */
    assert_true(j.worse & WORSE_CYCLES);
}

/* A barrier after an arm of five iterations, or of as many copies, waits for the slowest warp as long. */
static void barrier_after_rounds(void **state)
{
    (void)state;
    enum { ROUNDS = 5, BAR = 0xb1d };
    Written code[2] = {0};
    for (int side = 0; side < 2; side++) {
        Written *w = &code[side];
        put(w, BRANCH_IF(side ? 3 * ROUNDS + 1 : 4));
        for (int k = 0; k < (side ? ROUNDS : 1); k++) {
            put(w, SHUFFLE(9));
            put(w, ALU(4));
            put(w, side ? ALU(1) : BRANCH_IF(-2));
        }
        put(w, MADE(BAR, MADE_ALWAYS, 5, 0));
        put(w, LEAVE);
    }
    MadeKernel before = kernel_of(&code[0]), after = kernel_of(&code[1]);
    Judgement forth = judge(&before, &after), back = judge(&after, &before);
    assert_int_equal((int)forth.moved.cycles[0], (int)forth.moved.cycles[1]);
    assert_int_equal((int)back.moved.cycles[1], (int)back.moved.cycles[0]);
    assert_int_equal((int)forth.moved.cycles[1], 1 + ROUNDS * (9 + 4 + 1) + 28 + 50 + 1); /* 1.42 deviations of 0 or 70 */
}

/* Each latency lies between the ends of what its sources say, on every architecture. */
static void latencies_in_their_ranges(void **state)
{
    static const unsigned known[] = {75, 80, 86, 87, 88, 89, 90, 100, 101, 103, 110, 120, 121};
    (void)state;
    for (size_t a = 0; a < sizeof known / sizeof *known; a++) {
        Latencies taken = latency_table(known[a]), least = taken, most = taken;
        for (unsigned kind = LATENCY_NONE + 1; kind < LATENCY_KINDS; kind++) {
            latency_move(&least, (LatencyKind)kind, known[a], LATENCY_LEAST);
            latency_move(&most, (LatencyKind)kind, known[a], LATENCY_MOST);
            assert_non_null(latency_name((LatencyKind)kind));
            assert_in_range(taken.cycles[kind], least.cycles[kind], most.cycles[kind]);
            assert_true(least.cycles[kind] > 0);
        }
    }
    assert_true(latency_table(86).cycles[LATENCY_FP64] > 4 * latency_table(80).cycles[LATENCY_FP64]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_moved),
        cmocka_unit_test(spills),
        cmocka_unit_test(spills_without_notes),
        cmocka_unit_test(registers_that_move),
        cmocka_unit_test(warps_by_later_size),
        cmocka_unit_test(warps_by_registers),
        cmocka_unit_test(warps_by_size_of_block),
        cmocka_unit_test(warps_by_shared_memory),
        cmocka_unit_test(warps_by_shared_memory_of_objects),
        cmocka_unit_test(warps_by_barriers),
        cmocka_unit_test(warps_of_dynamic_shared_memory),
        cmocka_unit_test(spills_against_warps),
        cmocka_unit_test(local_memory_against_warps),
        cmocka_unit_test(cycles_against_warps),
        cmocka_unit_test(warps_of_two_sizes),
        cmocka_unit_test(spills_against_cycles),
        cmocka_unit_test(one_answer_for_two),
        cmocka_unit_test(dead_band),
        cmocka_unit_test(one_of_two_is_better),
        cmocka_unit_test(wait_before_loop),
        cmocka_unit_test(exit_of_loop_changes),
        cmocka_unit_test(loop_loses_a_store),
        cmocka_unit_test(barrier_waits_for_long_arm),
        cmocka_unit_test(barrier_after_rounds),
        cmocka_unit_test(latencies_in_their_ranges),
        cmocka_unit_test(cycles),
        cmocka_unit_test(waits_on_two_paths),
        cmocka_unit_test(waits_after_short_arms),
        cmocka_unit_test(instructions),
        cmocka_unit_test(order),
        cmocka_unit_test(loops_weigh),
        cmocka_unit_test(copies_of_unrolled_loop),
        cmocka_unit_test(loop_in_loop_of_one_version),
        cmocka_unit_test(loop_around_is_no_copies),
        cmocka_unit_test(other_loop_is_no_copies),
        cmocka_unit_test(unrolled_loop),
        cmocka_unit_test(unrolled_inner_loop),
        cmocka_unit_test(unrolled_loop_that_costs),
        cmocka_unit_test(shorter_loop),
        cmocka_unit_test(loops_in_their_places),
        cmocka_unit_test(unrolled_to_the_end),
        cmocka_unit_test(rounds_written_out),
        cmocka_unit_test(nested_rounds_written_out),
        cmocka_unit_test(rounds_in_unrolled_loop),
        cmocka_unit_test(split_loop),
        cmocka_unit_test(parts_share_iterations),
        cmocka_unit_test(peeled_loop),
        cmocka_unit_test(unrolled_short_loop),
        cmocka_unit_test(loop_that_gathers_lanes),
        cmocka_unit_test(branch_never_taken),
        cmocka_unit_test(executed_by_nobody),
        cmocka_unit_test(loop_through_call),
        cmocka_unit_test(loop_through_saved_barrier),
        cmocka_unit_test(called_functions),
        cmocka_unit_test(what_moved),
        cmocka_unit_test(cut_short),
        cmocka_unit_test(not_known),
        cmocka_unit_test(bytes_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
