/* usage: plugins FILE PLUGIN...: calls plugin_load() of each library, with the text of the file. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    static char text[1 << 20];
    FILE *file = argc > 1 ? fopen(argv[1], "rb") : NULL;
    if (!file || fread(text, 1, sizeof text - 1, file) == 0)
        return 99;
    fclose(file);
    if (dlsym(RTLD_DEFAULT, "cuModuleLoadData") || !dlerror() || dlsym(dlopen(NULL, RTLD_NOW), "nvrtcGetPTX") || !dlerror())
        return 98; /* there is no driver yet */
    for (int i = 2; i < argc; i++) {
        void *plugin = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
        int (*load)(const char *) = plugin ? (int (*)(const char *))dlsym(plugin, "plugin_load") : NULL;
        if (!load || load(text) != 0)
            return 97;
    }
    return 0;
}
