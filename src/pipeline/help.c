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
        help = arena_printf(&arena, "%s: %s (default: %s)", knob->phase, knob->help, knob->number ? "yes" : "no");
    else if (knob->kind == KNOB_NUMBER)
        help = arena_printf(&arena, "%s: %s (default: %lld)", knob->phase, knob->help, (long long)knob->number);
    else
        help = arena_printf(&arena, "%s: %s (default: %s)", knob->phase, knob->help, knob->text[0] ? knob->text : "none");
    put_help(out, fprintf(out, form[knob->kind], knob->name), help);
    arena_free(&arena);
}

void help_print(FILE *out)
{
    fputs("usage: ptxopt [options] [in.ptx] -o out.ptx\n\n"
          "Optimizes PTX into PTX for ptxas. `-` is standard input or output; a pipe on\n"
          "standard input is read where no file is named. The target is the file's own.\n",
          out);
    for (const OptionHelp *option = help_row; option < help_row + COUNT_OF(help_row); option++) {
        if (option->heading)
            fprintf(out, "\n%s:\n", option->heading);
        else if (*option->help)
            help_option(out, option);
    }
    fputs("\nKnobs of the phases:\n", out);
    for (u32 i = 0; i < knob_count(); i++)
        help_knob(out, knob_info(i));
    fputs("\nA LIST is names of phases with commas between them; a GLOB is a function's name\n"
          "as the PTX has it, `*` any text, `?` any character. `@FILE` stands for the\n"
          "options that FILE holds.\n"
          "Exit status: 0 done; 1 bad input or usage; 70 internal error. Only with 0 is\n"
          "output written.\n",
          out);
}
