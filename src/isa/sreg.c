/* Special registers: sregs.def decoded. */
#include "isa/isa.h"

#include <string.h>

#include "base/search.h"

static const SregInfo sregs[] = {
#define SREG(name, components, type, uniform, changes, low, high) \
    {(name), (components), TYPE_##type, UNI_##uniform, (changes), (low), (high)},
#include "isa/sregs.def"
};

u32 sreg_count(void) { return COUNT_OF(sregs); }

const SregInfo *sreg_info(u32 sreg) { return &sregs[sreg]; }

bool sreg_measures(const SregInfo *sreg)
{
    static const char *const stem[] = {"%clock", "%globaltimer", "%pm"};
    for (u32 k = 0; k < COUNT_OF(stem); k++)
        if (sreg->is_volatile && strncmp(sreg->name, stem[k], strlen(stem[k])) == 0)
            return true;
    return false;
}

/* Compares a name with a piece of text, byte by byte. */
static int compare(const char *name, const char *text, u32 len)
{
    int order = strncmp(name, text, len);
    return order ? order : name[len] != '\0';
}

int sreg_find(const char *text, u32 len, int *component)
{
    static const char axes[] = "xyzwrgba"; /* the last four are old names of the first four */
    const char *dot = memchr(text, '.', len);
    u32 stem = dot ? (u32)(dot - text) : len;
    u32 at = partition_point(k, 0, COUNT_OF(sregs), compare(sregs[k].name, text, stem) < 0);
    if (at == COUNT_OF(sregs) || compare(sregs[at].name, text, stem) != 0)
        return -1;
    *component = -1;
    if (!dot)
        return (int)at;
    const char *axis = len == stem + 2 ? memchr(axes, dot[1], sizeof axes - 1) : NULL;
    if (!axis || (axis - axes) % 4 >= sregs[at].components)
        return -1;
    *component = (int)((axis - axes) % 4);
    return (int)at;
}
