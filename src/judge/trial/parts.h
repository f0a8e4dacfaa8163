/* A module split into its functions. Bodies of several versions are put into one text, which omits all that is of no
 * interest. */
#ifndef PTXOPT_JUDGE_TRIAL_PARTS_H
#define PTXOPT_JUDGE_TRIAL_PARTS_H

#include "base/fnvmap.h"
#include "base/vec.h"
#include "judge/ptxas/scratch.h"

typedef struct Part {
    const char *name;
    Str body;  /* all of its text: directives in front of the brace may change, too */
    u32 brace; /* where the brace stands in it */
    u64 hash;  /* parts_hash() knows it */
    u64 named; /* hash of the names that tuned_hash_text() passes over and that mean something outside of the function */
    u64 price; /* machine instructions, by the price list */
    u32 group; /* functions that may call one another are of one group */
    bool is_entry;
} Part;

/* What one part may call: PART_ANY stands for all that are no entry. */
enum { PART_ANY = UINT32_MAX };
typedef struct PartCall {
    u32 caller, callee;
} PartCall;

/* A global variable that has a declaration of its own. */
typedef struct PartVariable {
    const char *name;
    Str text;    /* its declaration */
    bool is_own; /* only functions name it, and it names nothing: what does not name it is the same without it */
    u64 hash;    /* of that, and of where it stands in the rest; parts_hash_rest() sets it */
} PartVariable;

typedef struct Parts {
    Arena arena;
    Str text; /* owned */
    VEC(Part) part;
    VEC(PartVariable) variables;
    VEC(PartCall) calls;
    u32 groups, sm;
    u64 rest;                   /* parts_hash_rest() without variables that are their own; 0: it is not known yet */
    FnvMap names;               /* by hash of a name: the number of the variable from 1 */
    bool begins[UINT8_MAX + 1]; /* by character: some of these names begin with it */
} Parts;

/* Whether c may stand in a name after its %. */
static inline bool is_in_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$';
}

/* False where it cannot be read, or is no PTX: to be freed all the same. */
bool parts_read(Parts *parts, const char *path);
void parts_free(Parts *parts);

u64 parts_hash(Parts *parts, u32 part); /* tuned_hash_text() of it */

/* The text between the bodies before part i and of it; i may be the number of parts. */
Str parts_text_before(const Parts *parts, u32 i);

/* The hash of the text outside of functions, as functions see it that name the variables marked in `named`. By variable:
 * parts_mark_named() marks what a body names, and possibly more. */
u64 parts_hash_rest(Parts *parts, const bool *named);
void parts_mark_named(Parts *parts, Str body, bool *named);

/* Whether no body can be left out: sections of debug data point into them. */
bool parts_are_whole(const Parts *parts);

/* By part: marks what a part may call, through others too, and itself. */
void parts_mark_called(const Parts *parts, u32 part, bool *marked);

/* Writes the text with other bodies, by part; `p` NULL: its own down to the brace, and nothing but a return, as an entry's. If
 * there is such a body, variables that are named nowhere else are left out. False if it cannot be written. */
bool parts_write(const Parts *parts, const Str *bodies, Scratch *to);

#endif
