/* ptxopt-reduce: makes a PTX file smaller as long as a command goes on failing in the same way.
 *
 *     ptxopt-reduce --test='CMD {}' in.ptx -o out.ptx [--seconds=N]
 *
 * CMD is run by sh, and {} stands for a file to try. Its exit status on in.ptx itself, which must not be 0, is the
 * failure that stays. What is tried: to leave out functions, variables, declarations, labels, runs of instructions,
 * guards; to make branches unconditional; to put 0 or 1 for source operands. Texts that do not parse are not tried. */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "parse/parse.h"
#include "base/source.h"
#include "tool/text.h"
#include "version.h"

/* Puts `text` in place of a piece of the source. */
typedef struct Edit {
    Span span;
    char text[8];
} Edit;
typedef VEC(Edit) Edits;

typedef struct Reducer {
    const char *command;
    char file[64];
    int status; /* the failure */
    time_t deadline;
    Text text; /* the smallest so far */
    u32 tried, kept;
} Reducer;

/* ---- trying ----------------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t ended_by; /* the signal that ends the program once the command is over; 0: none */

static void end_by(int signal_number) { ended_by = signal_number; }

/* What is ignored, as under nohup, stays ignored. */
static void catch_signals(void)
{
    static const int ends[] = {SIGHUP, SIGINT, SIGTERM};
    for (u32 k = 0; k < COUNT_OF(ends); k++)
        if (signal(ends[k], end_by) == SIG_IGN)
            signal(ends[k], SIG_IGN);
}

static bool time_is_left(const Reducer *r) { return !ended_by && time(NULL) < r->deadline; }

/* The exit status of the command on the text; that of a failure of its own is -1, after a message. system() ignores the
 * interrupt key, which ends the command. */
static int run_command(const Reducer *r, const Text *text)
{
    FILE *out = fopen(r->file, "w");
    bool wrote = out && fwrite(text->v, 1, text->n, out) == text->n;
    wrote = out && fclose(out) == 0 && wrote;
    int status = wrote ? system(r->command) : -1;
    if (status == -1) {
        fprintf(stderr, "ptxopt-reduce: %s: %s\n", r->file, strerror(errno));
        return -1;
    }
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (code == 128 + SIGINT)
        ended_by = SIGINT;
    return code;
}

static bool parses(Text *text)
{
    static const char nowhere[] = "/dev/null";
    FILE *messages = fopen(nowhere, "w");
    Arena arena = {0};
    Diag diag;
    Str str = {text_str(text), text->n};
    diag_init(&diag, messages, "candidate", str);
    Module *m = parse_module_strict(&arena, "candidate", str, &diag);
    bool ok = diag.errors == 0;
    module_free(m);
    diag_free(&diag);
    arena_free(&arena);
    fclose(messages);
    return ok;
}

static int by_place(const void *a, const void *b)
{
    const Edit *x = a, *y = b;
    if (x->span.beg != y->span.beg)
        return x->span.beg < y->span.beg ? -1 : 1;
    return x->span.end > y->span.end ? -1 : x->span.end < y->span.end; /* the outer one first */
}

/* The edits are in order; of those that overlap the first one counts. Lines left empty go. */
static Text apply(const Text *text, const Edit *edit, u32 n)
{
    Text out = {0};
    u32 at = 0;
    for (u32 i = 0; i < n; i++) {
        if (edit[i].span.beg < at)
            continue;
        text_append(&out, text->v + at, edit[i].span.beg - at);
        text_append(&out, edit[i].text, strlen(edit[i].text));
        at = edit[i].span.end;
    }
    text_append(&out, text->v + at, text->n - at);
    u32 kept = 0, line = 0;
    bool blank = true;
    for (u32 i = 0; i < out.n; i++) {
        char c = out.v[kept++] = out.v[i];
        if (c == '\n') {
            kept = blank ? line : kept;
            line = kept;
            blank = true;
        } else if (c != ' ' && c != '\t') {
            blank = false;
        }
    }
    out.n = kept;
    return out;
}

