/* bugcode --constants | --stores | --counters CUBIN: what is read from the machine code of each kernel, one a line after its name, for
 * tests/bugs.sh. --constants: the number that it stores, in hexadecimal, or `-` where the code computes it
 * in a loop, or by what is not known here; of kernels that store one number once.
 * --stores: how often it stores, where its code is straight. --counters: how many uniform counters serve lanes of different ways. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "judge/machine/uniform_counter.h"

/* Operations and forms of operands, as in judge/machine/sass.c; measured against nvdisasm. */
enum {
    OP_MOV = 0x002,
    OP_CS2R = 0x005,
    OP_IMAD = 0x024,
    OP_HFMA2 = 0x031,
    OP_HFMA2_MMA = 0x035,
    FORM_CONSTANT_LAST = 2, /* the third source */
    FORM_CONSTANT = 4,
    WIDTH_64 = 5
};

static u64 word(const uint8_t *bytes)
{
    u64 value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

static unsigned field(u64 bits, unsigned shift, unsigned count) { return (unsigned)(bits >> shift & ((1u << count) - 1)); }

/* Whether the instruction gives the register a constant, and which. */
static bool gives(const uint8_t *code, unsigned reg, bool *constant, uint32_t *value)
{
    u64 low = word(code);
    unsigned op = field(low, 0, 9), form = field(low, 9, 3), to = field(low, 16, 8);
    bool moves =
        (op == OP_MOV && form == FORM_CONSTANT) || ((op == OP_IMAD || op == OP_HFMA2 || op == OP_HFMA2_MMA) &&
                                                    form == FORM_CONSTANT_LAST && field(low, 24, 8) == SASS_NO_REGISTER);
    bool zero = op == OP_CS2R || (op == OP_IMAD && form == 1 && field(low, 24, 8) == SASS_NO_REGISTER &&
                                  field(low, 32, 8) == SASS_NO_REGISTER);
    if (to != reg && !(op == OP_CS2R && to + 1 == reg))
        return false;
    *constant = moves || zero;
    *value = zero ? 0 : (uint32_t)(low >> 32);
    return true;
}

/* What the register holds in front of the instruction, in straight code. */
static bool holds(const CubinFunction *f, const SassCode *code, size_t before, unsigned reg, uint32_t *value)
{
    bool constant;
    *value = 0;
    if (reg == SASS_NO_REGISTER)
        return true;
    while (before--)
        if (code->instrs[before].class != SASS_NOP && gives(f->code + code->instrs[before].offset, reg, &constant, value))
            return constant && !code->instrs[before].conditional;
    return false;
}

/* How often straight code stores. */
static void print_count(const CubinFunction *f, const SassCode *code)
{
    uint32_t count = 0;
    bool straight = true;
    for (size_t i = 0; i < code->count; i++) {
        count += code->instrs[i].class == SASS_STG;
        straight &= code->instrs[i].class != SASS_BRA && !code->instrs[i].conditional;
    }
    if (straight)
        printf("%s %08" PRIx32 "\n", f->name, count);
    else
        printf("%s -\n", f->name);
}

static void print_stored(const CubinFunction *f, unsigned sm, const char *what)
{
    SassCode code;
    size_t at = 0;
    uint32_t low = 0, high = 0;
    bool known = false, wide = false;
    if (!sass_read(&code, f, sm))
        return;
    if (strcmp(what, "--constants") != 0) {
        if (strcmp(what, "--stores") == 0)
            print_count(f, &code);
        else
            printf("%s %u\n", f->name, sass_uniform_counters(&code, f, sm));
        sass_free(&code);
        return;
    }
    while (at < code.count && code.instrs[at].class != SASS_STG && code.instrs[at].class != SASS_BRA)
        at++;
    if (at < code.count && code.instrs[at].class == SASS_STG) {
        const uint8_t *bytes = f->code + code.instrs[at].offset;
        unsigned reg = field(word(bytes), 32, 8);
        wide = field(word(bytes + 8), 9, 3) == WIDTH_64;
        known = holds(f, &code, at, reg, &low) &&
                (!wide || holds(f, &code, at, reg == SASS_NO_REGISTER ? reg : reg + 1, &high));
    }
    if (!known)
        printf("%s -\n", f->name);
    else if (wide)
        printf("%s %08" PRIx32 "%08" PRIx32 "\n", f->name, high, low);
    else
        printf("%s %08" PRIx32 "\n", f->name, low);
    sass_free(&code);
}

int main(int argc, char **argv)
{
    Cubin cubin;
    const char *problem =
        argc == 3 ? cubin_open(&cubin, argv[2]) : "usage: bugcode --constants | --stores | --counters CUBIN";
    if (problem) {
        fprintf(stderr, "bugcode: %s\n", problem);
        return 2;
    }
    for (size_t i = 0; i < cubin.count; i++)
        print_stored(&cubin.functions[i], cubin.sm, argv[1]);
    cubin_close(&cubin);
    return 0;
}
