#include <string.h>

#include "print.h"

const char *const *table_producers(void)
{
    static const char *const producers[] = {"nvcc", "clang", "hand", NULL};
    return producers;
}

Sum table_sum(const Table *table, const char *producer, int target)
{
    Sum sum = {0};
    for (size_t i = 0; i < table->count; i++) {
        const Kernel *k = &table->kernel[i];
        const Result *r = &k->result[target];
        if (r->verdict == VERDICT_NONE || (producer && strcmp(k->producer, producer)))
            continue;
        sum.kernels++;
        sum.verdict[r->verdict]++;
        sum.unrolled += r->unrolled;
        if (r->unrolled) {
            sum.grown_before += r->before.figure[FIG_INSTR];
            sum.grown_after += r->after.figure[FIG_INSTR];
            continue;
        }
        for (int f = 0; f < FIG_COUNT; f++) {
            sum.before[f] += r->before.figure[f];
            sum.after[f] += r->after.figure[f];
        }
    }
    return sum;
}