/* Keeps what the edits leave of the text if it still fails. */
static bool try_edits(Reducer *r, const Edit *edit, u32 n)
{
    Text candidate = apply(&r->text, edit, n);
    bool keep = candidate.n < r->text.n || n == 1;
    if (candidate.n == r->text.n && memcmp(candidate.v, r->text.v, r->text.n) == 0)
        keep = false;
    keep = keep && parses(&candidate);
    if (keep) {
        r->tried++;
        int status = run_command(r, &candidate);
        if (status < 0)
            r->deadline = 0;
        keep = status == r->status && !ended_by;
    }
    if (keep) {
        r->kept++;
        vec_free(&r->text);
        r->text = candidate;
    } else {
        vec_free(&candidate);
    }
    return keep;
}

/* ---- what can be edited ----------------------------------------------------------------------------------------- */

static void offer(Edits *edits, Span span, const char *text)
{
    Edit edit = {.span = span};
    if (span.beg == span.end)
        return;
    snprintf(edit.text, sizeof edit.text, "%s", text);
    vec_push(edits, edit);
}

static void offer_functions(Module *m, Edits *edits)
{
    for (u32 i = 0; i < m->functions.n; i++)
        offer(edits, m->functions.v[i]->text, "");
    for (u32 i = 1; i < m->syms.n; i++)
        if (!m->syms.v[i].owner && m->syms.v[i].kind == SYM_VAR)
            offer(edits, m->syms.v[i].text, "");
}

static void offer_items(Module *m, Edits *edits)
{
    for (u32 i = 0; i < m->functions.n; i++) {
        Function *fn = m->functions.v[i];
        for_each_block(b, fn) {
            for_each_instr(instr, b)
                if (instr->kind != INSTR_SCOPE_BEGIN && instr->kind != INSTR_SCOPE_END)
                    offer(edits, instr->text, "");
            if (b->jump)
                offer(edits, b->jump->text, "");
        }
    }
}

static void offer_declarations(Module *m, Edits *edits)
{
    for (u32 i = 0; i < m->functions.n; i++) {
        Function *fn = m->functions.v[i];
        for (u32 s = 0; s < fn->scopes.n; s++) {
            for (u32 d = 0; d < fn->scopes.v[s].decls.n; d++)
                offer(edits, fn->scopes.v[s].decls.v[d].text, "");
        }
        for (u32 t = 0; t < fn->tables.n; t++)
            offer(edits, fn->tables.v[t].text, "");
        for_each_block(b, fn)
            for (Label *l = b->labels; l; l = l->next)
                offer(edits, l->text, "");
    }
}

/* A scope's two braces go together: as one candidate of two edits. */
static void remove_braces(Reducer *r, Module *m)
{
    for (u32 i = 0; i < m->functions.n; i++) {
        Function *fn = m->functions.v[i];
        for (u32 s = 1; s < fn->scopes.n; s++) {
            Edits pair = {0};
            offer(&pair, fn->scopes.v[s].open, "");
            offer(&pair, fn->scopes.v[s].close, "");
            bool kept = pair.n == 2 && try_edits(r, pair.v, 2);
            vec_free(&pair);
            if (kept)
                return; /* the spans are old now: the next round goes on */
        }
    }
}

/* The guard's text: from `@` to the opcode. */
static void offer_guards(Module *m, Edits *edits)
{
    for (u32 i = 0; i < m->functions.n; i++) {
        Function *fn = m->functions.v[i];
        for_each_block(b, fn)
            for_each_instr(instr, b) {
                u32 at = instr->text.beg;
                if (instr->kind != INSTR_OP || !instr->guard || m->text.p[at] != '@')
                    continue;
                while (at < instr->text.end && strchr(" \t@!", m->text.p[at]))
                    at++;
                while (at < instr->text.end && !strchr(" \t", m->text.p[at]))
                    at++;
                offer(edits, (Span){instr->text.beg, at}, "");
            }
    }
}

/* Registers after an instruction's first comma: sources, in nearly all instructions. */
static void offer_constants(Module *m, Edits *edits, const char *constant)
{
    for (u32 i = 0; i < m->functions.n; i++) {
        Function *fn = m->functions.v[i];
        for_each_block(b, fn)
            for_each_instr(instr, b) {
                const char *p = m->text.p;
                u32 at = instr->text.beg, end = instr->text.end;
                while (instr->kind == INSTR_OP && at < end && p[at] != ',')
                    at++;
                for (; at < end; at++) {
                    if (p[at] != '%' || p[at - 1] == '[')
                        continue;
                    u32 stop = at + 1;
                    while (stop < end && !strchr(" \t,;)]}|+", p[stop]))
                        stop++;
                    offer(edits, (Span){at, stop}, constant);
                    at = stop;
                }
            }
    }
}

