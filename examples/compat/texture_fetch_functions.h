/* CUDA 12 dropped this header, but clang 19's CUDA wrapper still includes it.
 * No example uses textures, so an empty one does. Only regen.sh's clang runs
 * look here. */
