#!/bin/sh
# Includes point from the bottom of src/README.md's tables to their top. The first group is the optimizer: base <- isa <- ir <- parse,
# target, analysis <- transform <- phase <- pipeline. Of the others, src/check sees the IR, src/judge sees check's public header, and
# src/use sees judge. No phase includes stdio, or a header of another phase's folder. Only src/analysis reads an analysis past its
# accessor, and only src/ir (and the parser) writes to the IR past ir/edit.h and ir/builder.h. Only src/base/arena.c takes
# memory from malloc(), and in the optimizer only it frees; elsewhere free() is for what the C library made. (What runs in the processes
# of others, and files without a name, do without it.) Only programs end the process, so that the library survives a lack of memory.
# What a file exports begins with a word that its room owns: the first word of the room's, its folder's or a neighbouring file's
# name, without a plural s, or one of `own` below, what the room's functions are about.
# No two types have one name; prove, exec and machine, which share no room's types but those of base, isa and ir, name theirs apart.
# An enum holds either constants of int, or one that is none.
# usage: [BUILD=build] tests/layers.sh
set -u
cd "$(dirname "$0")/.." || exit 1
# shellcheck source=tests/lib.sh
. tests/lib.sh
log=$BUILD/work/layers.log
mkdir -p "$BUILD/work"
peeking=$(grep -lE '\<an(->|[.])slot\[|\<analysis_(compute|result|is_up_to_date)\>' $(find src -name '*.[ch]') | grep -v '^src/analysis/' | tr '\n' ' ')
editing=$(grep -lE -e '->(fall|labels|loc|guard|guard_not|falls_off|dead|op|slots) [-+|&]?= ' -e '\<b->jump [-+|&]?= ' -e '->opnd\[.*\][.a-z]* [-+|&]?= ' \
    -e '\<o->(id|value|flags|kind|sub|role) [-+|&]?= ' -e '\<(i|b|fn|instr|block)->changed = ' -e '\<fn->[a-z.]* = ' -e 'vec_push\(&([a-z>-]*->)?fn->' \
    -e '\<(isa_decode|instr_new|cfg_add_edge|cfg_remove_edge|cfg_redirect)\(' $(find src/analysis src/transform src/phase src/pipeline -name '*.[ch]') | tr '\n' ' ')
ending=$(grep -nE '(^|[^_[:alnum:].>])(malloc|calloc|realloc|free|strdup|asprintf) ?\(' $(find src grammar -name '*.[chy]' -o -name '*.re') |
    grep -vE '^src/(tool|check|judge|use)/|^src/base/arena|^src/pipeline/dot.c.*free.scratch.text|:[[:space:]]*(/?\*|//)' | cut -d: -f1,2 | tr '\n' ' ')
ending=$ending$(grep -nE '(^|[^_[:alnum:].>])(malloc|calloc|realloc|aligned_alloc) ?\(' $(find src/tool src/check src/judge src/use -name '*.[ch]') |
    grep -vE '^src/(use/(api|preload)/|judge/ptxas/scratch[.]c)|:[[:space:]]*(/?\*|//)' | cut -d: -f1,2 | tr '\n' ' ')
# Only src/tool ends the process, and what stands before ptxas: the front, which ends as ptxas ended. A child after fork ends by
# _exit(); what must never happen is an assertion.
ending=$ending$(grep -nE '(^|[^_[:alnum:].>])(exit|abort) ?\(' $(find src grammar -name '*.[chy]' -o -name '*.re') |
    grep -vE '^src/(tool/|use/front/(front|asked)[.]c|judge/ptxas/child[.]c)|:[[:space:]]*(/?\*|//)' | cut -d: -f1,2 | tr '\n' ' ')
