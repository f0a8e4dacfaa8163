/* ptxgen: writes a random kernel. See ptxgen.h. */
#include "ptxgen.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>

static const char usage[] =
    "usage: ptxgen [--seed=N] [--size=N] [--features=LIST | --without=LIST] [--mix] [--launch=FILE] [-o FILE]\n"
    "\n"
    "Writes a random PTX kernel, valid by construction, that depends on the options alone.\n"
    "  --seed=N         default 1\n"
    "  --size=N         statements, roughly (default 20)\n"
    "  --features=LIST  only these\n"
    "  --without=LIST   all but these\n"
    "  --mix            leave out some of them, as the seed says\n"
    "  --launch=FILE    write launches for tests/exec/ptxrun\n"
    "\n"
    "Features:\n";

static void print_usage(FILE *out)
{
    fputs(usage, out);
#define FEATURE(id, name, what) fprintf(out, "  %-16s %s\n", name, what);
#include "features.def"
#undef FEATURE
}

static u64 feature_list(const char *list)
{
    u64 set;
    if (!ptxgen_features(list, &set))
        exit(2);
    return set;
}

static void write_file(const char *path, const Text *t)
{
    FILE *out = strcmp(path, "-") == 0 ? stdout : fopen(path, "w");
    if (!out || fwrite(t->v, 1, t->n, out) != t->n || fflush(out) != 0) {
        fprintf(stderr, "ptxgen: %s: %s\n", path, strerror(errno));
        exit(2);
    }
    if (out != stdout)
        fclose(out);
}

int main(int argc, char **argv)
{
    enum { SEED = 1, SIZE, FEATURES, WITHOUT, MIX, LAUNCH, HELP };
    static const struct option known[] = {{"seed", 1, NULL, SEED},         {"size", 1, NULL, SIZE},
                                          {"features", 1, NULL, FEATURES}, {"without", 1, NULL, WITHOUT},
                                          {"mix", 0, NULL, MIX},           {"launch", 1, NULL, LAUNCH},
                                          {"help", 0, NULL, HELP},         {0}};
    GenOptions options = {.seed = 1, .size = 20, .features = GEN_ALL};
    const char *output = "-", *launch_file = NULL;
    for (int code; (code = getopt_long(argc, argv, "o:", known, NULL)) != -1;)
        switch (code) {
        case SEED: options.seed = strtoull(optarg, NULL, 0); break;
        case SIZE: options.size = (u32)strtoul(optarg, NULL, 0); break;
        case FEATURES: options.features = feature_list(optarg); break;
        case WITHOUT: options.features = GEN_ALL & ~feature_list(optarg); break;
        case MIX: options.mix = true; break;
        case LAUNCH: launch_file = optarg; break;
        case 'o': output = optarg; break;
        case HELP: print_usage(stdout); return 0;
        default: print_usage(stderr); return 2;
        }
    Text ptx = {0}, launch = {0};
    ptxgen(&options, &ptx, &launch);
    write_file(output, &ptx);
    if (launch_file)
        write_file(launch_file, &launch);
    vec_free(&ptx);
    vec_free(&launch);
    return 0;
}
