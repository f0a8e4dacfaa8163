/* Writes kernels with loops of the shapes that ptxas is known to get wrong, for tests/bugs.sh.
 *   bugloops constant COUNT SEED TARGET  loops that read only constants; a kernel's name ends with what it stores, in hexadecimal
 *   bugloops counted COUNT SEED TARGET   loops that store; a kernel's name ends with how often
 *   bugloops entries COUNT SEED TARGET   loops with two entries, which a branch that divides a warp leads to
 *   bugloops table                       a line for each row of target/bugs.def: NAME KIND PHASE/CASE...
 * Each kernel draws its form of test, step, body and end. What it stores is computed here, along with the text. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"

enum { TRIPS = 40, SHAPES = 1000, ENTRY_FORMS = 6, LATCH_FORMS = 6 };

static u64 state;

static unsigned draw(unsigned below) { return (unsigned)(splitmix64(&state) % below); }

/* ---- loops with a constant number of iterations --------------------------------------------------------------------- */

typedef enum Test { TEST_EQ, TEST_NE, TEST_LT, TEST_LE, TEST_GT, TEST_GE, TESTS } Test;
static const char *const test_names[] = {"eq", "ne", "lt", "le", "gt", "ge"};

typedef enum Body {
    BODY_SET,
    BODY_ADD,
    BODY_SUB,
    BODY_XOR,
    BODY_MUL,
    BODY_SHL,
    BODY_SHR,
    BODY_INDEX,
    BODY_PICK,
    BODIES,
    BODY_STORE = BODIES
} Body;

typedef struct Loop {
    bool wide;      /* the counter has 64 bits */
    bool is_signed; /* of the test */
    bool bottom;    /* where it is tested */
    bool late;      /* the step stands after the comparison */
    bool negated;   /* the branch has @!p */
    bool leaves;    /* the branch leaves the loop, and a jump leads back */
    bool barrier;   /* the body has one, which orders nothing */
    Test test;
    Body body;
    int64_t start, bound, step;
    u64 value; /* of the body */
    bool wide_value;
} Loop;

static const u64 values[] = {1, 2, 3, 5, 1000, 0x7fffffff, 0x80000000, 0xffffffff, 0x12345678};
static const int64_t steps[] = {1, 2, -1, 3, -2};

static Loop draw_loop(bool wide_value)
{
    Loop l = {
        .wide = !draw(4), .is_signed = draw(2), .bottom = draw(2), .late = draw(2), .negated = draw(2), .leaves = draw(2)};
    l.test = draw(TESTS);
    l.body = draw(BODIES);
    l.step = steps[draw(5)];
    l.start = draw(8);
    l.bound = draw(3) ? l.start + l.step * (int64_t)draw(9) : (int64_t)draw(12);
    l.value = values[draw(9)];
    l.wide_value = wide_value;
    l.leaves |= !l.bottom;
    return l;
}

static u64 narrow(u64 value, bool wide) { return wide ? value : (uint32_t)value; }
static int64_t widen(u64 value, bool wide) { return wide ? (int64_t)value : (int32_t)value; }

static bool holds(const Loop *l, u64 counter)
{
    u64 a = narrow(counter, l->wide), b = narrow((u64)l->bound, l->wide);
    int64_t c = widen(counter, l->wide), d = l->bound;
    switch (l->test) {
    case TEST_EQ: return a == b;
    case TEST_NE: return a != b;
    case TEST_LT: return l->is_signed ? c < d : a < b;
    case TEST_LE: return l->is_signed ? c <= d : a <= b;
    case TEST_GT: return l->is_signed ? c > d : a > b;
    default: return l->is_signed ? c >= d : a >= b;
    }
}

static u64 run_body(const Loop *l, u64 v, u64 counter)
{
    u64 bits = l->wide_value ? 63 : 31;
    switch (l->body) {
    case BODY_SET: return l->value;
    case BODY_ADD: return v + l->value;
    case BODY_SUB: return v - l->value;
    case BODY_XOR: return v ^ l->value;
    case BODY_MUL: return v * l->value;
    case BODY_SHL: return v << (l->value & 3);
    case BODY_SHR: return narrow(v, l->wide_value) >> (l->value & bits & 3);
    case BODY_INDEX: return v + narrow(counter, l->wide_value);
    case BODY_STORE: return v + 1;
    default: return counter & 1 ? v ^ l->value : v;
    }
}

