/* codereport: judges what ptxas made of the examples before and after ptxopt. Reads what tests/report.sh gathers (see
 * report/table.h), prints verdicts, a report in Markdown, a picture in SVG. */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "report/judge.h"
#include "report/print.h"

static const char usage[] = "usage: codereport [options] FIGURES\n"
                            "  --allowed=FILE    kernels that may be worse, with reasons\n"
                            "  --check           print a line for each kernel: pass or fail\n"
                            "  --markdown=FILE   write the report\n"
                            "  --svg=FILE        write the picture\n"
                            "  --level=TEXT      what the titles say of ptxopt's options\n";

typedef struct Options {
    const char *allowed, *markdown, *svg, *level;
    bool check;
} Options;

static bool parse_options(Options *options, int argc, char **argv)
{
    static const struct option names[] = {
        {"allowed", required_argument, NULL, 'a'},  {"check", no_argument, NULL, 'c'},
        {"markdown", required_argument, NULL, 'm'}, {"svg", required_argument, NULL, 's'},
        {"level", required_argument, NULL, 'l'},    {0},
    };
    for (int option; (option = getopt_long(argc, argv, "", names, NULL)) != -1;) {
        switch (option) {
        case 'a': options->allowed = optarg; break;
        case 'c': options->check = true; break;
        case 'm': options->markdown = optarg; break;
        case 's': options->svg = optarg; break;
        case 'l': options->level = optarg; break;
        default: return false;
        }
    }
    return optind + 1 == argc;
}

static bool write_file(const char *path, const Table *table, const char *level,
                       void (*print)(FILE *out, const Table *table, const char *level))
{
    FILE *out = fopen(path, "w");
    if (out) {
        print(out, table, level);
        if (!fclose(out))
            return true;
    }
    perror(path);
    return false;
}

int main(int argc, char **argv)
{
    Options options = {.level = "-O2"};
    Table table = {0};
    AllowedList allowed = {0};
    if (!parse_options(&options, argc, argv)) {
        fputs(usage, stderr);
        return 2;
    }
    if (!table_read(&table, argv[optind]) || (options.allowed && !allowed_read(&allowed, options.allowed)))
        return 2;
    judge(&table, &allowed);
    if (options.check)
        print_verdicts(&table, &allowed, options.allowed);
    if (options.markdown && !write_file(options.markdown, &table, options.level, print_markdown))
        return 1;
    return options.svg && !write_file(options.svg, &table, options.level, print_svg);
}