/* ---- searching -------------------------------------------------------------------------------------------------- */

typedef enum ReduceStep {
    STEP_FUNCTIONS,
    STEP_ITEMS,
    STEP_DECLARATIONS,
    STEP_GUARDS,
    STEP_ZEROS,
    STEP_ONES,
    STEPS
} ReduceStep;

static Edits offers(Module *m, ReduceStep step)
{
    Edits edits = {0};
    switch (step) {
    case STEP_FUNCTIONS: offer_functions(m, &edits); break;
    case STEP_ITEMS: offer_items(m, &edits); break;
    case STEP_DECLARATIONS: offer_declarations(m, &edits); break;
    case STEP_GUARDS: offer_guards(m, &edits); break;
    case STEP_ZEROS: offer_constants(m, &edits, "0"); break;
    default: offer_constants(m, &edits, "1"); break;
    }
    qsort(edits.v, edits.n, sizeof *edits.v, by_place);
    return edits;
}

/* What can be edited in the text as it is now. */
static Edits parse_offers(Reducer *r, ReduceStep step)
{
    Arena arena = {0};
    Diag diag;
    Str str = {text_str(&r->text), r->text.n};
    diag_init(&diag, stderr, "in", str);
    Module *m = parse_module_strict(&arena, "in", str, &diag);
    Edits edits = {0};
    if (diag.errors == 0)
        edits = offers(m, step);
    module_free(m);
    diag_free(&diag);
    arena_free(&arena);
    return edits;
}

static void reduce_braces(Reducer *r)
{
    for (u32 before = UINT32_MAX; before != r->kept;) {
        before = r->kept;
        Text copy = {0};
        text_append(&copy, r->text.v, r->text.n);
        Arena arena = {0};
        Diag diag;
        Str str = {text_str(&copy), copy.n};
        diag_init(&diag, stderr, "in", str);
        Module *m = parse_module_strict(&arena, "in", str, &diag);
        if (diag.errors == 0)
            remove_braces(r, m);
        module_free(m);
        diag_free(&diag);
        arena_free(&arena);
        vec_free(&copy);
    }
}

/* Delta debugging (Zeller, Hildebrandt, 2002) by complements: runs of half of the edits, of a quarter, down to one. */
static void reduce_step(Reducer *r, ReduceStep step)
{
    u32 size = step >= STEP_GUARDS ? 8 : UINT32_MAX;
    for (;;) {
        Edits edits = parse_offers(r, step);
        u32 n = edits.n;
        if (size > (n + 1) / 2)
            size = (n + 1) / 2;
        bool kept = false;
        /* From the end: what is left out there leaves the spans before it as they are. */
        for (u32 to = n; to > 0 && size > 0 && time_is_left(r);) {
            u32 from = to > size ? to - size : 0;
            kept |= try_edits(r, edits.v + from, to - from);
            to = from;
        }
        vec_free(&edits);
        if (!time_is_left(r) || size == 0 || (size == 1 && !kept))
            return;
        if (!kept)
            size /= 2;
    }
}

/* Without comments and blank lines; later the lines that edits leave blank are the only ones. */
static void strip(Reducer *r)
{
    Edits comments = {0};
    const char *p = text_str(&r->text), *end = p + r->text.n;
    for (const char *at = p; at < end; at++) {
        const char *stop = at;
        if (at[0] == '/' && at[1] == '/')
            stop = at + strcspn(at, "\n");
        else if (at[0] == '/' && at[1] == '*')
            stop = strstr(at + 2, "*/") ? strstr(at + 2, "*/") + 2 : end;
        else if (*at == '"')
            at += 1 + strcspn(at + 1, "\"");
        if (stop > at)
            offer(&comments, (Span){(u32)(at - p), (u32)(stop - p)}, "");
        at = stop > at ? stop - 1 : at;
    }
    try_edits(r, comments.v, comments.n);
    vec_free(&comments);
}

static void reduce(Reducer *r)
{
    strip(r);
    for (u32 before = UINT32_MAX; before != r->kept && time_is_left(r);) {
        before = r->kept;
        for (ReduceStep step = STEP_FUNCTIONS; step < STEPS; step++)
            reduce_step(r, step);
        reduce_braces(r);
    }
}

