#include "pipeline/suggest.h"

#include <string.h>

enum {
    LONGEST = 63 /* the most bytes of a word or name that are compared; longer ones are nobody's typing error */
};

static u32 min3(u32 a, u32 b, u32 c)
{
    u32 ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* Levenshtein's distance: the insertions, deletions and replacements that make b of a. */
static u32 edit_distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    u32 row[LONGEST + 1];
    for (u32 j = 0; j <= b_len; j++)
        row[j] = j;
    for (u32 i = 1; i <= a_len; i++) {
        u32 diagonal = row[0];
        row[0] = i;
        for (u32 j = 1; j <= b_len; j++) {
            u32 above = row[j];
            row[j] = min3(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
            diagonal = above;
        }
    }
    return row[b_len];
}

Suggestion suggestion_for(const char *word, size_t len)
{
    /* One character in three may be wrong, and two in a short word. */
    u32 limit = len / 3 > 2 ? (u32)(len / 3) : 2;
    return (Suggestion){word, len, NULL, limit + 1};
}

void suggestion_offer(Suggestion *s, const char *name)
{
    size_t len = strlen(name);
    if (len > LONGEST || s->len > LONGEST)
        return;
    /* If the word is an unfinished name, the missing rest does not count. */
    size_t compared = len > s->len && s->len >= 3 && memcmp(name, s->word, s->len) == 0 ? s->len + 1 : len;
    u32 distance = edit_distance(s->word, s->len, name, compared);
    if (distance < s->distance && distance < len) {
        s->name = name;
        s->distance = distance;
    }
}