# Only isa/sem.c reads the modifiers of arithmetic.
decoding=$(grep -lE '"[.](sat|relu|ftz|hi|lo|wide)"' $(find src/ir src/analysis src/transform src/phase src/pipeline -name '*.[ch]') | tr '\n' ' ')
# Properties of opcodes are columns of opcodes.def; those who compute what an opcode computes may switch on it.
asking=$(grep -lE 'switch \(.*opcode' $(find src/isa src/ir src/target src/analysis src/transform src/phase src/pipeline src/check/prove -name '*.[ch]') |
    grep -vE '^src/(analysis/ranges|check/prove/compute)\.c$' | tr '\n' ' ')
grep -n '^[[:space:]]*#[[:space:]]*include' $(find src grammar -name '*.[ch]' -o -name '*.def' -o -name 'ptx.re' -o -name 'ptx.y' 2>/dev/null) /dev/null |
    sed 's/:[[:space:]]*#[[:space:]]*include[[:space:]]*/:/' | awk -F: -v peeking="$peeking" -v ending="$ending" -v editing="$editing" -v asking="$asking" -v decoding="$decoding" '
    BEGIN {
        may["base"] = "base"
        may["isa"] = "base isa"
        may["ir"] = "base isa ir"
        may["parse"] = "base isa ir parse"
        may["target"] = "base isa ir target"
        may["analysis"] = "base isa ir analysis"
        may["transform"] = "base isa ir target analysis transform"
        may["phase"] = may["transform"] " phase"
        may["pipeline"] = may["phase"] " parse pipeline"
        may["check/prove"] = "base isa ir check/prove"
        may["check/exec"] = "base isa ir parse check/exec"
        may["check/proof"] = "base isa ir parse pipeline check/prove check/exec check/proof"
        may["judge/machine"] = "base judge/machine"
        may["judge/ptxas"] = "base judge/ptxas"
        may["judge/trial"] = may["pipeline"] " parse check/proof judge/machine judge/ptxas judge/trial"
        may["judge/guard"] = may["judge/trial"] " judge/guard"
        may["judge/tune"] = may["judge/trial"] " judge/tune"
        may["judge/report"] = may["judge/trial"] " judge/report"
        may["use/api"] = may["pipeline"] " use/api"
        may["use/front"] = "base check/proof judge/ptxas judge/guard use/front"
        may["use/preload"] = "base use/api use/front use/preload"
        may["tool"] = may["pipeline"] " check/prove check/exec check/proof judge/machine judge/ptxas judge/trial judge/guard judge/tune judge/report use/front tool"
    }
    # The room of a path below src/: a folder, and in the last three groups a folder of a folder.
    function room_of(path, part) {
        sub("^src/", "", path)
        split(path, part, "/")
        return part[1] ~ /^(check|judge|use)$/ ? part[1] "/" part[2] : part[1]
    }
    function bad(why) { print "fail " $1 ":" $2 ": includes " $3 ": " why }
    {
        room = $1 ~ "^grammar/" ? "parse" : room_of($1)
        split($1, at, "/")
        if (room == "phase" && $3 ~ /<stdio.h>/)
            bad("a phase reports through phase.h")
        if ($3 !~ /^"[a-z]+\//)
            next
        split($3, part, /["\/]/)
        seen[$1]
        if (index(" " may[room] " ", " " room_of(substr($3, 2)) " ") == 0)
            bad(room " may include: " may[room])
        else if (room == "phase" && part[2] == "phase" && part[4] != "" && part[3] != at[3])
            bad("another phase")
    }
    END {
        count = split(peeking, reader, " ")
        for (i = 1; i <= count; i++) {
            print "fail " reader[i] ": analyses are read through their accessors"
        }
        count = split(editing, editor, " ")
        for (i = 1; i <= count; i++) {
            print "fail " editor[i] ": the program is changed through ir/edit.h and ir/builder.h, which take no text"
        }
        count = split(asking, reader, " ")
        for (i = 1; i <= count; i++) {
            print "fail " reader[i] ": what is asked of an opcode is a column of isa/opcodes.def"
        }
        count = split(decoding, reader, " ")
        for (i = 1; i <= count; i++) {
            print "fail " reader[i] ": what arithmetic computes is OpInfo.sem"
        }
        count = split(ending, reader, " ")
        for (i = 1; i <= count; i++) {
            print "fail " reader[i] ": memory comes from base/arena.h, and only programs end the process"
        }
        for (file in seen)
            print "pass " file
    }' >"$log"

grep -rnE '^(} |typedef [a-z].*[ )])[A-Z][[:alnum:]]*;|^struct [A-Z][[:alnum:]]* [{]' src --include='*.[ch]' | awk '
    { sub(/ *\/\*.*/, "") }
    /:typedef struct [A-Za-z0-9]* [A-Za-z0-9]*;$/ { next }
    {
        split($0, at, ":")
        room = at[1]
        sub("^src/", "", room)
        sub("/.*", "", room)
        name = at[3]
        sub(/ [{]$|;$/, "", name)
        sub(/.*[ )]/, "", name)
        apart = at[1] ~ "^src/(check/prove|check/exec|judge/machine)/" ? at[1] : ""
        sub("/[^/]*$", "", apart)
        other = (apart, name) in where ? where[apart, name] : ("", name) in where && where["", name] ~ "^src/(base|isa|ir)/" ? where["", name] : ""
        print other == "" ? "pass" : "fail", at[1] ": type " name (other == "" ? "" : " is also one of " other)
        where[apart, name] = at[1]
    }' >>"$log"

# A constant that an int does not hold makes all constants of its enum unsigned for GCC 13 and newer (C23), and not for older ones: it
# stands in an enum of its own.
for file in $(find src tests -name '*.[ch]'); do
    awk -v file="$file" 'BEGIN { RS = "}" }
        sub(/.*(^|[^[:alnum:]_])enum[^{;()]*[{]/, "") {
            gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, "")
            sub(/,[[:space:]]*$/, "")
            if (/,/ && /UINT(32|64)_MAX|0x[89a-fA-F][0-9a-fA-F]{7}([^0-9a-fA-F]|$)|<< 31/)
                print "fail " file ": an enum mixes constants of int with one that is none:" $0
        }' "$file" | tr '\n' ' ' | sed 's/ $/\n/'
done >>"$log"

# NAME of each object file whose source there still is, and what it exports; and of each header, alone.
objects()
{
    find src -name '*.[ch]' ! -path 'src/tool/*' | sed 's/^src\///' | sort | while read -r file; do
        case $file in
        *.h) echo "${file%.h}" ;;
        *) nm -g --defined-only "$BUILD/obj/${file%.c}.o" 2>/dev/null | sed "s|^[^ ]* . |${file%.c} |" ;;
        esac
    done
}
if command -v nm >/dev/null; then
    objects | awk '
    BEGIN {
        own["base"] = "mem"
        own["isa"] = "op type cmp bool"
        own["ir"] = "local block instr fn function module label table reg call branch origin text edit locs"
        own["analysis"] = "an block instr type form term range compare value summaries postdom"
        own["transform"] = "predicate"
        own["pipeline"] = "glob"
        own["use/api"] = "ptxopt"
        own["judge/machine"] = "iterations"
        own["judge/trial"] = "assemble assembler input text"
        own["judge/guard"] = "suspect"
        own["judge/tune"] = "ninja"
        own["check/exec"] = "arg code elem finding flush global join layout machine op program rows split splitmix64 sym sync window"
    }
    # The first word of a name, without a plural.
    function stem(name) { sub(/_.*/, "", name); sub(/ches$/, "ch", name); sub(/s$/, "", name); return name }
    function folder_of(file) { sub("/[^/]*$", "", file); return file }
    {
        folder = folder_of($1)
        words[folder] = words[folder] " " stem(substr($1, length(folder) + 2))
        line[NR] = $0
    }
    END {
        for (n = 1; n <= NR; n++) {
            if (split(line[n], part, " ") < 2)
                continue
            folder = folder_of(part[1])
            count = split(folder, name, "/")
            room = name[1] ~ /^(check|judge|use)$/ ? name[1] "/" name[2] : name[1]
            count = split(own[room] " " stem(name[1]) " " stem(name[count]) words[folder], word, " ")
            good = 0
            for (k = 1; k <= count && !good; k++)
                good = index(part[2], word[k]) == 1
            print good ? "pass" : "fail", "src/" part[1] ".c: " part[2] (good ? "" : " begins with no word that the room owns")
        }
    }' >>"$log"
else
    echo "skip what files export: nm is not at hand" >>"$log"
fi
# No file includes itself through others. tsort names those of a circle.
circle=$(grep -rn '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' src grammar --include='*.[chy]' --include='*.re' --include='*.def' |
    sed 's|:.*"\([^"]*\)".*| src/\1|' | awk '$1 != $2' | sort -u | tsort 2>&1 >"$log.order")
if [ -z "$circle" ]; then echo "pass no circle of includes"; else echo "fail a circle of includes: $circle"; fi >>"$log"
# No file calls itself through others, but for the grammar with its actions, and the constructors of the prover's terms, which simplify
# what they make of one another.
if command -v nm >/dev/null; then
    circle=$(find src -name '*.c' | sed 's|^src/||; s|\.c$||' | sort | while read -r file; do
        nm -g "$BUILD/obj/$file.o" 2>/dev/null | sed "s|^[0-9a-f ]*|$file |"
    done | awk '
    { file = $1; sub(/^parse\/.*/, "parse", file); sub(/^check\/prove\/(term.*|number)$/, "check/prove/term", file) }
    $2 == "U" { asked[file " " $3]; next }
    $3 != "main" { where[$3] = file }
    END {
        for (call in asked) {
            split(call, part, " ")
            if (part[2] in where && where[part[2]] != part[1])
                print part[1], where[part[2]]
        }
    }' | sort -u | tsort 2>&1 >"$log.order")
    if [ -z "$circle" ]; then echo "pass no circle of calls"; else echo "fail a circle of calls: $circle"; fi >>"$log"
fi
# The example in src/README.md of what a phase takes.
length=$(wc -l <src/phase/layout/layout.c)
others=$(grep -rlE 'phase_layout|phase/layout' src --include='*.[ch]' --include='*.def' | grep -v '^src/phase/layout/\|^src/pipeline/pipeline.def$')
if [ "$length" -le 100 ] && [ -z "$others" ]; then
    echo "pass the example phase fits 100 lines, and nothing names it but its row"
else
    echo "fail the example phase: $length lines; named by $others"
fi >>"$log"
# The first group builds alone, and does what the whole program does.
if "$BUILD/ptxopt-core" -O3 tests/sample.ptx -o "$BUILD/work/core.ptx" && "$BUILD/ptxopt" -O3 tests/sample.ptx -o "$BUILD/work/whole.ptx" &&
    ! cmp -s tests/sample.ptx "$BUILD/work/core.ptx" && cmp -s "$BUILD/work/core.ptx" "$BUILD/work/whole.ptx"; then
    echo "pass the optimizer builds alone, and its output is that of the whole program"
else
    echo "fail the optimizer alone"
fi >>"$log"
# Every bound that the code counts has its row in the table of `make limits`, and no row is left over.
bounds=$(grep -noE '\b(BEYOND|WITHIN)\([A-Z_]+' $(find src -name '*.[ch]' ! -name bound.h) | sed -E 's|^src/([^:]*):[0-9]*:[A-Z]*\(|\1 |' | sort -u)
rows=$(sed -nE 's/^([a-z_/.]*) \| ([A-Z_]*) \| [^|]+ \| [^|]+$/\1 \2/p' tests/limits/limits.txt | sort)
if [ "$bounds" = "$rows" ]; then echo "pass tests/limits/limits.txt"; else echo "fail tests/limits/limits.txt: its rows are not the bounds of the code"; fi >>"$log"

tally layers "$log"
