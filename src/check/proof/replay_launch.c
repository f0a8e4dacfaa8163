#include "check/proof/replay_launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "ir/inspect.h"

enum { BUFFER_WORDS = 4096, THREADS_MAX = 256, BLOCKS_MAX = 8, PARAMS_TRACKED = 64 };

/* ---- which parameters are pointers ------------------------------------------------------------------------------------------------ */

/* Index of the parameter that the operand names; PARAMS_TRACKED or more: of none that counts. */
static u32 param_of(const Function *fn, const Operand *mem)
{
    u32 k = 0;
    if (mem->kind != OPND_MEM || mem[1].kind != OPND_SYM || mem[1].value != 0)
        return PARAMS_TRACKED;
    while (k < fn->params.n && fn->params.v[k] != mem[1].id)
        k++;
    return k == fn->params.n ? PARAMS_TRACKED : k;
}

/* Parameters of which an address may be made by what i computes, one bit each: by sums, not by products. */
static u64 parameters_read(const Function *fn, const u64 *from, const Instr *i)
{
    u64 read = 0;
    bool adds = i->op->opcode == OPC_ADD || i->op->opcode == OPC_SUB || i->op->opcode == OPC_MAD ||
                i->op->opcode == OPC_MOV || i->op->opcode == OPC_CVTA || i->op->opcode == OPC_SELP ||
                i->op->opcode == OPC_CVT;
    if (i->op->opcode == OPC_LD && i->op->space == SPACE_PARAM && i->slots > 1) {
        u32 k = param_of(fn, &i->opnd[1]);
        return k < PARAMS_TRACKED ? (u64)1 << k : 0;
    }
    for (u32 k = i->op->opcode == OPC_MAD ? i->slots - 1 : 1; adds && k < i->slots; k++)
        if (i->opnd[k].kind == OPND_REG)
            read |= from[i->opnd[k].id];
    return read;
}

static bool pass_on(const Function *fn, u64 *from)
{
    bool changed = false;
    for_each_block(b, fn) {
        for_each_instr(i, b) {
            if (i->kind != INSTR_OP || i->slots == 0 || i->opnd[0].kind != OPND_REG || i->opnd[0].role != ROLE_DEF)
                continue;
            u64 read = parameters_read(fn, from, i);
            changed |= (read & ~from[i->opnd[0].id]) != 0;
            from[i->opnd[0].id] |= read;
        }
    }
    return changed;
}

static u64 pointers(const Function *fn)
{
    u64 *from = mem_zalloc((fn->regs.n + 1) * sizeof *from), found = 0;
    while (pass_on(fn, from))
        ;
    for_each_block(b, fn)
        for_each_instr(i, b)
            for (u32 k = 0; i->kind == INSTR_OP && k + 1 < i->slots; k++)
                if (i->opnd[k].kind == OPND_MEM && i->opnd[k + 1].kind == OPND_REG)
                    found |= from[i->opnd[k + 1].id];
    mem_free(from);
    return found;
}

/* ---- shapes ------------------------------------------------------------------------------------------------------------------------ */

static u64 input(const ProveVerdict *v, const char *name, u64 otherwise)
{
    for (u32 k = 0; k < v->inputs; k++)
        if (strcmp(v->input[k].name, name) == 0)
            return v->input[k].value;
    return otherwise;
}

static u64 smaller(u64 a, u64 b) { return a < b ? a : b; }

/* The extent in one dimension: as many as the counterexample has, at least one more than its index. */
static u64 extent(const ProveVerdict *v, const char *count, const char *index, char axis, u64 most)
{
    char name[2][20];
    snprintf(name[0], sizeof name[0], "%s.%c", count, axis);
    snprintf(name[1], sizeof name[1], "%s.%c", index, axis);
    u64 at = input(v, name[1], 0) + 1, n = input(v, name[0], at);
    n = n > at ? n : at;
    return n <= most ? n : most;
}

