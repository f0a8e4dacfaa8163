/* Finds the functions that the hooks stand before, and stands before dlsym, through which many programs find them. */
#ifndef PTXOPT_USE_PRELOAD_REAL_H
#define PTXOPT_USE_PRELOAD_REAL_H

typedef enum RealLibrary { REAL_DRIVER, REAL_NVRTC, REAL_NVJITLINK } RealLibrary;

/* The function of that name that the code at `caller` would call without us; NULL: there is none. */
void *real_for(const char *name, RealLibrary library, const void *caller);
/* Another function of the library that holds `function`. */
void *real_beside(const void *function, const char *name);

#endif
