#include "tool/proof_text.h"

#include <stdlib.h>
#include <string.h>

char *print_text(const Options *options, Module *m, Str *text)
{
    PrintOptions print = {.reprint = options->pipeline.reprint};
    char *made = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&made, &len);
    if (!out)
        return NULL;
    print_module(out, m, &print);
    fclose(out);
    *text = (Str){made, (u32)len};
    return made;
}

Function *same_function(const Module *m, const Reading *other, u32 k)
{
    if (other->diag.errors || k >= other->module->functions.n)
        return NULL;
    const Function *fn = m->functions.v[k];
    Function *found = other->module->functions.v[k];
    return found->is_definition && fn->is_definition && strcmp(found->name->text, fn->name->text) == 0 ? found : NULL;
}