/* Whether the loop ends, and then what it leaves in *v and *counter. It goes on where the test holds, or where it does not. */
static bool run_loop(const Loop *l, bool goes_on, u64 *v, u64 *counter)
{
    *counter = (u64)l->start;
    for (unsigned trips = 0; trips < TRIPS; trips++) {
        bool on;
        if (l->bottom) {
            *v = run_body(l, *v, *counter);
            u64 next = *counter + (u64)l->step;
            on = holds(l, l->late ? *counter : next) == goes_on;
            *counter = next;
        } else {
            if (!l->late)
                *counter += (u64)l->step;
            on = holds(l, *counter) == goes_on;
            if (on) {
                *v = run_body(l, *v, *counter);
                *counter += l->late ? (u64)l->step : 0;
            }
        }
        *v = narrow(*v, l->wide_value);
        *counter = narrow(*counter, l->wide);
        if (!on)
            return true;
    }
    return false;
}

static const char *bits_of(bool wide) { return wide ? "64" : "32"; }

static void print_step(const Loop *l, const char *n)
{
    if (l->step < 0)
        printf("\tsub.s%s %s, %s, %" PRId64 ";\n", bits_of(l->wide), n, n, -l->step);
    else
        printf("\tadd.s%s %s, %s, %" PRId64 ";\n", bits_of(l->wide), n, n, l->step);
}

static void print_body(const Loop *l, const char *v, const char *n)
{
    const char *bits = bits_of(l->wide_value);
    char number[32];
    snprintf(number, sizeof number, l->wide_value ? "0x%" PRIx64 : "%" PRId64,
             l->wide_value ? l->value : (u64)(int32_t)l->value);
    if (l->barrier)
        puts("\tbar.sync 0;");
    switch (l->body) {
    case BODY_SET: printf("\tmov.u%s %s, %s;\n", bits, v, number); break;
    case BODY_ADD: printf("\tadd.s%s %s, %s, %s;\n", bits, v, v, number); break;
    case BODY_SUB: printf("\tsub.s%s %s, %s, %s;\n", bits, v, v, number); break;
    case BODY_XOR: printf("\txor.b%s %s, %s, %s;\n", bits, v, v, number); break;
    case BODY_MUL: printf("\tmul.lo.s%s %s, %s, %s;\n", bits, v, v, number); break;
    case BODY_SHL: printf("\tshl.b%s %s, %s, %u;\n", bits, v, v, (unsigned)(l->value & 3)); break;
    case BODY_SHR: printf("\tshr.u%s %s, %s, %u;\n", bits, v, v, (unsigned)(l->value & 3)); break;
    case BODY_INDEX:
        if (l->wide == l->wide_value)
            printf("\tadd.s%s %s, %s, %s;\n", bits, v, v, n);
        else
            printf("\tcvt.u%s.u%s %%%c9, %s;\n\tadd.s%s %s, %s, %%%c9;\n", bits, bits_of(l->wide),
                   l->wide_value ? 'w' : 'r', n, bits, v, v, l->wide_value ? 'w' : 'r');
        break;
    case BODY_STORE: puts("\tst.volatile.global.u32 [%rd1], %r3;"); break;
    default:
        printf("\tand.b%s %s8, %s, 1;\n\tsetp.ne.s%s %%q9, %s8, 0;\n\t@%%q9 xor.b%s %s, %s, %s;\n", bits_of(l->wide),
               l->wide ? "%w" : "%r", n, bits_of(l->wide), l->wide ? "%w" : "%r", bits, v, v, number);
    }
}

static void print_test(const Loop *l)
{
    printf("\tsetp.%s.%c%s %%p%d, %s, %" PRId64 ";\n", test_names[l->test], l->is_signed ? 's' : 'u', bits_of(l->wide), 1,
           l->wide ? "%w1" : "%r1", l->bound);
}

static void print_loop(const Loop *l, bool goes_on, unsigned number)
{
    const char *n = l->wide ? "%w1" : "%r1", *v = l->wide_value ? "%w2" : "%r2";
    const char *guard = (l->leaves == goes_on) ? "@!%p1" : "@%p1";
    printf("\tmov.u%s %s, %" PRId64 ";\nL%u:\n", bits_of(l->wide), n, l->start, number);
    if (l->bottom)
        print_body(l, v, n);
    if (!l->late)
        print_step(l, n);
    print_test(l);
    if (l->bottom && l->late)
        print_step(l, n);
    if (l->leaves)
        printf("\t%s bra D%u;\n", guard, number);
    else
        printf("\t%s bra L%u;\n", guard, number);
    if (!l->bottom) {
        print_body(l, v, n);
        if (l->late)
            print_step(l, n);
    }
    printf(l->leaves ? "\tbra L%u;\nD%u:\n" : "", number, number);
}

