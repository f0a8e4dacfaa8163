#!/bin/sh
# What a phase is worth: machine code of a corpus with it, beside machine code without it.
# usage: PHASE=NAME [WITH=OPTION] [CORPUS=..] [FLAGS=-O2] tests/worth.sh, and the variables of tests/corpus.sh
# WITH: the option that switches the phase on, where it is off by default.
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
PTXOPT=${PTXOPT:-$BUILD/ptxopt}
PHASE=${PHASE:-}
"$PTXOPT" --list-phases | grep -q "^$PHASE " || { echo "worth: PHASE=NAME names one of: $("$PTXOPT" --list-phases | sed 's/ .*//' | tr '\n' ' ')" >&2; exit 1; }
FLAGS="${FLAGS:--O2}${WITH:+ $WITH}"
BEFORE_FLAGS="$FLAGS --disable=$PHASE"
CORPUS_WORK=${CORPUS_WORK:-$BUILD/worth/$PHASE}
NO_BLAME=1
export PTXOPT FLAGS BEFORE_FLAGS CORPUS_WORK NO_BLAME
exec sh tests/corpus.sh
