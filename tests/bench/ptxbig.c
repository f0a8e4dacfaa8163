/* Writes large PTX for tests/bench/bench.sh.
 *   ptxbig module MEGABYTES FILE...  the functions of the files again and again, each copy under names of its own
 *   ptxbig joined BLOCKS FILE...     one function of about so many basic blocks: the bodies of the files' kernels, one
 *                                    after another, again and again
 *   ptxbig function SHAPE BLOCKS     one function of about so many basic blocks, of one kind
 *   ptxbig shapes                    the names of these kinds, one a line */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 256 };

typedef struct Source {
    char *text;
    struct {
        const char *text;
        size_t len;
    } name[NAMES_MAX]; /* declared at module level, and kernels' parameters */
    size_t names;
} Source;

static void fail(const char *what, const char *which)
{
    fprintf(stderr, "ptxbig: %s: %s\n", what, which);
    exit(1);
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    size_t len = 0, got;
    if (!file)
        fail("cannot read", path);
    do {
        text = realloc(text, len + 65536 + 1);
        got = text ? fread(text + len, 1, 65536, file) : 0;
        len += got;
    } while (got);
    fclose(file);
    if (!text)
        fail("out of memory", path);
    text[len] = '\0';
    return text;
}

/* ---- tokens, as far as they are needed here --------------------------------------------------------------------- */

static bool is_name_start(char c) { return isalpha((unsigned char)c) || c == '_' || c == '$' || c == '%'; }
static bool is_name(char c) { return isalnum((unsigned char)c) || c == '_' || c == '$'; }

/* After the token, comment or blank that starts here. */
static const char *token_end(const char *at)
{
    const char *end = at + 1;
    if (is_name_start(*at) || isdigit((unsigned char)*at) || *at == '.') {
        while (is_name(*end) || *end == '.' || *end == ':')
            end++;
        while (end[-1] == ':')
            end--;
        if (is_name_start(*at))
            for (const char *dot = at; dot < end; dot++)
                if (*dot == '.')
                    return dot;
    } else if (*at == '"') {
        end += strcspn(end, "\"");
        end += *end != '\0';
    } else if (at[0] == '/' && at[1] == '/') {
        end += strcspn(end, "\n");
    }
    return end;
}

static bool is_word(const char *at, const char *end, const char *word)
{
    return (size_t)(end - at) == strlen(word) && !memcmp(at, word, (size_t)(end - at));
}

static bool declares(const Source *s, const char *at, size_t len)
{
    for (size_t n = 0; n < s->names; n++)
        if (s->name[n].len == len && !memcmp(s->name[n].text, at, len))
            return true;
    return false;
}

/* The version, target and address size are said once for the whole module. */
static void drop_line(char *text, const char *directive)
{
    char *at = strstr(text, directive);
    if (at)
        memset(at, ' ', strcspn(at, "\n"));
}

static void add_name(Source *s, const char *at, size_t len, const char *path)
{
    if (s->names == NAMES_MAX)
        fail("too many names", path);
    s->name[s->names].text = at;
    s->name[s->names++].len = len;
}

/* Names are those outside of braces; of parameters, if these are wanted. What another module defines keeps its name. */
static void load(Source *s, const char *path, bool parameters)
{
    s->text = read_file(path);
    s->names = 0;
    drop_line(s->text, ".version");
    drop_line(s->text, ".target");
    drop_line(s->text, ".address_size");
    int braces = 0, lists = 0;
    bool is_extern = false, is_function = false;
    for (const char *at = s->text, *end; *at; at = end) {
        end = token_end(at);
        braces += (*at == '{') - (*at == '}');
        lists += (*at == '(') - (*at == ')');
        is_extern = (is_extern || is_word(at, end, ".extern")) && *at != ';';
        is_function = (is_function || is_word(at, end, ".func")) && *at != ';' && *at != '}';
        size_t len = (size_t)(end - at);
        if (braces == 0 && !(is_extern && is_function && lists == 0) && (lists == 0 || parameters) && is_name_start(*at) &&
            !declares(s, at, len))
            add_name(s, at, len, path);
    }
}

/* A text with this number after the names that the source declares. */
static size_t write_names(const Source *s, const char *from, const char *to, unsigned number)
{
    size_t written = 0;
    for (const char *at = from, *end; at < to; at = end) {
        end = token_end(at);
        size_t len = (size_t)(end - at);
        written += fwrite(at, 1, len, stdout);
        if (is_name_start(*at) && declares(s, at, len))
            written += (size_t)printf("_%u", number);
    }
    return written;
}

static Source *load_all(char **paths, int count, bool parameters)
{
    Source *sources = calloc((size_t)count, sizeof *sources);
    if (!sources)
        fail("out of memory", "sources");
    for (int i = 0; i < count; i++)
        load(&sources[i], paths[i], parameters);
    return sources;
}

