/* The PTX grammar (bison, LALR(1), pure, with locations). An instruction is opcode + operands by form; isa/opcodes.def has
 * the meaning of opcodes. Every action is one call of a builder in parse/lower.h. */
%define api.pure full
%define api.location.type {Span}
%define parse.error custom
%define lr.default-reduction consistent
%param {Lower *p}
%locations
%expect 0

%code requires {
#include "parse/lower.h"
/* Reductions span their right-hand side; empty ones stand after what came before. */
#define YYLLOC_DEFAULT(current, rhs, n)                      \
    do {                                                     \
        if (n) {                                             \
            (current) = (Span){YYRHSLOC(rhs, 1).beg, YYRHSLOC(rhs, n).end}; \
        } else {                                             \
            (current) = (Span){YYRHSLOC(rhs, 0).end, YYRHSLOC(rhs, 0).end}; \
        }                                                    \
    } while (0)
}
%code provides {
int yylex(YYSTYPE *value, Span *where, Lower *p);
bool lex_instruction(Lower *p, u32 *end);
}
%code {
#define YYMAXDEPTH 400000
#define YYMALLOC mem_alloc /* running out of memory is not a syntax error */
#define YYFREE mem_free
#include "parse/recover.h"
#include "parse/syntax_error.h"
#include "parse/unknown.h"
/* The only error that bison itself reports: its stack is full. */
static void yyerror(const Span *at, Lower *p, const char *message) { (void)message; lower_syntax_error(p, *at, "this is nested too deeply"); }
static inline Span join(Span first, Span last) { return (Span){first.beg, last.end}; }
static inline void plain_instructions(Lower *p, Span *at)
{
    do
        lower_plain_instr(p, at->end);
    while (lex_instruction(p, &at->end));
}
}

%union {
    Val val;
    u32 n;
}

%token T_NAME "a name" T_LABEL "a label" T_OPERANDS "an operand" T_OPERANDS_COMMA "operands" T_INSTRUCTION "an instruction" T_OPCODE_WORD "an opcode" T_STRING "a string" T_BAD "this character"
%token <val> T_INTEGER "an integer" T_FLOAT "a floating-point number"
%token <n> T_TYPE "a type" T_SPACE "a state space" T_VECTOR "a vector size" T_BLOCK_SHAPE "a block size directive" T_DOT_WORD "a modifier"
%token T_VERSION ".version" T_TARGET ".target" T_ADDRESS_SIZE ".address_size" T_ENTRY ".entry" T_FUNC ".func"
%token T_EXTERN ".extern" T_VISIBLE ".visible" T_WEAK ".weak" T_COMMON ".common" T_ALIAS ".alias" T_FILE ".file" T_LOC ".loc" T_LOC_INTERMEDIATE ".loc_intermediate"
%token T_SECTION ".section" T_DWARF "@@DWARF" T_PRAGMA ".pragma" T_REG ".reg" <n> T_PARAM ".param"
%token T_ALIGN ".align" T_PTR ".ptr"
%token T_ATTRIBUTE ".attribute" T_BRANCHTARGETS ".branchtargets" T_CALLPROTOTYPE ".callprototype" T_CALLTARGETS ".calltargets"
%token T_NORETURN ".noreturn" <n> T_PERFORMANCE "a performance directive"
%token T_SHL "<<" T_SHR ">>" T_LE "<=" T_GE ">=" T_EQ "==" T_NE "!=" T_ANDAND "&&" T_OROR "||"

%type <val> expr integers
%type <n> data_space prefix prefixes

%right '?' ':'
%left T_OROR
%left T_ANDAND
%left '|'
%left '^'
%left '&'
%left T_EQ T_NE
%left '<' '>' T_LE T_GE
%left T_SHL T_SHR
%left '+' '-'
%left '*' '/' '%'
%precedence UNARY
%precedence '('

%%

module: module_head module_items;

module_head: T_VERSION T_FLOAT      { lower_version(p, @2); }
    | error ';'                     { lower_skip_statement(p, @2.end); yyerrok; }
    ;

module_items: %empty | module_items module_item { lower_statement_end(p, @2); };

