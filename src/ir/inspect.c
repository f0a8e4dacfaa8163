#include "ir/inspect.h"

#include <string.h>

void fn_sreg_bounds(const Function *fn, const Operand *o, u64 *least, u64 *most)
{
    const SregInfo *sreg = sreg_info(o->id);
    *least = sreg->min;
    *most = sreg->max;
    if (o->sub < SUB_X || o->sub > SUB_Z)
        return;
    u64 extent = block_extent(fn, (u32)(o->sub - SUB_X));
    bool is_tid = strcmp(sreg->name, "%tid") == 0;
    if (!extent || (!is_tid && strcmp(sreg->name, "%ntid") != 0))
        return;
    if (!is_tid && fn->shape_exact)
        *least = extent;
    if (extent - is_tid < *most)
        *most = extent - is_tid;
}