static void free_all(Source *sources, int count)
{
    for (int i = 0; i < count; i++)
        free(sources[i].text);
    free(sources);
}

static void write_module(double megabytes, char **paths, int count)
{
    Source *sources = load_all(paths, count, false);
    puts(".version 9.0\n.target sm_90\n.address_size 64");
    size_t written = 0, wanted = (size_t)(megabytes * 1e6);
    for (unsigned copy = 0; written < wanted; copy++) {
        const Source *s = &sources[copy % (unsigned)count];
        written += write_names(s, s->text, s->text + strlen(s->text), copy);
    }
    free_all(sources, count);
}

/* ---- one large function of kernels ------------------------------------------------------------------------------ */

/* What stands outside of braces: a kernel, or another item. */
typedef struct Item {
    const char *start, *end;
    const char *parameters, *body; /* of a kernel: where its parentheses and braces open; else NULL */
} Item;

/* The item that starts at or after `at`; false when there is none. */
static bool next_item(const char *at, Item *item)
{
    bool entry = false;
    int depth = 0;
    *item = (Item){.start = at};
    for (const char *end; *at; at = end) {
        end = token_end(at);
        entry |= is_word(at, end, ".entry");
        if (*at == '(' && depth == 0 && entry)
            item->parameters = at;
        if (*at == '{' && depth == 0 && entry)
            item->body = at;
        depth += (*at == '{' || *at == '(') - (*at == '}' || *at == ')');
        item->end = end;
        if (depth == 0 && (*at == ';' || *at == '}'))
            return true;
    }
    return false;
}

/* The registers and variables that a kernel declares outside of inner scopes; `%r` for `%r<10>`. */
static void find_locals(Source *locals, const Item *kernel)
{
    int depth = 0;
    bool declares_names = false;
    locals->names = 0;
    for (const char *at = kernel->body, *end; at < kernel->end; at = end) {
        end = token_end(at);
        depth += (*at == '{') - (*at == '}');
        declares_names |= is_word(at, end, ".reg") || is_word(at, end, ".shared") || is_word(at, end, ".local");
        declares_names &= *at != ';';
        if (depth == 1 && declares_names && is_name_start(*at))
            add_name(locals, at, (size_t)(end - at), "a kernel");
    }
}

/* A token of the kernel, with the number of this body in names that the kernel declares: %r12 becomes %r7_12. */
static void write_local(const Source *s, const Source *locals, const char *at, const char *end, unsigned source,
                        unsigned body)
{
    const char *stem = end;
    while (stem > at && isdigit((unsigned char)stem[-1]))
        stem--;
    bool range = *end == '<' || stem < end; /* `%r<10>`, or one of it */
    if (*at == '%' && range && declares(locals, at, (size_t)(stem - at)))
        printf("%.*s%u_%.*s", (int)(stem - at), at, body, (int)(end - stem), stem);
    else if ((*at == '$' && !declares(s, at, (size_t)(end - at))) || declares(locals, at, (size_t)(end - at)))
        printf("%.*s_%u", (int)(end - at), at, body);
    else
        write_names(s, at, end, source);
}

/* A kernel's body, which goes on behind itself where the kernel ends. Answers how many blocks it has. */
static unsigned write_body(const Source *s, const Item *kernel, unsigned source, unsigned body)
{
    Source locals;
    find_locals(&locals, kernel);
    unsigned blocks = 0;
    bool branches = false, open = false; /* a block that has instructions */
    for (const char *at = kernel->body + 1, *end; at < kernel->end - 1; at = end) {
        end = token_end(at);
        bool leaves = is_word(at, end, "ret") || is_word(at, end, "exit");
        branches |= leaves || is_word(at, end, "bra") || is_word(at, end, "brx");
        blocks += (*at == ';' && branches) || (*at == ':' && open);
        open = *at == ';' ? !branches : open && *at != ':';
        branches &= *at != ';';
        if (leaves)
            printf("bra \t$L_after_%u", body);
        else
            write_local(s, &locals, at, end, source, body);
    }
    printf("\n$L_after_%u:\n", body);
    return blocks;
}

static void write_parameters(const Source *s, unsigned source, bool *first)
{
    Item item;
    for (const char *at = s->text; next_item(at, &item); at = item.end) {
        const char *close = item.parameters + (item.parameters ? strcspn(item.parameters, ")") : 0);
        if (!item.parameters || !memchr(item.parameters, '.', (size_t)(close - item.parameters)))
            continue;
        fputs(*first ? "" : ",", stdout);
        *first = false;
        write_names(s, item.parameters + 1, close, source);
    }
}

