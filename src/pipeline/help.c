#include "pipeline/help.h"

#include <getopt.h>
#include <string.h>

#include "base/arena.h"
#include "pipeline/knobs.h"

typedef struct OptionHelp {
    const char *heading; /* of the options that follow; NULL: this is an option */
    char letter;
    const char *name;
    int argument_kind;
    const char *argument, *help;
} OptionHelp;

static const OptionHelp help_row[] = {
#define HEADING(text) {.heading = text},
#define OPTION(id, letter, name, kind, argument, help) {NULL, letter, name, kind, argument, help},
#include "pipeline/options.def"
};

enum { HELP_COLUMN = 28, HELP_WIDTH = 80 };

void help_put_wrapped(FILE *out, int column, int indent, int width, const char *text)
{
    fprintf(out, "%*s", indent - column, "");
    column = indent;
    for (const char *word = text; *word;) {
        int len = (int)strcspn(word, " ");
        if (word > text && column + 1 + len > width) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        } else if (word > text) {
            putc(' ', out);
            column++;
        }
        fprintf(out, "%.*s", len, word);
        column += len;
        word += len;
        word += *word == ' ';
    }
    putc('\n', out);
}

/* Writes what an option or knob does, after `column` characters that name it. */
static void put_help(FILE *out, int column, const char *text)
{
    if (column + 2 > HELP_COLUMN) {
        putc('\n', out);
        column = 0;
    }
    help_put_wrapped(out, column, HELP_COLUMN, HELP_WIDTH, text);
}

static void help_option(FILE *out, const OptionHelp *option)
{
    int column;
    if (option->letter && *option->name)
        column = fprintf(out, "  -%c, --%s", option->letter, option->name);
    else if (option->letter)
        column = fprintf(out, "  -%c %s", option->letter, option->argument);
    else if (option->argument_kind == optional_argument)
        column = fprintf(out, "  --%s[=%s]", option->name, option->argument);
    else
        column = fprintf(out, "  --%s%s%s", option->name, *option->argument ? "=" : "", option->argument);
    put_help(out, column, option->help);
}

static void help_knob(FILE *out, const KnobInfo *knob)
{
    static const char *const form[] = {[KNOB_FLAG] = "  --[no-]%s",
                                       [KNOB_NUMBER] = "  --%s=N",
                                       [KNOB_TEXT] = "  --%s=TEXT",
                                       [KNOB_CHOICE] = "  --%s=WORD"};
    Arena arena = {0};
    char *help;
    if (knob->kind == KNOB_FLAG)
        help = arena_printf(&arena, "%s (default: %s)", knob->help, knob->number ? "yes" : "no");
    else if (knob->kind == KNOB_NUMBER)
        help = arena_printf(&arena, "%s (default: %lld)", knob->help, (long long)knob->number);
    else
        help = arena_printf(&arena, "%s (default: %s)", knob->help, knob->text[0] ? knob->text : "none");
    put_help(out, fprintf(out, form[knob->kind], knob->name), help);
    arena_free(&arena);
}

static bool is_shown(const KnobInfo *knob) { return *knob->help && !knob->promise; }

static void help_knobs(FILE *out)
{
    const char *phase = "";
    for (u32 i = 0; i < knob_count(); i++) {
        if (!is_shown(knob_info(i)))
            continue;
        if (strcmp(phase, knob_info(i)->phase) != 0)
            fprintf(out, "\nKnobs of %s:\n", knob_info(i)->phase);
        phase = knob_info(i)->phase;
        help_knob(out, knob_info(i));
    }
}

static void help_promises(FILE *out)
{
    fputs("\nPromises, the words of --assume; where one is broken, so may be the program:\n", out);
    for (u32 i = 0; i < knob_count(); i++)
        if (knob_info(i)->promise)
            put_help(out, fprintf(out, "  %s", knob_info(i)->promise), knob_info(i)->help);
    put_help(out, fprintf(out, "  exits"),
             "the exit that ptxas treats as a function's end makes no thread wait for another");
}

void help_print(FILE *out)
{
    fputs("usage: ptxopt [options] [in.ptx] -o out.ptx\n"
          "Optimizes PTX before ptxas assembles it.\n\n"
          "  -o FILE                  write the result to FILE (default: standard output)\n"
          "  -O LEVEL                 0 nothing, 1 cheap phases, 2 most (default), 3 all\n"
          "  --guard                  ask ptxas, and leave kernels alone that got worse\n"
          "  --tune --tune-out=FILE   try options on each kernel with ptxas, keep the best\n"
          "  --tuned=FILE             apply the decisions of --tune-out, without ptxas\n"
          "  --explain                say what was done, what was not, and why\n"
          "  --remarks=FILE           write the same as records (YAML)\n"
          "  --only-function=GLOB     optimize only functions of such names\n"
          "  --skip-function=GLOB     leave functions of such names alone\n"
          "  --disable=PHASE,...      leave phases out\n"
          "  --enable=PHASE,...       run phases that -O leaves out\n"
          "  --list-phases            list the phases\n"
          "  --install-shadow=DIR     make a CUDA toolkit of links whose ptxas is ptxopt\n"
          "  -V, --version            print the version\n"
          "  -h, --help               print this text; --help-hidden prints all options\n\n"
          "  ptxopt in.ptx -o out.ptx\n"
          "  ptxopt --guard --skip-function='scan*' in.ptx -o out.ptx\n"
          "  nvcc --ptxas-prefix=ptxopt-ptxas -arch=sm_90 -o app app.cu\n\n"
          "Exit status: 0 done; 1 bad input or usage; 70 internal error.\n",
          out);
}

void help_print_all(FILE *out)
{
    fputs("usage: ptxopt [options] [in.ptx] -o out.ptx\n\n"
          "Optimizes PTX before ptxas assembles it. `-` is standard input or output; a pipe\n"
          "on standard input is read if no file is named. The target is the file's own.\n",
          out);
    for (const OptionHelp *option = help_row; option < help_row + COUNT_OF(help_row); option++) {
        if (option->heading)
            fprintf(out, "\n%s:\n", option->heading);
        else if (*option->help)
            help_option(out, option);
    }
    help_promises(out);
    help_knobs(out);
    fputs("\nA LIST is names with commas between them. A GLOB is a function's name, in PTX\n"
          "(_ZN2ns4scanEPf) or in C++ (ns::scan); `*` is any text, `?` any character.\n"
          "`@FILE` stands for the options that FILE holds.\n"
          "Exit status: 0 done; 1 bad input or usage; 70 internal error. Output is written\n"
          "only with 0.\n",
          out);
}
