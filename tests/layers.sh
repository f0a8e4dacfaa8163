#!/bin/sh
# Includes point left: base <- isa <- ir <- analysis <- phase <- pipeline <- main; parse (and the grammar) may look into
# base, isa and ir. Nothing in the room of phases includes stdio, or a header of a phase (a row of pipeline.def; the header
# has its name, or begins with it) other than its own.
set -u
cd "$(dirname "$0")/.." || exit 1
grep -n '^[[:space:]]*#[[:space:]]*include' $(find src grammar -name '*.[ch]' -o -name '*.def' -o -name 'ptx.re' -o -name 'ptx.y' 2>/dev/null) /dev/null |
    sed 's/:[[:space:]]*#[[:space:]]*include[[:space:]]*/:/' | awk -F: -v phases="$(sed -n 's/^PHASE(phase_\([a-z_]*\),.*/\1/p' src/pipeline/pipeline.def | tr '\n' ' ')" '
    BEGIN {
        count = split(phases, phase, " ")
        may["base"] = "base"
        may["isa"] = "base isa"
        may["ir"] = "base isa ir"
        may["parse"] = "base isa ir parse"
        may["analysis"] = "base isa ir analysis"
        may["phase"] = "base isa ir analysis phase"
        may["pipeline"] = "base isa ir analysis phase pipeline"
        may["main"] = may["pipeline"] " parse"
    }
    function bad(why) { print "fail " $1 ":" $2 ": includes " $3 ": " why; failed++ }
    {
        room = $1
        sub("^grammar/.*", "parse", room)
        sub("^src/", "", room)
        sub("[/.].*", "", room)
        file = $1
        sub(".*/", "", file)
        sub("[.].*", "", file)
        if (room == "phase" && $3 ~ /<stdio.h>/)
            bad("a phase reports through phase.h")
        if ($3 !~ /^"[a-z]+\//)
            next
        split($3, part, /["\/]/)
        seen[$1]
        if (index(" " may[room] " ", " " part[2] " ") == 0)
            bad(room " may include: " may[room])
        else if (room == "phase" && part[2] == "phase")
            for (i = 1; i <= count; i++)
                if (index(part[3], phase[i]) == 1 && index(file, phase[i]) != 1)
                    bad("another phase")
    }
    END {
        for (file in seen)
            files++
        print "layers: " files - failed " passed, " failed + 0 " failed"
        exit failed > 0
    }'
