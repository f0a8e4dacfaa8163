#!/bin/sh
# What clang-tidy and cppcheck find in src/ is a failure. usage: tests/lint.sh. A case is a file (clang-tidy), or all of
# src/ (cppcheck); each is skipped where its program is not at hand. CLANG_TIDY, CPPCHECK: the programs.
set -u
cd "$(dirname "$0")/.." || exit 1
# shellcheck source=tests/lib.sh
. tests/lib.sh
# Each version of clang-tidy finds other things: the list below is for this one.
TIDY_VERSION=14
is_pinned() { "$1" --version 2>/dev/null | grep -q "version $TIDY_VERSION\."; }
if [ -z "${CLANG_TIDY:-}" ]; then
    CLANG_TIDY=clang-tidy-$TIDY_VERSION
    is_pinned "$CLANG_TIDY" || CLANG_TIDY=clang-tidy
fi
CPPCHECK=${CPPCHECK:-cppcheck}
export CLANG_TIDY
# Left out, each after a look at all that it finds: swappable parameters, which are taste; equal branches of a chain of conditions
# whose order says which holds; sizeof of vectors of pointers; _GNU_SOURCE, which is reserved; names of members as arguments of
# macros, which take no parentheses; products of numbers far below 2^31 that become offsets. The static analyzer takes ten
# times as long as all the others; in live.c and loop.c it thinks a vector empty where an index into it is not 0.
checks='-*,bugprone-*'
for check in easily-swappable-parameters sizeof-expression reserved-identifier macro-parentheses branch-clone \
    implicit-widening-of-multiplication-result; do
    checks="$checks,-bugprone-$check"
done
for check in inconsistent-declaration-parameter-name misleading-indentation redundant-control-flow redundant-declaration duplicate-include; do
    checks="$checks,readability-$check"
done
checks="$checks,misc-redundant-expression,misc-unused-parameters,misc-misplaced-const"

if [ "${1:-}" = --case ]; then
    shift
    for file; do
        found=$("$CLANG_TIDY" --quiet --checks="$checks" "$file" -- -std=gnu11 -Isrc -I"$BUILD/gen" 2>/dev/null |
            grep -A4 ': \(warning\|error\): ')
        if [ -z "$found" ]; then echo "pass $file"; else printf 'fail %s: clang-tidy\n%s\n' "$file" "$found"; fi
    done
    exit
fi

log=$BUILD/work/lint.log
mkdir -p "$BUILD/work"
if is_pinned "$CLANG_TIDY"; then
    find src -name '*.c' | sort | each "$0" >"$log"
else
    echo "skip src: clang-tidy $TIDY_VERSION is not at hand" >"$log"
fi
if command -v "$CPPCHECK" >/dev/null; then
    found=$("$CPPCHECK" -q --std=c11 --enable=warning,portability -j "$JOBS" --inline-suppr -D__cppcheck__ -Isrc -I"$BUILD/gen" src 2>&1)
    if [ -z "$found" ]; then echo "pass src: cppcheck"; else printf 'fail src: cppcheck\n%s\n' "$found"; fi >>"$log"
else
    echo "skip src: cppcheck is not at hand" >>"$log"
fi
tally lint "$log"