module_item: T_TARGET target_words
    | T_ADDRESS_SIZE T_INTEGER      { lower_address_size(p, $2, @2); }
    | T_VERSION T_FLOAT             { lower_version(p, @2); }
    | T_FILE file_operands
    | T_LOC T_INTEGER T_INTEGER T_INTEGER loc_attributes
    | T_PRAGMA strings ';'
    | T_ALIAS T_NAME ',' T_NAME ';' { lower_alias(p, @2, @4); }
    | T_SECTION section_name '{' { p->in_section = true; } section_items '}' { p->in_section = false; }
    | T_DWARF T_SECTION section_name ',' T_STRING ',' '@' T_NAME /* of PTX 1.2 to 1.5 */
    | T_DWARF dwarf_unit dwarf_values
    | linkage variable ';'          { lower_decl_end(p, @$); }
    | variable ';'                  { lower_decl_end(p, @$); }
    | function
    | linkage function
    | error ';'                     { lower_skip_statement(p, @2.end); yyerrok; }
    ;

linkage: T_EXTERN { lower_linkage(p, true, @1); } | linkage_word { lower_linkage(p, false, @1); };
linkage_word: T_VISIBLE | T_WEAK | T_COMMON;

target_words: T_NAME { lower_target(p, @1); } | T_OPCODE_WORD { lower_target_joined(p, @1); } | target_words ',' T_NAME { lower_target(p, @3); } | target_words ',' T_OPCODE_WORD { lower_target_joined(p, @3); };
file_operands: T_INTEGER T_STRING   { lower_file_without_time(p, (Span){@2.end, @2.end}); }
    | T_INTEGER T_STRING ',' T_INTEGER ',' T_INTEGER { if (!$4.i) lower_file_without_time(p, (Span){@2.end, @6.end}); }
    ;
strings: T_STRING | strings ',' T_STRING;

/* ---- debug sections ---- */

section_name: T_DOT_WORD | T_NAME | T_OPCODE_WORD;
section_items: %empty | section_items section_item;
section_item: T_LABEL ':' | T_TYPE section_values;
section_values: section_value | section_values ',' section_value;
section_value: expr { lower_mention(p, $1); } | T_DOT_WORD | T_DOT_WORD '+' T_INTEGER;

dwarf_unit: T_DOT_WORD | T_TYPE;
dwarf_values: dwarf_value | dwarf_values ',' dwarf_value;
dwarf_value: T_INTEGER | T_NAME { lower_mention(p, lower_name(p, @1, false)); } | T_DOT_WORD;

/* ---- variables ---- */

data_space: T_SPACE | T_PARAM;

variable: data_space { lower_decl_begin(p, $1); } declaration_words variable_names
    | prefixes data_space { lower_decl_begin(p, $2); p->align = $1; } declaration_words variable_names
    ;
/* The words that may also stand before a state space. */
prefixes: prefix | prefixes prefix  { $$ = $2 ? $2 : $1; };
prefix: T_ALIGN T_INTEGER           { $$ = (u32)$2.i; }
    | T_ATTRIBUTE '(' attributes ')' { $$ = 0; }
    ;
variable_names: %empty | declarators;

declaration_words: declaration_word | declaration_words declaration_word;
declaration_word: T_TYPE            { lower_decl_type(p, $1, @1); }
    | T_VECTOR                      { lower_decl_vector(p, $1, @1); }
    | T_ALIGN T_INTEGER             { lower_decl_before_type(p, @1); p->align = (u32)$2.i; }
    | T_ATTRIBUTE '(' attributes ')'
    ;
attributes: attribute | attributes ',' attribute;
attribute: T_DOT_WORD { lower_attribute(p, @1); } | T_DOT_WORD '(' attribute_values ')' { lower_attribute(p, @1); };
attribute_values: T_INTEGER | attribute_values ',' T_INTEGER;

declarators: declarator | declarators ',' declarator;
declarator: declared initializer;
declared: T_NAME                    { lower_decl_variable(p, @1); }
    | T_NAME '<' T_INTEGER '>'      { lower_decl_variable_range(p, @1, $3, @3); }
    | declared '[' ']'              { lower_dimension(p, NULL, @2); }
    | declared '[' expr ']'         { lower_dimension(p, &$3, @3); }
    ;
initializer: %empty | '=' { p->in_initializer = true; } initial { p->in_initializer = false; };
initial: expr                       { lower_mention(p, $1); }
    | T_NAME '[' expr ']'           { lower_mention(p, lower_name(p, @1, false)); }
    | '{' '}'
    | '{' initials '}'
    | '{' settings '}'              /* of a texture, sampler or surface reference */
    ;
