#include "judge/machine/latency.h"

#include <stddef.h>

typedef struct LatencyRow {
    LatencyKind kind;
    const char *name;
    unsigned first, last; /* architectures */
    unsigned cycles[LATENCY_MOST + 1];
    const char *source;
} LatencyRow;

static const LatencyRow rows[] = {
#define LATENCY(kind, first, last, least, taken, most, source) \
    {LATENCY_##kind, #kind, first, last, {least, taken, most}, source},
#include "judge/machine/latencies.def"
};

static const LatencyRow *row_of(LatencyKind kind, unsigned sm)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].kind == kind && rows[i].first <= sm && sm <= rows[i].last)
            return &rows[i];
    return NULL;
}

void latency_move(Latencies *latencies, LatencyKind kind, unsigned sm, LatencyEnd end)
{
    const LatencyRow *row = row_of(kind, sm);
    latencies->cycles[kind] = row ? row->cycles[end] : 0;
}

Latencies latency_table(unsigned sm)
{
    Latencies latencies = {{0}};
    for (unsigned kind = 0; kind < LATENCY_KINDS; kind++)
        latency_move(&latencies, (LatencyKind)kind, sm, LATENCY_TAKEN);
    return latencies;
}

const char *latency_name(LatencyKind kind)
{
    const LatencyRow *row = row_of(kind, 0);
    return row ? row->name : NULL;
}