/* Names of a module carry the number of their file. */
static void write_joined(unsigned wanted, char **paths, int count)
{
    Source *sources = load_all(paths, count, true);
    Item item;
    puts(".version 9.0\n.target sm_90\n.address_size 64");
    for (int i = 0; i < count; i++)
        for (const char *at = sources[i].text; next_item(at, &item); at = item.end)
            if (!item.body)
                write_names(&sources[i], item.start, item.end, (unsigned)i);
    puts("\n.visible .entry large(");
    bool first = true;
    for (int i = 0; i < count; i++)
        write_parameters(&sources[i], (unsigned)i, &first);
    puts(")\n{");
    for (unsigned blocks = 0, body = 0; blocks < wanted;)
        for (int i = 0; i < count && blocks < wanted; i++)
            for (const char *at = sources[i].text; blocks < wanted && next_item(at, &item); at = item.end)
                if (item.body)
                    blocks += write_body(&sources[i], &item, (unsigned)i, body++);
    puts("\tret;\n}");
    free_all(sources, count);
}

/* ---- one large function ----------------------------------------------------------------------------------------- */

/* Each part is written once per unit, with `#` for the unit's number, `#+` for the next one, `~` for the one as far from the
 * end, and `#7` for one of ten registers that it has for itself. What stands in `<` `>` is written as often as there are
 * units, or, as `<*` `>`, FEW times, with `^` for its number, and `^%` for that of one of PERMUTED registers, which is another
 * one in each unit. */
enum { FEW = 8, PERMUTED = 16 };

typedef struct Shape {
    const char *name;
    unsigned blocks; /* a unit, about; 0: as many units as the square root of the blocks */
    const char *part, *between, *second;
} Shape;

