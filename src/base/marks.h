/* A set of small numbers that can be emptied in constant time: the nodes that a walk has visited. */
#ifndef PTXOPT_BASE_MARKS_H
#define PTXOPT_BASE_MARKS_H

#include "base/arena.h"

typedef struct Marks {
    u32 *of, walk; /* of: by number, the last walk that marked it */
} Marks;

/* An empty set over 0..count-1; memory from the arena. */
static inline Marks marks_new(Arena *arena, u32 count) { return (Marks){arena_array(arena, u32, count), 1}; }
static inline void marks_clear(Marks *m) { m->walk++; }
static inline bool marks_has(const Marks *m, u32 i) { return m->of[i] == m->walk; }

/* Adds i; false: it was a member already. */
static inline bool marks_add(Marks *m, u32 i)
{
    bool added = !marks_has(m, i);
    m->of[i] = m->walk;
    return added;
}

#endif
