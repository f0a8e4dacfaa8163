/* A toolkit of symbolic links in which ptxas is ptxopt: for programs that take CUDA's folder and no launcher. */
#ifndef PTXOPT_USE_FRONT_SHADOW_H
#define PTXOPT_USE_FRONT_SHADOW_H

#include "base/arena.h"

/* Makes `folder` the shadow of the toolkit `cuda`; NULL: of the first toolkit of $CUDA_HOME, $CUDA_PATH, that of the nvcc in PATH,
 * /usr/local/cuda. A folder of scripts that call another folder's nvcc is no toolkit. `folder` is made if need be. It
 * must be empty, or a shadow, which is made anew. One that holds anything else stays as it is. NULL, or what went wrong,
 * in `arena`: what had been made by then stays. */
const char *shadow_install(Arena *arena, const char *folder, const char *cuda);

#endif