static const Shape shapes[] = {
    {"loops", 4, /* a diamond in a loop */
     "$L_loop_#:\n"
     "\tld.global.u32 \t%r#1, [%rd1+4];\n"
     "\tadd.s32 \t%r#2, %r#1, %r1;\n"
     "\tsetp.lt.s32 \t%p#1, %r#2, 17;\n"
     "\t@%p#1 bra \t$L_then_#;\n"
     "\tmad.lo.s32 \t%r#3, %r#1, %r#2, 7;\n"
     "\tst.global.u32 \t[%rd1+8], %r#3;\n"
     "\tbra.uni \t$L_join_#;\n"
     "$L_then_#:\n"
     "\tshl.b32 \t%r#4, %r#2, 3;\n"
     "\txor.b32 \t%r#5, %r#4, %r#1;\n"
     "\tst.global.u32 \t[%rd1+12], %r#5;\n"
     "$L_join_#:\n"
     "\tadd.s32 \t%r1, %r1, 1;\n"
     "\tsetp.ne.s32 \t%p#2, %r1, 1#;\n"
     "\t@%p#2 bra \t$L_loop_#;\n",
     "", ""},
    {"nest", 8, /* two loops in one, in an odd form of latch */
     "$L_outer_#:\n"
     "\tmov.u32 \t%r#1, 0;\n"
     "$L_first_#:\n"
     "\tld.global.u32 \t%r#2, [%rd1+4];\n"
     "\tadd.s32 \t%r2, %r2, %r#2;\n"
     "\tadd.s32 \t%r#1, %r#1, 1;\n"
     "\tsetp.ge.s32 \t%p#1, %r#1, 16;\n"
     "\t@!%p#1 bra \t$L_first_#;\n"
     "\tmov.u32 \t%r#3, 0;\n"
     "$L_second_#:\n"
     "\tmad.lo.s32 \t%r2, %r2, %r#3, 5;\n"
     "\tadd.s32 \t%r#3, %r#3, 1;\n"
     "\tsetp.eq.s32 \t%p#2, %r#3, %r1;\n"
     "\t@%p#2 bra \t$L_done_#;\n"
     "\tbra.uni \t$L_second_#;\n"
     "$L_done_#:\n"
     "\tst.global.u32 \t[%rd1+8], %r2;\n"
     "\tadd.s32 \t%r1, %r1, 1;\n"
     "\tsetp.ne.s32 \t%p#3, %r1, 1#;\n"
     "\t@%p#3 bra \t$L_outer_#;\n",
     "", ""},
    {"exits", 1, /* a counted loop that leaves early from each of its blocks, by what it has loaded */
     "$L_loop_#:\n"
     "\tld.global.u32 \t%r#1, [%rd1+4];\n"
     "\tsetp.eq.s32 \t%p#1, %r#1, #;\n"
     "\t@%p#1 bra \t$L_end;\n",
     "\tadd.s32 \t%r1, %r1, 1;\n"
     "\tsetp.lt.s32 \t%p1, %r1, 1000;\n"
     "\t@%p1 bra \t$L_loop_0;\n",
     ""},
    {"cases", 2, /* one value compared with all constants, one after another */
     "\tsetp.eq.s32 \t%p#1, %r1, #;\n"
     "\t@%p#1 bra \t$L_case_#;\n",
     "\tbra.uni \t$L_end;\n",
     "$L_case_#:\n"
     "\tadd.u32 \t%r#1, %r2, #;\n"
     "\tst.global.u32 \t[%rd1+4], %r#1;\n"
     "\tbra.uni \t$L_end;\n"},
    {"switches", 12, /* a chain of compares and a table */
     "\tsetp.eq.s32 \t%p#1, %r1, 0;\n\t@%p#1 bra \t$L_a_#;\n"
     "\tsetp.eq.s32 \t%p#2, %r1, 1;\n\t@%p#2 bra \t$L_b_#;\n"
     "\tsetp.eq.s32 \t%p#3, %r1, 2;\n\t@%p#3 bra \t$L_c_#;\n"
     "\tsetp.eq.s32 \t%p#4, %r1, 3;\n\t@%p#4 bra \t$L_d_#;\n"
     "\tsetp.gt.u32 \t%p#5, %r2, 3;\n\t@%p#5 bra \t$L_e_#;\n"
     "$L_table_#: .branchtargets $L_a_#, $L_b_#, $L_c_#, $L_d_#;\n"
     "\tbrx.idx \t%r2, $L_table_#;\n"
     "$L_a_#:\n\tst.global.u32 \t[%rd1+4], %r1;\n\tbra.uni \t$L_e_#;\n"
     "$L_b_#:\n\tst.global.u32 \t[%rd1+8], %r1;\n\tbra.uni \t$L_e_#;\n"
     "$L_c_#:\n\tst.global.u32 \t[%rd1+12], %r1;\n\tbra.uni \t$L_e_#;\n"
     "$L_d_#:\n\tst.global.u32 \t[%rd1+16], %r1;\n"
     "$L_e_#:\n\tld.global.u32 \t%r1, [%rd1+20];\n\tld.global.u32 \t%r2, [%rd1+24];\n",
     "", ""},
    {"tails", 4, /* both arms end alike */
     "\tsetp.gt.s32 \t%p#1, %r1, #;\n"
     "\t@%p#1 bra \t$L_else_#;\n"
     "\tsub.s32 \t%r#1, %r1, %r2;\n"
     "\tmul.lo.s32 \t%r#2, %r#1, 31;\n"
     "\txor.b32 \t%r#3, %r#2, 5;\n"
     "\tst.global.u32 \t[%rd1+4], %r#3;\n"
     "\tst.global.u32 \t[%rd1+8], %r#2;\n"
     "\tbra.uni \t$L_join_#;\n"
     "$L_else_#:\n"
     "\tshl.b32 \t%r#1, %r1, 3;\n"
     "\tmul.lo.s32 \t%r#4, %r#1, 31;\n"
     "\txor.b32 \t%r#5, %r#4, 5;\n"
     "\tst.global.u32 \t[%rd1+4], %r#5;\n"
     "\tst.global.u32 \t[%rd1+8], %r#4;\n"
     "$L_join_#:\n"
     "\tld.global.u32 \t%r1, [%rd1];\n",
     "", ""},
    {"returns", 2, /* all arms end alike */
     "\tld.global.u32 \t%r#1, [%rd1+4];\n"
     "\tsetp.gt.s32 \t%p#1, %r#1, #;\n"
     "\t@%p#1 bra \t$L_out_#;\n",
     "\tret;\n",
     "$L_out_#:\n"
     "\tadd.s32 \t%r#2, %r#1, #;\n"
     "\tmul.lo.s32 \t%r#3, %r#2, 31;\n"
     "\txor.b32 \t%r#4, %r#3, 5;\n"
     "\tst.global.u32 \t[%rd1+4], %r#4;\n"
     "\tret;\n"},
    {"barriers", 3,
     "\tst.shared.u32 \t[%rd3], %r1;\n"
     "\tbar.sync \t0;\n"
     "\tsetp.gt.s32 \t%p#1, %r2, #;\n"
     "\t@%p#1 bra \t$L_skip_#;\n"
     "\tld.shared.u32 \t%r#1, [%rd3+4];\n"
     "\tadd.s32 \t%r1, %r1, %r#1;\n"
     "$L_skip_#:\n"
     "\tbar.sync \t0;\n"
     "\tbar.sync \t0;\n",
     "", ""},
    {"conditions", 4, /* several at a time */
     "\tld.global.v4.u32 \t{%r#1, %r#2, %r#3, %r#4}, [%rd1];\n"
     "\tsetp.ge.s32 \t%p#1, %r#1, 17;\n"
     "\t@%p#1 bra \t$L_end_#;\n"
     "\tsetp.gt.s32 \t%p#2, %r#2, 15;\n"
     "\t@%p#2 bra \t$L_end_#;\n"
     "\tand.b32 \t%r#5, %r#3, 7;\n"
     "\tsetp.eq.s32 \t%p#3, %r#5, 3;\n"
     "\t@%p#3 bra \t$L_end_#;\n"
     "\tatom.global.add.u32 \t%r#6, [%rd1], %r2;\n"
     "$L_end_#:\n"
     "\tst.global.u32 \t[%rd1+8], %r#4;\n",
     "", ""},
    {"guards", 1, /* all to one end */
     "\tadd.s32 \t%r#1, %r1, #;\n"
     "\txor.b32 \t%r#2, %r#1, %r2;\n"
     "\tsetp.ge.s32 \t%p#1, %r#2, 17;\n"
     "\t@%p#1 bra \t$L_end;\n",
     "", ""},
    {"correlated", 5, /* the second test is decided by the first */
     "\tsetp.lt.s32 \t%p#1, %r1, %r2;\n"
     "\t@%p#1 bra \t$L_one_#;\n"
     "\tst.global.u32 \t[%rd1+4], %r2;\n"
     "$L_one_#:\n"
     "\tadd.s32 \t%r#1, %r2, 3;\n"
     "\tsetp.ge.s32 \t%p#2, %r1, %r2;\n"
     "\t@%p#2 bra \t$L_two_#;\n"
     "\tst.global.u32 \t[%rd1+8], %r#1;\n"
     "$L_two_#:\n"
     "\tld.global.u32 \t%r1, [%rd1];\n",
     "", ""},
    {"states", 2, /* a loop around a variable that says what comes next */
     "\tsetp.ne.s32 \t%p#1, %r2, #;\n"
     "\t@%p#1 bra \t$L_next_#;\n"
     "\tst.global.u32 \t[%rd1+4], %r1;\n"
     "\tmov.u32 \t%r2, #+;\n"
     "$L_next_#:\n",
     "", ""},
    {"deep", 2, /* each inside the one before */
     "\tld.global.u32 \t%r#1, [%rd1+4];\n"
     "\tsetp.gt.s32 \t%p#1, %r#1, %r1;\n"
     "\t@%p#1 bra \t$L_out_#;\n",
     "",
     "\tst.global.u32 \t[%rd1+4], %r1;\n"
     "$L_out_~:\n"
     "\tst.global.u32 \t[%rd1+8], %r2;\n"},
    {"live", 2, /* every register that is set is read at the end */
     "\tadd.s32 \t%r#1, %r1, #;\n"
     "\tsetp.gt.s32 \t%p#1, %r#1, %r2;\n"
     "\t@%p#1 bra \t$L_skip_#;\n"
     "\tmul.lo.s32 \t%r1, %r1, 3;\n"
     "$L_skip_#:\n",
     "", "\tadd.s32 \t%r2, %r2, %r#1;\n"},
    {"setps", 1, /* all in one block, the branches after it */
     "\tsetp.lt.s32 \t%p#1, %r1, #;\n", "", "\t@%p#1 bra \t$L_out_#;\n\tst.global.u32 \t[%rd1+4], %r2;\n$L_out_#:\n"},
    {"setps_chain", 1, /* likewise, all to one end */
     "\tsetp.lt.s32 \t%p#1, %r1, #;\n", "", "\t@%p#1 bra \t$L_end;\n"},
    {"moves", 1, /* the second test of a switch stands after very many of them */
     "",
     "\tsetp.eq.s32 \t%p1, %r1, 1;\n\t@%p1 bra \t$L_one;\n"
     "<\tmov.u32 \t%r1^, %r2;\n>"
     "\tsetp.eq.s32 \t%p2, %r1, 2;\n\t@%p2 bra \t$L_two;\n"
     "\tsetp.eq.s32 \t%p3, %r1, 3;\n\t@%p3 bra \t$L_three;\n"
     "\tst.global.u32 \t[%rd1], %r1;\n\tbra.uni \t$L_end;\n"
     "$L_one:\n\tst.global.u32 \t[%rd1+4], %r1;\n\tbra.uni \t$L_end;\n"
     "$L_two:\n\tst.global.u32 \t[%rd1+8], %r1;\n\tbra.uni \t$L_end;\n"
     "$L_three:\n\tst.global.u32 \t[%rd1+12], %r1;\n",
     ""},
    {"scopes", 1, /* one in the other, with a branch in the innermost */
     "\t{\n\t.reg .b32 \t%x;\n\tmov.u32 \t%x, %r1;\n\tst.global.u32 \t[%rd1], %x;\n",
     "\tsetp.gt.s32 \t%p1, %r1, 3;\n\t@%p1 bra \t$L_skip;\n\tst.global.u32 \t[%rd1], %r2;\n\tbra.uni "
     "\t$L_skip;\n$L_skip:\n",
     "\t}\n"},
    {"scopes_left", 2, /* a branch out of each of them: they are flattened */
     "\t{\n\t.reg .b32 \t%x_#;\n\tmov.u32 \t%x_#, %r1;\n\tsetp.gt.s32 \t%p#1, %x_#, #;\n\t@%p#1 bra \t$L_next_#;\n"
     "\tst.global.u32 \t[%rd1], %x_#;\n\tbra.uni \t$L_next_#;\n$L_next_#:\n",
     "", "\t}\n"},
    {"table", 1, /* whose entries only jump */
     "", "$L_table: .branchtargets $L_end<, $L_entry_^>;\n\tbrx.idx \t%r1, $L_table;\n",
     "$L_entry_#:\n\tbra.uni \t$L_end;\n"},
    {"table_barriers", 1, /* each entry runs into the next one, over a barrier */
     "", "$L_table: .branchtargets $L_end<, $L_entry_^>;\n\tbrx.idx \t%r1, $L_table;\n", "\tbar.sync \t0;\n$L_entry_#:\n"},
    {"jumps", 1, /* of the arms of nested branches: a chain that each of them enters */
     "\tld.global.u32 \t%r#1, [%rd1+4];\n\tsetp.gt.s32 \t%p#1, %r#1, #;\n\t@%p#1 bra \t$L_else_#;\n",
     "\tst.global.u32 \t[%rd1+4], %r1;\n",
     "\tbra.uni \t$L_after_~;\n$L_else_~:\n\tst.global.u32 \t[%rd1+8], %r#1;\n$L_after_~:\n"},
    {"large", 1, /* branches to one large block */
     "\tld.global.u32 \t%r3, [%rd1+4];\n\tsetp.lt.s32 \t%p#1, %r3, #;\n\t@%p#1 bra \t$L_large;\n",
     "\tst.global.u32 \t[%rd1], %r2;\n$L_large:\n", "<*\tadd.u32 \t%r2, %r2, ^;\n>"},
    {"inward", 2, /* loops, each in the one before */
     "\tmov.u32 \t%r#1, 0;\n$L_loop_#:\n", "\tst.global.u32 \t[%rd1+4], %r1;\n",
     "\tadd.u32 \t%r1, %r1, 1;\n\tsetp.ne.s32 \t%p#1, %r1, 7;\n\t@%p#1 bra \t$L_loop_~;\n"},
    {"inward_divergent",
     2, /* likewise, and threads leave the innermost one, with a bounds check, in other iterations than others */
     "\tmov.u32 \t%r#1, %tid.x;\n$L_loop_#:\n",
     "\tmov.u32 \t%r3, %tid.x;\n$L_check:\n\tsetp.ge.u32 \t%p1, %r3, %r2;\n\t@%p1 bra \t$L_end;\n"
     "\tst.global.u32 \t[%rd1+4], %r1;\n\tadd.u32 \t%r3, %r3, 1;\n\tsetp.lt.u32 \t%p2, %r3, %r1;\n\t@%p2 bra \t$L_check;\n",
     "\tadd.u32 \t%r1, %r1, 1;\n\tsetp.ne.s32 \t%p#1, %r1, 7;\n\t@%p#1 bra \t$L_loop_~;\n"},
    {"checks", 4, /* loops with a bounds check, each with a barrier after it */
     "\tmov.u32 \t%r#1, %tid.x;\n"
     "$L_loop_#:\n"
     "\tsetp.ge.u32 \t%p#1, %r#1, %r2;\n"
     "\t@%p#1 bra \t$L_out_#;\n"
     "\tst.global.u32 \t[%rd1+4], %r#1;\n"
     "\tadd.u32 \t%r#1, %r#1, 1;\n"
     "\tsetp.lt.u32 \t%p#2, %r#1, %r1;\n"
     "\t@%p#2 bra \t$L_loop_#;\n"
     "$L_out_#:\n"
     "\tbar.sync \t0;\n",
     "", ""},
    {"ranges", 6, /* loops with range guards */
     "\tmov.u32 \t%r#1, %tid.x;\n"
     "\tmov.u32 \t%r#2, 0;\n"
     "$L_loop_#:\n"
     "\tadd.s32 \t%r#3, %r#1, 0;\n"
     "\tsetp.ge.s32 \t%p#1, %r#3, %r1;\n"
     "\t@%p#1 bra \t$L_skip0_#;\n"
     "\tst.global.u32 \t[%rd1+0], %r#1;\n"
     "$L_skip0_#:\n"
     "\tadd.s32 \t%r#3, %r#1, 1;\n"
     "\tsetp.ge.s32 \t%p#1, %r#3, %r1;\n"
     "\t@%p#1 bra \t$L_skip1_#;\n"
     "\tst.global.u32 \t[%rd1+4], %r#1;\n"
     "$L_skip1_#:\n"
     "\tadd.u32 \t%r#1, %r#1, 2;\n"
     "\tadd.u32 \t%r#2, %r#2, 1;\n"
     "\tsetp.lt.u32 \t%p#2, %r#2, %r2;\n"
     "\t@%p#2 bra \t$L_loop_#;\n",
     "", ""},
    {"ranged", 2, /* range guards in one loop */
     "$L_loop_#:\n"
     "\tadd.s32 \t%r#1, %r2, #;\n"
     "\tsetp.ge.s32 \t%p#1, %r#1, %r1;\n"
     "\t@%p#1 bra \t$L_skip_#;\n"
     "\tst.global.u32 \t[%rd1+4], %r#1;\n"
     "$L_skip_#:\n",
     "\tadd.u32 \t%r2, %r2, 4;\n\tsetp.lt.u32 \t%p1, %r2, %r3;\n\t@%p1 bra \t$L_loop_0;\n", ""},
    {"waits", 0, /* arms that end in the same barriers and loads */
     "\tld.global.u32 \t%r3, [%rd1+4];\n\tsetp.eq.s32 \t%p#1, %r3, #;\n\t@%p#1 bra \t$L_arm_#;\n", "\tbra.uni \t$L_end;\n",
     "$L_arm_#:\n\tst.global.u32 \t[%rd1+4], %r3;\n<\tbar.sync \t0;\n\tld.shared.u32 \t%r2, [%rd3+^];\n>\tbra.uni "
     "\t$L_end;\n"},
    {"slots", 2, /* local variables, each of which a guarded store may change */
     "\t.local .align 8 .b8 \td_#[8];\n"
     "\tst.local.u64 \t[d_#], %rd1;\n"
     "\tsetp.eq.s32 \t%p#1, %r1, #;\n"
     "\t@%p#1 bra \t$L_slot_#;\n"
     "\tst.local.u64 \t[d_#], %rd3;\n"
     "$L_slot_#:\n"
     "\tld.local.u64 \t%rd2, [d_#];\n"
     "\tst.global.u64 \t[%rd1+8], %rd2;\n",
     "", ""},
    {"slots_of_nests", 4, /* local variables that two loops, one in the other, fill */
     "\t.local .align 8 .b8 \td_#[32];\n"
     "\tmov.u32 \t%r#1, 0;\n"
     "$L_row_#:\n"
     "\tmov.u32 \t%r#2, 0;\n"
     "$L_cell_#:\n"
     "\tmad.lo.s32 \t%r#3, %r#1, 2, %r#2;\n"
     "\tmul.wide.u32 \t%rd2, %r#3, 8;\n"
     "\tmov.u64 \t%rd3, d_#;\n"
     "\tadd.s64 \t%rd3, %rd3, %rd2;\n"
     "\tst.local.u64 \t[%rd3], %rd1;\n"
     "\tadd.s32 \t%r#2, %r#2, 1;\n"
     "\tsetp.ne.s32 \t%p#1, %r#2, 2;\n"
     "\t@%p#1 bra \t$L_cell_#;\n"
     "\tadd.s32 \t%r#1, %r#1, 1;\n"
     "\tsetp.ne.s32 \t%p#2, %r#1, 2;\n"
     "\t@%p#2 bra \t$L_row_#;\n"
     "\tld.local.u64 \t%rd2, [d_#];\n"
     "\tst.global.u64 \t[%rd1+8], %rd2;\n",
     "", ""},
    {"strides", 2, /* loops with their steps in a register, which divide by what they do not change */
     "\tmov.u32 \t%r#1, %tid.x;\n"
     "$L_loop_#:\n"
     "\tdiv.u32 \t%r#2, %r#1, %r1;\n"
     "\tmul.wide.u32 \t%rd2, %r#2, 4;\n"
     "\tadd.s64 \t%rd2, %rd1, %rd2;\n"
     "\tld.global.u32 \t%r#3, [%rd2];\n"
     "\tadd.s32 \t%s0, %s0, %r#3;\n"
     "\tadd.s32 \t%r#1, %r#1, %r2;\n"
     "\tsetp.lt.s32 \t%p#1, %r#1, %r1;\n"
     "\t@%p#1 bra \t$L_loop_#;\n"
     "\tst.global.u32 \t[%rd1+4], %s0;\n",
     "", ""},
    {"barred", 2, /* branches, each in the one before, which decides it; threads wait at each join */
     "\tsetp.gt.s32 \t%p#1, %r1, #;\n"
     "\t@%p#1 bra \t$L_join_#;\n"
     "\tst.global.u32 \t[%rd1+4], %r1;\n",
     "", "$L_join_~:\n\tbar.sync \t0;\n\tst.global.u32 \t[%rd1+8], %r1;\n"},
    {"voted", 2, /* the same, with votes in the branches, and lanes that wait at each join */
     "\tsetp.gt.s32 \t%p#1, %r1, #;\n"
     "\t@%p#1 bra \t$L_join_#;\n"
     "\tvote.sync.ballot.b32 \t%r#1, %p#1, -1;\n"
     "\tadd.s32 \t%r2, %r2, %r#1;\n",
     "", "$L_join_~:\n\tbar.warp.sync \t-1;\n"},
    {"latches", 1, /* a loop with a division for each branch back to its start */
     "$L_loop_#:\n\trem.u32 \t%r#1, %r1, %r2;\n\tadd.s32 \t%r3, %r3, %r#1;\n", "",
     "\tadd.s32 \t%r1, %r1, 1;\n\tsetp.eq.s32 \t%p#1, %r1, %r3;\n\t@%p#1 bra \t$L_loop_0;\n"},
    {"permuted", 0, /* long arms that are the same up to the names of sixteen registers, which no copies can exchange */
     "\tld.global.u32 \t%r3, [%rd1+4];\n\tsetp.eq.s32 \t%p#1, %r3, #;\n\t@%p#1 bra \t$L_arm_#;\n", "\tbra.uni \t$L_end;\n",
     "$L_arm_#:\n\tst.global.u32 \t[%rd1+4], %r3;\n<*<\tadd.s32 \t%s^%, %s^%, ^;\n>>\tbra.uni \t$L_end;\n"},
};

