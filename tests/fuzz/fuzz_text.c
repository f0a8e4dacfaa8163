/* Mutated texts for libFuzzer (make fuzz). Any text is taken or refused, without a crash; for one that is taken, what is
 * printed from the operands parses, and prints the same again; and so does what -O2 makes of it, which passes the checker. */
#include <stdlib.h>

#include "optimize.h"

static void fail(const char *what, const Text *messages, const Text *text)
{
    fprintf(stderr, "%s\n%.*s---- the text:\n%.*s", what, (int)messages->n, messages->v, (int)text->n, text->v);
    abort();
}

/* Optimizes `from`, which was printed before: it must go through. */
static void again(const char *flags, Text *from, Text *to, Text *messages)
{
    vec_clear(to);
    vec_clear(messages);
    if (optimize_text(flags, text_str(from), from->n, to, messages, NULL) != OPTIMIZED)
        fail(flags, messages, from);
}

static void check_printed(Text *first, Text *second, Text *messages)
{
    again("-O0 --reprint", first, second, messages);
    Text third = {0};
    again("-O0 --reprint", second, &third, messages);
    if (second->n != third.n || memcmp(second->v, third.v, third.n) != 0)
        fail("printed twice, it differs", second, &third);
    vec_free(&third);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);
int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
    Text input = {0}, first = {0}, second = {0}, messages = {0};
    text_append(&input, (const char *)data, size);
    Optimized result = optimize_text("-O0 --reprint", text_str(&input), input.n, &first, &messages, NULL);
    if (result == BROKE_FUNCTION)
        fail("-O0", &messages, &input);
    if (result == OPTIMIZED) {
        check_printed(&first, &second, &messages);
        again("-O2 --verify-each", &input, &first, &messages);
        check_printed(&first, &second, &messages);
    }
    vec_free(&input);
    vec_free(&first);
    vec_free(&second);
    vec_free(&messages);
    return 0;
}