static void print_shapes(FILE *out, const Function *fn, const ProveVerdict *v, u32 attempt)
{
    static const u32 others[] = {32, 1, 64};
    u64 block[3], grid[3], threads = 1, blocks = 1, most = block_extent(fn, 0);
    most = most && most < THREADS_MAX ? most : THREADS_MAX;
    for (u32 d = 0; d < 3; d++) {
        block[d] = extent(v, "%ntid", "%tid", (char)('x' + d), most / threads);
        grid[d] = extent(v, "%nctaid", "%ctaid", (char)('x' + d), BLOCKS_MAX / blocks);
        threads *= block[d];
        blocks *= grid[d];
    }
    if (attempt % 2) {
        block[0] = smaller(others[attempt / 2 % COUNT_OF(others)], most);
        block[1] = block[2] = 1;
    }
    for (u32 d = 0; d < 3 && fn->tuning.shape_exact; d++)
        block[d] = block_extent(fn, d);
    if (attempt >= 8)
        grid[0] = 1 + attempt % 2, grid[1] = grid[2] = 1;
    fprintf(out, "grid %llu %llu %llu\nblock %llu %llu %llu\nshared 16384\n", (unsigned long long)grid[0],
            (unsigned long long)grid[1], (unsigned long long)grid[2], (unsigned long long)block[0],
            (unsigned long long)block[1], (unsigned long long)block[2]);
}

/* ---- arguments ---------------------------------------------------------------------------------------------------------------------- */

/* The counterexample's bytes, and small numbers for the rest; later on, of others too. */
static void print_value(FILE *out, const Sym *s, const ProveVerdict *v, u32 attempt, u32 number)
{
    u8 bytes[256] = {0};
    u32 n = s->bytes > 0 && s->bytes <= (i64)sizeof bytes ? (u32)s->bytes : 0;
    u64 random = random_mix((u64)attempt << 32 | number);
    bytes[0] = n ? (u8)(random_mix(random) & (random & 64 ? 63 : 15)) : 0;
    for (u32 k = 0; k < v->inputs && (attempt < 4 || random % 4 == 0); k++) {
        u32 which, at;
        if (sscanf(v->input[k].name, "argument parameter %u+%u", &which, &at) != 2 || which != number)
            continue;
        for (u32 b = 0; b < v->input[k].bits / 8 && b < 8 && at + b < n; b++)
            bytes[at + b] = (u8)(v->input[k].value >> 8 * b);
    }
    fputs("arg bytes ", out);
    for (u32 k = 0; k < n; k++)
        fprintf(out, "%02x", bytes[k]);
    fputc('\n', out);
}

/* Prints a buffer of random numbers. They can serve as sizes and indices, as floats, or as anything, by the attempt. */
static void print_buffer(FILE *out, u32 number, u32 attempt)
{
    static const char *const fill[][2] = {
        {"u32", "0 15"}, {"u32", "0 1"}, {"f32", "-2 2"}, {"u32", "0 4294967295"}, {"u32", "0 255"}};
    const char *const *f = fill[(attempt / 2 + attempt / 16) % COUNT_OF(fill)];
    fprintf(out, "buffer b%u %s %d random %u %s\noutput b%u\n", number, f[0], BUFFER_WORDS, attempt * 64 + number, f[1],
            number);
}

char *replay_launch(const Function *kernel, const ProveVerdict *v, u32 attempt)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    u64 is_pointer = pointers(kernel);
    if (!out)
        return NULL;
    fputs("launch counterexample\n", out);
    for (u32 k = 0; k < kernel->params.n && k < PARAMS_TRACKED; k++)
        if (is_pointer >> k & 1)
            print_buffer(out, k, attempt);
    fprintf(out, "kernel %.*s\n", (int)kernel->name->len, kernel->name->text);
    print_shapes(out, kernel, v, attempt);
    for (u32 k = 0; k < kernel->params.n; k++) {
        if (k < PARAMS_TRACKED && is_pointer >> k & 1)
            fprintf(out, "arg ptr b%u+%d\n", k, BUFFER_WORDS);
        else
            print_value(out, &kernel->module->syms.v[kernel->params.v[k]], v, attempt, k);
    }
    bool whole = !ferror(out); /* memory may have run out in between */
    if (fclose(out) == 0 && whole)
        return text;
    free(text);
    return NULL;
}
