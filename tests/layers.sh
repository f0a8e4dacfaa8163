#!/bin/sh
# Includes point left: base <- isa <- ir <- target, analysis <- transform <- phase <- pipeline <- tool; parse (and the grammar) may
# look into base, isa and ir, front only into base. No phase includes stdio, or a header of another phase's folder. Only src/analysis reads an analysis past its accessor, and only
# src/ir (and the parser) writes to the IR past ir/edit.h and ir/builder.h. Only src/base/arena.c allocates, frees and ends the
# process, so that the library can survive a lack of memory.
set -u
cd "$(dirname "$0")/.." || exit 1
peeking=$(grep -lE '\<an(->|[.])slot\[|\<analysis_(compute|result|is_up_to_date)\>' $(find src -name '*.[ch]') | grep -v '^src/analysis/' | tr '\n' ' ')
editing=$(grep -lE -e '->(fall|labels|loc|guard|guard_not|falls_off|dead|op|slots) [-+|&]?= ' -e '\<b->jump [-+|&]?= ' -e '->opnd\[.*\][.a-z]* [-+|&]?= ' \
    -e '\<o->(id|value|flags|kind|sub|role) [-+|&]?= ' -e '\<(i|b|fn|instr|block)->changed = ' -e '\<fn->[a-z.]* = ' -e 'vec_push\(&([a-z>-]*->)?fn->' \
    -e '\<(isa_decode|instr_new|cfg_add_edge|cfg_remove_edge|cfg_redirect)\(' $(find src/analysis src/transform src/phase src/pipeline -name '*.[ch]') | tr '\n' ' ')
ending=$(grep -nE '(^|[^_[:alnum:].>])(malloc|calloc|realloc|free|exit|_exit|abort|strdup|asprintf) ?\(' $(find src grammar -name '*.[chy]' -o -name '*.re') |
    grep -vE '^src/(tool|front|preload|prove|exec|machine)/|^src/base/arena|^src/api/api.c|^src/pipeline/dot.c.*free.scratch.text|:[[:space:]]*(/?\*|//)' | cut -d: -f1,2 | tr '\n' ' ')
# Properties of opcodes are columns of opcodes.def; those who compute what an opcode computes may switch on it.
asking=$(grep -lE 'switch \(.*opcode' $(find src/ir src/target src/analysis src/transform src/phase src/pipeline -name '*.[ch]') |
    grep -vE '^src/(analysis/(values|ranges|wait)|phase/(barrier/thread_value|switch/value|address/forms))\.c$' | tr '\n' ' ')
grep -n '^[[:space:]]*#[[:space:]]*include' $(find src grammar -name '*.[ch]' -o -name '*.def' -o -name 'ptx.re' -o -name 'ptx.y' 2>/dev/null) /dev/null |
    sed 's/:[[:space:]]*#[[:space:]]*include[[:space:]]*/:/' | awk -F: -v peeking="$peeking" -v ending="$ending" -v editing="$editing" -v asking="$asking" '
    BEGIN {
        may["base"] = "base"
        may["isa"] = "base isa"
        may["ir"] = "base isa ir"
        may["parse"] = "base isa ir parse"
        may["target"] = "base isa ir target"
        may["analysis"] = "base isa ir analysis"
        may["transform"] = "base isa ir target analysis transform"
        may["phase"] = may["transform"] " phase"
        may["pipeline"] = may["phase"] " pipeline"
        may["api"] = may["pipeline"] " parse api"
        may["front"] = "base front"
        may["preload"] = "base api front preload"
        may["prove"] = "base isa ir prove"
        may["exec"] = "base isa ir parse exec"
        may["machine"] = "machine"
        may["tool"] = may["pipeline"] " parse prove front exec machine tool"
    }
    function bad(why) { print "fail " $1 ":" $2 ": includes " $3 ": " why; failed++ }
    {
        room = $1
        sub("^grammar/.*", "parse", room)
        sub("^src/", "", room)
        sub("[/.].*", "", room)
        split($1, at, "/")
        if (room == "phase" && $3 ~ /<stdio.h>/)
            bad("a phase reports through phase.h")
        if ($3 !~ /^"[a-z]+\//)
            next
        split($3, part, /["\/]/)
        seen[$1]
        if (index(" " may[room] " ", " " part[2] " ") == 0)
            bad(room " may include: " may[room])
        else if (room == "phase" && part[2] == "phase" && part[4] != "" && part[3] != at[3])
            bad("another phase")
    }
    END {
        count = split(peeking, reader, " ")
        for (i = 1; i <= count; i++) {
            print "fail " reader[i] ": analyses are read through their accessors"
            failed++
        }
        count = split(editing, editor, " ")
        for (i = 1; i <= count; i++) {
            print "fail " editor[i] ": the program is changed through ir/edit.h and ir/builder.h, which take no text"
            failed++
        }
        count = split(asking, reader, " ")
        for (i = 1; i <= count; i++) {
            print "fail " reader[i] ": what is asked of an opcode is a column of isa/opcodes.def"
            failed++
        }
        count = split(ending, reader, " ")
        for (i = 1; i <= count; i++) {
            print "fail " reader[i] ": memory comes from base/arena.h, and only programs end the process"
            failed++
        }
        for (file in seen)
            files++
        print "layers: " files - failed " passed, " failed + 0 " failed"
        exit failed > 0
    }'