initials: initial | initials ',' initial;
settings: setting | settings ',' setting;
setting: T_NAME '=' T_NAME | T_NAME '=' T_INTEGER;

registers: T_REG { lower_decl_begin(p, SPACE_REG); } register_words register_names;
register_words: register_word | register_words register_word;
register_word: T_TYPE { lower_decl_type(p, $1, @1); } | T_VECTOR { lower_decl_vector(p, $1, @1); } | T_ALIGN T_INTEGER;
register_names: %empty | register_list;
register_list: register_name | register_list ',' register_name;
register_name: T_NAME               { lower_decl_register(p, @1); }
    | T_NAME '<' T_INTEGER '>'      { lower_decl_register_range(p, @1, $3, @3); }
    ;

/* ---- functions ---- */

function: entry_begin entry ';'     { lower_prototype_end(p, @3); }
    | entry_begin entry body
    | func_begin func ';'           { lower_prototype_end(p, @3); }
    | func_begin func               { lower_prototype_end(p, @2); }
    | func_begin func body
    | entry_begin error ';'         { lower_prototype_end(p, @3); yyerrok; }
    | entry_begin error body
    | func_begin error ';'          { lower_prototype_end(p, @3); yyerrok; }
    | func_begin error body
    ;
entry_begin: T_ENTRY                { lower_function_begin(p, true, @1); };
func_begin: T_FUNC                  { lower_function_begin(p, false, @1); };
entry: T_NAME { lower_function_name(p, @1); } parameters entry_traits;
func: early_traits returns T_NAME { lower_function_name(p, @3); } parameters traits;
body: '{' { lower_body_begin(p, @1); } statements '}' { lower_body_end(p, @4); };
early_traits: %empty | early_traits T_ATTRIBUTE '(' attributes ')' | early_traits T_NORETURN { lower_noreturn(p); };
returns: %empty | '(' ')' | '(' return_list ')';
return_list: parameter_type T_NAME { lower_parameter(p, @2, true); } dimensions
    | return_list ',' parameter_type T_NAME { lower_parameter(p, @4, true); } dimensions
    ;
parameters: %empty | '(' ')' | '(' parameter_list ')';
parameter_list: parameter | parameter_list ',' parameter;
parameter: parameter_type T_NAME    { lower_parameter(p, @2, false); } dimensions;
parameter_type: prefixes parameter_space | parameter_space;
parameter_space: T_PARAM { lower_decl_begin(p, SPACE_PARAM); } parameter_words
    | T_REG             { lower_decl_begin(p, SPACE_REG); } parameter_words
    ;
parameter_words: parameter_word | parameter_words parameter_word;
parameter_word: T_TYPE              { lower_decl_type(p, $1, @1); }
    | T_VECTOR                      { lower_decl_vector(p, $1, @1); }
    | T_ALIGN T_INTEGER             { p->align = (u32)$2.i; }
    | T_PTR
    | T_SPACE
    | T_ATTRIBUTE '(' attributes ')'
    ;
dimensions: %empty | dimensions '[' ']' { lower_dimension(p, NULL, @2); } | dimensions '[' expr ']' { lower_dimension(p, &$3, @3); };

traits: %empty | traits trait;
entry_traits: %empty | entry_traits trait | entry_traits T_PRAGMA strings ';';
trait: T_NORETURN                   { lower_noreturn(p); }
    | T_BLOCK_SHAPE T_INTEGER       { lower_block_shape(p, $1, 0, $2, @2); }
    | T_BLOCK_SHAPE T_INTEGER ',' T_INTEGER { lower_block_shape(p, $1, 0, $2, @2); lower_block_shape(p, $1, 1, $4, @4); }
    | T_BLOCK_SHAPE T_INTEGER ',' T_INTEGER ',' T_INTEGER
        { lower_block_shape(p, $1, 0, $2, @2); lower_block_shape(p, $1, 1, $4, @4); lower_block_shape(p, $1, 2, $6, @6); }
    | T_PERFORMANCE
    | T_PERFORMANCE integers        { lower_performance(p, $1, $2, join(@1, @2)); }
    | T_PERFORMANCE T_STRING
    ;
integers: T_INTEGER | integers ',' T_INTEGER { $$ = $1; };

/* ---- statements ---- */