static const char *write_repeated(const char *part, unsigned u, unsigned units);

/* A number, and after `#` or `^` what says which one; answers the last character that belongs to it. */
static const char *write_number(const char *part, unsigned u, unsigned units, unsigned repetition)
{
    unsigned number = *part == '~' ? units - 1 - u : *part == '^' ? repetition : u;
    if (*part == '#' && isdigit((unsigned char)part[1]))
        number = 10 * u + 10 + (unsigned)(*++part - '0');
    else if (*part == '#' && part[1] == '+')
        number++, part++;
    else if (*part == '^' && part[1] == '%')
        number = (repetition * (2 * u + 1) + u / 8) % PERMUTED, part++;
    printf("%u", number);
    return part;
}

/* Answers where it ends: at the `>` of a repetition, or at the end of the part. */
static const char *write_text(const char *part, unsigned u, unsigned units, unsigned repetition)
{
    for (; *part && *part != '>'; part++) {
        if (*part == '<')
            part = write_repeated(part + 1, u, units);
        else if (strchr("~#^", *part))
            part = write_number(part, u, units, repetition);
        else
            putchar(*part);
    }
    return part;
}

static const char *write_repeated(const char *part, unsigned u, unsigned units)
{
    const char *end = part;
    bool few = *part == '*';
    for (unsigned k = 0; k < (few ? FEW : units); k++)
        end = write_text(part + few, u, units, k);
    return end;
}