static u64 print_end(unsigned form, u64 constant, u64 v, bool wide)
{
    const char *bits = bits_of(wide), *reg = wide ? "%w2" : "%r2";
    switch (form) {
    case 0: return v;
    case 1: printf("\tsub.s%s %s, %" PRIu64 ", %s;\n", bits, reg, constant, reg); return constant - v;
    case 2: printf("\tadd.s%s %s, %s, %" PRIu64 ";\n", bits, reg, reg, constant); return v + constant;
    case 3: printf("\txor.b%s %s, %s, %" PRIu64 ";\n", bits, reg, reg, constant); return v ^ constant;
    default: printf("\tmul.lo.s%s %s, %s, %" PRIu64 ";\n", bits, reg, reg, constant); return v * constant;
    }
}

/* One to three loops one after another, on one value. */
static void print_constant(unsigned number)
{
    Loop loops[3];
    bool goes_on[3], wide = !draw(5), barriers = !draw(4);
    unsigned count = 1 + draw(3), form = draw(5);
    u64 first = draw(2) ? 0 : values[draw(9)], v = first, counter, constant = draw(2) ? 1000 : 7;
    for (unsigned k = 0; k < count; k++) {
        u64 before = v;
        do {
            v = before;
            loops[k] = draw_loop(wide);
            loops[k].barrier = barriers;
            goes_on[k] = draw(2);
        } while (!run_loop(&loops[k], goes_on[k], &v, &counter));
    }
    u64 stored = form == 1   ? constant - v
                 : form == 2 ? v + constant
                 : form == 3 ? v ^ constant
                 : form == 4 ? v * constant
                             : v;
    printf(".visible .entry k%u_%0*" PRIx64 "(.param .u64 out)\n{\n\t.reg .pred %%p<3>, %%q<10>;\n\t.reg .b32 %%r<10>;\n"
           "\t.reg .b64 %%w<10>, %%rd<3>;\n\tld.param.u64 %%rd1, [out];\n\tcvta.to.global.u64 %%rd1, %%rd1;\n",
           number, wide ? 16 : 8, narrow(stored, wide));
    printf("\tmov.b%s %s, %" PRId64 ";\n", bits_of(wide), wide ? "%w2" : "%r2",
           (int64_t)(wide ? first : (u64)(int32_t)first));
    for (unsigned k = 0; k < count; k++)
        print_loop(&loops[k], goes_on[k], k);
    print_end(form, constant, v, wide);
    printf("\tst.global.u%s [%%rd1], %s;\n\tret;\n}\n", bits_of(wide), wide ? "%w2" : "%r2");
}

/* A loop that stores in each iteration what the thread reads: as often as the name says at its end. */
static void print_counted(unsigned number)
{
    Loop loop;
    u64 stores, counter;
    bool goes_on;
    do {
        loop = draw_loop(false);
        loop.body = BODY_STORE;
        goes_on = draw(2);
        stores = 0;
    } while (!run_loop(&loop, goes_on, &stores, &counter));
    printf(".visible .entry c%u_%08" PRIx64 "(.param .u64 out)\n{\n\t.reg .pred %%p<3>;\n\t.reg .b32 %%r<10>;\n"
           "\t.reg .b64 %%w<10>, %%rd<3>;\n\tld.param.u64 %%rd1, [out];\n\tcvta.to.global.u64 %%rd1, %%rd1;\n\tmov.u32 "
           "%%r3, %%tid.x;\n",
           number, stores);
    print_loop(&loop, goes_on, 0);
    puts("\tret;\n}");
}

/* ---- loops with two entries --------------------------------------------------------------------------------------- */

static void print_entry(unsigned form)
{
    switch (form) {
    case 0: puts("\t@%p1 bra LATCH;"); break;
    case 1: puts("\t@!%p1 bra LATCH;"); break;
    case 2: puts("\t@!%p1 bra BODY;\n\tbra LATCH;"); break;
    case 3: puts("\t@%p1 bra BODY;\n\tbra LATCH;"); break;
    case 4: puts("\t@%p1 bra LEFT;\n\tadd.s32 %r4, %r4, 3;\n\tbra LATCH;\nLEFT:\n\tadd.s32 %r4, %r4, 5;"); break;
    default: puts("\t@%p1 bra LEFT;\n\tbra RIGHT;\nLEFT:\n\tbra BODY;\nRIGHT:\n\tbra LATCH;"); break;
    }
}