statements: %empty
    | statements registers ';'      { lower_decl_end(p, join(@2, @3)); }
    | statements prefixes registers ';' { lower_decl_end(p, join(@2, @4)); }
    | statements variable ';'       { lower_decl_end(p, join(@2, @3)); }
    | statements T_LABEL ':'        { lower_label(p, @2, join(@2, @3)); }
    | statements T_INSTRUCTION      { plain_instructions(p, &@$); }
    | statements guard T_INSTRUCTION { plain_instructions(p, &@$); }
    | statements opcode operands ';' { lower_instr_end(p, @4.end); }
    | statements opcode ';'         { lower_instr_end(p, @3.end); }
    | statements '{' { lower_scope_begin(p, @2); } statements '}' { lower_scope_end(p, @5); }
    | statements T_LOC T_INTEGER T_INTEGER T_INTEGER loc_attributes { lower_loc(p, join(@2, @6)); }
    | statements T_LOC_INTERMEDIATE T_INTEGER T_INTEGER T_INTEGER { lower_pragma(p, join(@2, @5)); }
    | statements T_PRAGMA strings ';' { lower_pragma(p, join(@2, @4)); }
    | statements table ';'          { lower_table_end(p, join(@2, @3)); }
    | statements error ';'          { lower_skip_statement(p, @3.end); yyerrok; }
    ;

table: T_LABEL ':' T_BRANCHTARGETS  { lower_table_begin(p, TABLE_BRANCH, @1); } table_entries
    | T_LABEL ':' T_CALLTARGETS     { lower_table_begin(p, TABLE_CALL, @1); } table_entries
    | T_LABEL ':' T_CALLPROTOTYPE   { lower_table_begin(p, TABLE_PROTO, @1); } prototype
    ;

loc_attributes: %empty | loc_attributes ',' T_NAME loc_value;
loc_value: T_NAME | T_NAME '+' T_INTEGER | T_INTEGER T_INTEGER T_INTEGER;

table_entries: table_entry | table_entries ',' table_entry;
table_entry: T_NAME                 { lower_table_entry(p, @1); }
    | T_NAME '<' T_INTEGER '>'      { lower_table_range(p, @1, $3, @3); }
    ;

prototype: prototype_list T_NAME prototype_list prototype_traits | T_NAME prototype_list prototype_traits | T_NAME prototype_traits;
prototype_list: '(' ')' | '(' prototype_parameters ')';
prototype_parameters: prototype_parameter | prototype_parameters ',' prototype_parameter;
prototype_parameter: prototype_space prototype_words | prototype_space prototype_words T_NAME prototype_dimensions;
prototype_space: T_PARAM | T_REG;
prototype_words: prototype_word | prototype_words prototype_word;
prototype_word: T_TYPE | T_VECTOR | T_ALIGN T_INTEGER | T_PTR | T_SPACE;
prototype_dimensions: %empty | prototype_dimensions '[' ']' | prototype_dimensions '[' T_INTEGER ']';
prototype_traits: %empty | prototype_traits T_NORETURN | prototype_traits T_PERFORMANCE | prototype_traits T_PERFORMANCE integers;

guard: '@' T_NAME                   { lower_guard(p, false, @2, @$); }
    | '@' '!' T_NAME                { lower_guard(p, true, @3, @$); }
    | '@' T_OPCODE_WORD             { lower_guard(p, false, @2, @$); }
    ;

opcode: T_NAME                      { lower_opcode(p, @1); }
    | T_OPCODE_WORD                 { lower_opcode(p, @1); }
    | guard T_NAME                  { lower_opcode(p, @2); }
    | guard T_OPCODE_WORD           { lower_opcode(p, @2); }
    | opcode dot_word               { lower_opcode_part(p, @2); }
    ;
/* A part of the opcode after a blank, as in `add .s32`, may look like any directive. */
dot_word: T_DOT_WORD | T_TYPE | T_SPACE | T_PARAM | T_VECTOR | T_REG | T_ALIGN | T_PTR | T_WEAK | T_COMMON;

/* The lexer takes plain operands together. T_OPERANDS is one or more, T_OPERANDS_COMMA those with a comma after each, and
 * T_INSTRUCTION an opcode with only such operands, up to its `;`. */
operands: T_OPERANDS                { lower_run(p); }
    | operand
    | more T_OPERANDS               { lower_run(p); }
    | more operand
    ;
more: T_OPERANDS_COMMA              { lower_run(p); }
    | operand ','
    | more T_OPERANDS_COMMA         { lower_run(p); }
    | more operand ','
    ;