static void write_part(const char *part, unsigned u, unsigned units) { write_text(part, u, units, 0); }

static unsigned square_root(unsigned n)
{
    unsigned root = 0;
    while ((root + 1) * (root + 1) <= n)
        root++;
    return root;
}

static void write_shape(const Shape *shape, unsigned blocks)
{
    unsigned units = shape->blocks ? blocks / shape->blocks + 1 : square_root(blocks);
    puts(".version 8.0\n.target sm_80\n.address_size 64\n.shared .align 4 .b8 s[1024];");
    puts(".visible .entry large(.param .u64 out, .param .u32 n)\n{");
    printf("\t.reg .pred \t%%p<%u>;\n\t.reg .b32 \t%%r<%u>;\n\t.reg .b32 \t%%s<16>;\n\t.reg .b64 \t%%rd<4>;\n",
           10 * units + 10, 11 * units + 10);
    puts("\tld.param.u64 \t%rd1, [out];\n\tld.param.u32 \t%r1, [n];\n\tmov.u64 \t%rd3, s;\n\tmov.u32 \t%r2, %ctaid.x;");
    for (unsigned u = 0; u < units; u++)
        write_part(shape->part, u, units);
    write_part(shape->between, 0, units);
    for (unsigned u = 0; u < units; u++)
        write_part(shape->second, u, units);
    puts("$L_end:\n\tst.global.u32 \t[%rd1], %r2;\n\tret;\n}");
}

static void write_function(const char *name, unsigned blocks)
{
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        if (!strcmp(shapes[s].name, name)) {
            write_shape(&shapes[s], blocks);
            return;
        }
    fail("no such shape", name);
}

int main(int argc, char **argv)
{
    if (argc > 3 && !strcmp(argv[1], "module"))
        write_module(atof(argv[2]), argv + 3, argc - 3);
    else if (argc > 3 && !strcmp(argv[1], "joined"))
        write_joined((unsigned)atoi(argv[2]), argv + 3, argc - 3);
    else if (argc == 4 && !strcmp(argv[1], "function"))
        write_function(argv[2], (unsigned)atoi(argv[3]));
    else if (argc == 2 && !strcmp(argv[1], "shapes"))
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
            puts(shapes[s].name);
    else
        fail("usage", "ptxbig module MEGABYTES FILE... | joined BLOCKS FILE... | function SHAPE BLOCKS | shapes");
    if (fflush(stdout) != 0 || ferror(stdout))
        fail("cannot write", "standard output");
    return 0;
}