static void print_body_of_entries(unsigned form)
{
    switch (form) {
    case 0: puts("\tmov.u32 %r4, 0;"); break;
    case 1: puts("\tadd.s32 %r4, %r4, 7;"); break;
    case 2: puts("\txor.b32 %r4, %r4, %r1;"); break;
    default: puts("\tld.global.u32 %r5, [%rd2];\n\tadd.s32 %r4, %r4, %r5;"); break;
    }
}

static void print_latch(unsigned form)
{
    static const char *const tests[] = {"eq", "le", "eq"};
    const char *guard = draw(2) ? "@%p2" : "@!%p2";
    bool negated = guard[1] == '!';
    unsigned kind = draw(3);
    const char *test = negated ? (kind == 1 ? "gt" : "ne") : tests[kind];
    switch (form) {
    case 0:
    case 1:
        printf("\tsetp.%s.%c32 %%p2, %%r3, 0;\n\t%s bra DONE;\n\tsub.s32 %%r3, %%r3, 1;\n\tbra BODY;\n", test,
               kind == 1 ? 's' : 'u', guard);
        break;
    case 2:
        printf("\tsub.s32 %%r3, %%r3, 1;\n\tsetp.%s.s32 %%p2, %%r3, 0;\n\t%s bra DONE;\n\tbra BODY;\n", test, guard);
        break;
    case 3:
        printf("\tsub.s32 %%r3, %%r3, 1;\n\tsetp.%s.s32 %%p2, %%r3, 0;\n\t%s bra BODY;\n", negated ? "le" : "gt", guard);
        break;
    case 4:
        printf("\tsetp.%s.s32 %%p2, %%r3, 0;\n\tsub.s32 %%r3, %%r3, 1;\n\t%s bra BODY;\n", negated ? "le" : "gt", guard);
        break;
    default:
        printf("\tsetp.%s.s32 %%p2, %%r3, 0;\n\t%s bra DONE;\n\tadd.s32 %%r4, %%r4, 1;\n\tsub.s32 %%r3, %%r3, 1;\n\tbra "
               "BODY;\n",
               test, guard);
    }
}

static void print_entries(unsigned number)
{
    printf(
        ".visible .entry e%u(.param .u64 out, .param .u32 count)\n{\n\t.reg .pred %%p<4>;\n\t.reg .b32 %%r<10>;\n"
        "\t.reg .b64 %%rd<4>;\n\tld.param.u64 %%rd1, [out];\n\tcvta.to.global.u64 %%rd1, %%rd1;\n\tmov.u32 %%r1, %%tid.x;\n"
        "\tmad.wide.u32 %%rd2, %%r1, 4, %%rd1;\n\tsetp.%s.s32 %%p1, %%r1, %u;\n\tmov.u32 %%r4, 1;\n",
        number, test_names[draw(TESTS)], draw(4));
    if (draw(3))
        printf("\tmov.u32 %%r3, %u;\n", 2 + draw(6));
    else
        puts("\tld.param.u32 %r3, [count];");
    print_entry(draw(ENTRY_FORMS));
    puts("BODY:");
    print_body_of_entries(draw(4));
    puts("LATCH:");
    print_latch(draw(LATCH_FORMS));
    puts("DONE:\n\tst.global.u32 [%rd2], %r4;\n\tret;\n}");
}

static int print_table(void)
{
#define BUG(name, first, last, sm, kind, shape, does, source, cases) puts(#name " " kind " " cases);
#include "target/bugs.def"
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "table") == 0)
        return print_table();
    if (argc != 5) {
        fputs("usage: bugloops constant|counted|entries COUNT SEED TARGET, or bugloops table\n", stderr);
        return 2;
    }
    unsigned count = (unsigned)strtoul(argv[2], NULL, 10);
    state = strtoul(argv[3], NULL, 10);
    printf(".version 8.7\n.target %s\n.address_size 64\n", argv[4]);
    for (unsigned k = 0; k < count; k++)
        strcmp(argv[1], "constant") == 0  ? print_constant(k)
        : strcmp(argv[1], "counted") == 0 ? print_counted(k)
                                          : print_entries(k);
    return 0;
}