operand: expr                       { lower_operand(p, $1, @1); }
    | '[' { lower_aggregate_begin(p, OPND_MEM, @1); } operands ']' { lower_aggregate_end(p); }
    | vector
    | vector '|' T_NAME             { lower_vector_and_name(p, @3); }
    | T_NAME '[' { lower_index_begin(p, @1); } operands ']' { lower_index_end(p, @$); }
    | '(' ')'                       { lower_aggregate_begin(p, OPND_LIST, @1); lower_aggregate_end(p); }
    | '(' expr ',' { lower_aggregate_begin(p, OPND_LIST, @1); lower_operand(p, $2, @2); } operands ')' { lower_aggregate_end(p); }
    ;
vector: '{' { lower_aggregate_begin(p, OPND_VEC, @1); } operands '}' { lower_aggregate_end(p); };

/* ---- constant expressions and names ---- */

expr: T_NAME                        { $$ = lower_name(p, @1, false); }
    | T_OPCODE_WORD                 { $$ = lower_name(p, @1, true); }
    | T_INTEGER
    | T_FLOAT
    | '(' expr ')'                  { $$ = lower_parentheses(p, $2, @$); }
    | '(' T_TYPE ')' expr %prec UNARY { $$ = lower_cast(p, $2, $4); }
    | '-' expr %prec UNARY          { $$ = lower_unary(p, '-', $2, @$); }
    | '+' expr %prec UNARY          { $$ = lower_unary(p, '+', $2, @$); }
    | '~' expr %prec UNARY          { $$ = lower_unary(p, '~', $2, @$); }
    | '!' expr %prec UNARY          { $$ = lower_unary(p, '!', $2, @$); }
    | expr '(' expr ')'             { $$ = lower_apply(p, $1, $3, @$); }
    | expr '*' expr                 { $$ = lower_binary(p, '*', $1, $3, @$); }
    | expr '/' expr                 { $$ = lower_binary(p, '/', $1, $3, @$); }
    | expr '%' expr                 { $$ = lower_binary(p, '%', $1, $3, @$); }
    | expr '+' expr                 { $$ = lower_binary(p, '+', $1, $3, @$); }
    | expr '-' expr                 { $$ = lower_binary(p, '-', $1, $3, @$); }
    | expr T_SHL expr               { $$ = lower_binary(p, T_SHL, $1, $3, @$); }
    | expr T_SHR expr               { $$ = lower_binary(p, T_SHR, $1, $3, @$); }
    | expr '<' expr                 { $$ = lower_binary(p, '<', $1, $3, @$); }
    | expr '>' expr                 { $$ = lower_binary(p, '>', $1, $3, @$); }
    | expr T_LE expr                { $$ = lower_binary(p, T_LE, $1, $3, @$); }
    | expr T_GE expr                { $$ = lower_binary(p, T_GE, $1, $3, @$); }
    | expr T_EQ expr                { $$ = lower_binary(p, T_EQ, $1, $3, @$); }
    | expr T_NE expr                { $$ = lower_binary(p, T_NE, $1, $3, @$); }
    | expr '&' expr                 { $$ = lower_binary(p, '&', $1, $3, @$); }
    | expr '^' expr                 { $$ = lower_binary(p, '^', $1, $3, @$); }
    | expr '|' expr                 { $$ = lower_binary(p, '|', $1, $3, @$); }
    | expr T_ANDAND expr            { $$ = lower_binary(p, T_ANDAND, $1, $3, @$); }
    | expr T_OROR expr              { $$ = lower_binary(p, T_OROR, $1, $3, @$); }
    | expr '?' expr ':' expr        { $$ = lower_choose(p, $1, $3, $5, @$); }
    ;

%%

static int yyreport_syntax_error(const yypcontext_t *context, Lower *p)
{
    yysymbol_kind_t kinds[EXPECTED_MAX];
    SyntaxError error = {.at = *yypcontext_location(context), .found = yysymbol_name(yypcontext_token(context))};
    int count = yypcontext_expected_tokens(context, kinds, EXPECTED_MAX);
    for (int i = 0; i < count; i++)
        error.expected[error.count++] = yysymbol_name(kinds[i]);
    if (unknown_syntax(p, &error))
        return 0;
    syntax_error_report(p, &error);
    recover(p, error.at);
    return 0;
}

ParseStatus lower_parse(Lower *p)
{
    return (ParseStatus)yyparse(p);
}