/* ---- the command line ------------------------------------------------------------------------------------------- */

/* CMD with the file's name for each {}. */
static void make_command(Text *command, const char *test, const char *file)
{
    for (const char *p = test; *p;) {
        if (p[0] == '{' && p[1] == '}') {
            text_printf(command, "%s", file);
            p += 2;
        } else {
            text_append(command, p++, 1);
        }
    }
    text_printf(command, " >/dev/null 2>&1");
}

static const char usage[] = "usage: ptxopt-reduce --test='CMD {}' in.ptx -o out.ptx\n"
                            "\n"
                            "Makes a PTX file smaller as long as a command fails on it as on the whole file.\n"
                            "\n"
                            "  --test=CMD         the command; sh runs it, {} stands for the file to try; its\n"
                            "                     exit status on in.ptx, which is not 0, is the failure\n"
                            "  -o FILE            write the smallest text that fails to FILE\n"
                            "  --seconds=N        stop after N seconds (default: 600)\n"
                            "  --version          print the version, and exit\n"
                            "  --help             print this help, and exit\n"
                            "\n"
                            "Exit status: 0 done; 2 bad input or usage, or the command does not fail.\n";

static int refuse_usage(void)
{
    fputs("usage: ptxopt-reduce --test='CMD {}' in.ptx -o out.ptx    (--help lists the options)\n", stderr);
    return 2;
}

static int write_result(const char *path, const Text *text)
{
    FILE *out = fopen(path, "w");
    if (out && fwrite(text->v, 1, text->n, out) == text->n && fclose(out) == 0)
        return 0;
    fprintf(stderr, "ptxopt-reduce: %s: %s\n", path, strerror(errno));
    return 2;
}

int main(int argc, char **argv)
{
    static const struct option known[] = {
        {"test", 1, NULL, 't'}, {"seconds", 1, NULL, 's'}, {"help", 0, NULL, 'h'}, {"version", 0, NULL, 'V'}, {0}};
    const char *test = NULL, *output = NULL;
    long seconds = 600;
    for (int code; (code = getopt_long(argc, argv, "o:hV", known, NULL)) != -1;)
        switch (code) {
        case 't': test = optarg; break;
        case 's': seconds = strtol(optarg, NULL, 10); break;
        case 'o': output = optarg; break;
        case 'h': fputs(usage, stdout); return 0;
        case 'V': puts("ptxopt-reduce " PTXOPT_VERSION " (commit " PTXOPT_COMMIT ")"); return 0;
        default: return refuse_usage();
        }
    Str input;
    if (!test || !output || optind + 1 != argc)
        return refuse_usage();
    if (!source_read(argv[optind], &input)) {
        fprintf(stderr, "ptxopt-reduce: %s: %s\n", argv[optind], strerror(errno));
        return 2;
    }
    Reducer r = {.file = "/tmp/ptxopt-reduce-XXXXXX.ptx", .deadline = time(NULL) + seconds};
    Text command = {0};
    int fd = mkstemps(r.file, sizeof ".ptx" - 1);
    if (fd < 0 || close(fd) != 0) {
        fprintf(stderr, "ptxopt-reduce: error: cannot write '%s': %s\n", r.file, strerror(errno));
        source_free(&input);
        return 2;
    }
    make_command(&command, test, r.file);
    r.command = text_str(&command);
    text_append(&r.text, input.p, input.len);
    catch_signals();
    r.status = run_command(&r, &r.text);
    int status = 2;
    if (r.status == 0) {
        fprintf(stderr, "ptxopt-reduce: the command does not fail on %s\n", argv[optind]);
    } else if (r.status > 0 && !ended_by) {
        reduce(&r);
        status = write_result(output, &r.text);
        printf("ptxopt-reduce: %u bytes of %u, %u candidates tried, %u kept, exit status %d\n", r.text.n, input.len,
               r.tried, r.kept, r.status);
    }
    unlink(r.file);
    vec_free(&r.text);
    vec_free(&command);
    source_free(&input);
    fflush(stdout);
    if (ended_by) {
        signal(ended_by, SIG_DFL);
        raise(ended_by);
    }
    return status;
}
