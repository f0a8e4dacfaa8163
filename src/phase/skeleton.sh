#!/bin/sh
# Writes the skeleton of a new phase: its file, its rows in the two tables, two cases, and a section of the manual.
# usage: src/phase/skeleton.sh NAME    (words of small letters with hyphens between them: value-sink)
#
# What it writes compiles and changes nothing. The case that should change fails until the phase is written.
set -eu
cd "$(dirname "$0")/../.."
name=${1:-}
file=$(echo "$name" | tr - _)
heading=$(echo "$name" | tr 'a-z-' 'A-Z ')

refuse() { echo "phase: $1" >&2; exit 1; }
echo "$name" | grep -qxE '[a-z][a-z0-9]*(-[a-z0-9]+)*' ||
    refuse 'NAME=x names the phase: words of small letters and digits, with hyphens between them'
grep -q "\"$name\"" src/pipeline/pipeline.def && refuse "there is a phase of the name $name"
for path in "src/phase/$file" "tests/phase/$name"; do [ ! -e "$path" ] || refuse "there is a $path"; done

# insert FILE BEFORE: standard input in front of the first line that begins so.
insert()
{
    text=$(cat) awk -v before="$2" 'index($0, before) == 1 && !done { print ENVIRON["text"]; done = 1 } { print } END { exit !done }' "$1" >"$1.new"
    mv "$1.new" "$1"
}

mkdir -p "src/phase/$file" "tests/phase/$name"
cat >"src/phase/$file/$file.c" <<END
/* $name: WHAT IT DOES IN ONE SENTENCE.
 *
 *     PTX BEFORE                          PTX AFTER
 *
 * Follows THE PAPER OR THE PROGRAM.
 *
 * Sound: WHY EVERY THREAD DOES WHAT IT DID, AND MEETS WHOM IT MET.
 *
 * Pays: WHEN, BY WHAT ptxas MAKES OF IT (tests/ptxas).
 *
 * Declines: WHAT IT LEAVES ALONE, AND WHY. */
#include "ir/inspect.h"
#include "phase/phase.h"

static bool rewrite_block(Analyses *an, PhaseRun *run, Block *b)
{
    (void)an, (void)run, (void)b;
    return false;
}

Phase phase_$file;
PhaseResult phase_$file(Analyses *an, const Knobs *knobs, PhaseRun *run)
{
    (void)knobs;
    bool changed = false;
    for_each_block(b, an->fn)
        changed |= rewrite_block(an, run, b);
    return changed ? PHASE_AGAIN : PHASE_UNCHANGED;
}
END
insert src/pipeline/pipeline.def '#ifndef ROWS_FOLLOW' <<END
PHASE(phase_$file, "$name", 2, ITERATIONS(16), CLEANUP, IF(enable_$file),
      "what it does",
      "why it stands here")
END
insert src/phase/knobs.def '#undef FLAG' <<END
FLAG(enable_$file, "$name", "enable-$name", 0, "what it does, on request")
END
cp tests/phase/layout/prologue.inc "tests/phase/$name/prologue.inc"
cat >"tests/phase/$name/first.ptx" <<END
// RUN: --passes=$name --enable-$name --verify-each
// What this case shows.
// PROLOGUE
    st.global.u32 [%rd1], %r1;
    ret;
// EXPECT
    st.global.u32 [%rd1], 0;
    ret;
END
cat >"tests/phase/$name/first_keep.ptx" <<END
// RUN: --passes=$name --enable-$name --verify-each
// What must stay, and why.
// PROLOGUE
    st.volatile.global.u32 [%rd1], %r1;
    ret;
END
insert man/ptxopt-phases.7 '.Sh THE DOCUMENTS' <<END
.Sh $heading
What it does, when it pays, and what it declines.
.Bl -tag -width Ds
.\\" BEGIN knobs $name
.\\" END
.El
END
cat <<END
phase: written are
  src/phase/$file/$file.c           the phase; its comment has five parts to fill in
  src/pipeline/pipeline.def         its row: level, place and reason
  src/phase/knobs.def               its option --enable-$name
  tests/phase/$name/                a case that changes (it fails until the phase is written), and one that stays
  man/ptxopt-phases.7               its section
Then: make docs; sh tests/run.sh tests/phase/$name; make worth PHASE=$name WITH=--enable-$name; a fault in tests/fuzz/faults.
END
