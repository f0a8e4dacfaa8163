#include "parse/syntax_error.h"

#include <stdio.h>
#include <string.h>

#include "parse/recover.h"

#define MESSAGE_BYTES 400
#define LISTED 5 /* the most expected tokens that are listed; more are a whole class, which is named by a typical member */

static bool is_one_of(const char *token, const char *const *list)
{
    for (; *list; list++)
        if (!strcmp(*list, token))
            return true;
    return false;
}

static bool expects(const SyntaxError *error, const char *token)
{
    for (int i = 0; i < error->count; i++)
        if (!strcmp(error->expected[i], token))
            return true;
    return false;
}

/* Appends a token. bison quotes single characters; the other names are words of ours and directives. */
static void append(char *out, const char *separator, const char *token)
{
    const char *quote = token[0] == '.' ? "'" : "";
    size_t used = strlen(out);
    snprintf(out + used, MESSAGE_BYTES - used, "%s%s%s%s", separator, quote, token, quote);
}

static void list_expected(char *out, const SyntaxError *error)
{
    out[0] = '\0';
    for (int i = 0; i < error->count; i++)
        append(out, !i ? "" : i == error->count - 1 ? " or " : ", ", error->expected[i]);
}

/* After an operand, the tokens that may follow in its list; NULL elsewhere. */
static const char *after_operand(const Lower *p, const SyntaxError *error)
{
    if (!p->op || p->before_token == p->op_at.end || expects(error, "'~'"))
        return NULL;
    if (!p->open_aggregates.n)
        return "',' or ';' after the operand";
    switch (p->operands.v[vec_last(&p->open_aggregates)].kind) {
    case OPND_MEM: return "',' or ']' in the address";
    case OPND_VEC: return "',' or '}' in the vector";
    default: return "',' or ')' in the list";
    }
}

static bool begins_statement(const Lower *p, const SyntaxError *error)
{
    return lower_in_body(p) && !p->op && expects(error, ".loc");
}

/* The words after "expected", which are in `list` if they are a list; NULL when nothing helps. */
static const char *what_is_wanted(const Lower *p, const SyntaxError *error, char *list)
{
    const char *words = after_operand(p, error);
    if (words)
        return words;
    if (p->start != NO_START && !p->op)
        return "an instruction after the guard";
    if (expects(error, "'!'") && error->count <= LISTED)
        return "a predicate register";
    if (begins_statement(p, error))
        return "an instruction, a declaration, a label or '}'";
    if (expects(error, ".entry") && expects(error, ".section"))
        return "a function, a variable or a module directive";
    if (expects(error, "'+'") && expects(error, "')'"))
        return "')' or an operator";
    if (expects(error, "'+'") && expects(error, "'}'"))
        return "',' or '}' after the value";
    if (expects(error, "'~'"))
        return expects(error, "'['") ? "an operand" : "a value";
    if (error->count == 1 && expects(error, "a floating-point number"))
        return "a version like 9.0";
    if (error->count == 2 && expects(error, "a name") && expects(error, "an opcode"))
        return "a name";
    if (error->count > 0 && error->count <= LISTED) {
        list_expected(list, error);
        return list;
    }
    return expects(error, "a type") ? "a type" : NULL;
}

static const char *function_name(const Lower *p) { return p->fn->name ? p->fn->name->text : "?"; }

void syntax_error_end_inside_function(Lower *p, Span at)
{
    lower_syntax_error(p, at, "the file ends inside function '%s'", function_name(p));
    if (lower_in_body(p))
        lower_note(p, p->fn->open, "its body begins here");
}

static void report_end(Lower *p, const SyntaxError *error, const char *wanted)
{
    if (lower_in_body(p)) {
        syntax_error_end_inside_function(p, error->at);
    } else if (wanted) {
        lower_syntax_error(p, error->at, "the file ends here, but %s was expected", wanted);
    } else {
        lower_syntax_error(p, error->at, "the file ends in the middle of a statement");
    }
}

/* What begins a line is rarely what is wrong: something is missing at the end of the line before. */
static bool points_before(const Lower *p, const SyntaxError *error)
{
    return p->before_token > 0 &&
           (starts_line(p, error->at.beg) || (expects(error, "';'") && !strcmp(error->found, "'}'")));
}

static void report_before(Lower *p, const SyntaxError *error, const char *wanted)
{
    Span end = {p->before_token, p->before_token};
    if (expects(error, "';'"))
        lower_syntax_error(p, end, "expected ';' at the end of this statement");
    else
        lower_syntax_error(p, end, wanted ? "expected %s" : "this statement is not complete", wanted);
}

void syntax_error_report(Lower *p, const SyntaxError *error)
{
    static const char *const body_only[] = {"a name", "a label", "an opcode", ".reg", ".loc", "'@'", "'{'", NULL};
    static const char *const module_only[] = {".version", ".target",  ".address_size", ".entry",  ".func",
                                              ".extern",  ".visible", ".weak",         ".common", ".alias",
                                              ".file",    ".section", "@@DWARF",       NULL};
    char list[MESSAGE_BYTES];
    const char *wanted = what_is_wanted(p, error, list);
    bool statement = begins_statement(p, error);
    bool item = !p->fn && expects(error, ".section");
    if (!strcmp(error->found, "this character"))
        p->mute = true; /* the lexer has reported it */
    if (!strcmp(error->found, "end of file")) {
        report_end(p, error, wanted);
    } else if (statement && is_one_of(error->found, module_only)) {
        lower_syntax_error(p, error->at, "'%s' stands outside of functions; is a '}' missing before it?", error->found);
        lower_note(p, p->fn->open, "the body of function '%s' begins here", function_name(p));
    } else if ((statement || item) && !strcmp(error->found, "';'")) {
        lower_syntax_error(p, error->at, "this ';' ends nothing");
    } else if (item && !strcmp(error->found, "'}'")) {
        lower_syntax_error(p, error->at, "this '}' closes nothing");
    } else if (item && is_one_of(error->found, body_only)) {
        lower_syntax_error(p, error->at, "this stands inside of functions; is a '}' before it one too many?");
    } else if (!statement && !item && points_before(p, error)) {
        report_before(p, error, wanted);
    } else {
        lower_syntax_error(p, error->at, wanted ? "expected %s" : "this does not belong here", wanted);
    }
}
