#!/bin/sh
# What clang-tidy and cppcheck find in src/ is a failure. usage: tests/lint.sh. A case is a file (clang-tidy), or all of
# src/ (cppcheck); each is skipped where its program is not at hand. CLANG_TIDY, CPPCHECK: the programs.
set -u
cd "$(dirname "$0")/.." || exit 1
# shellcheck source=tests/lib.sh
. tests/lib.sh
CLANG_TIDY=${CLANG_TIDY:-clang-tidy} CPPCHECK=${CPPCHECK:-cppcheck}
export CLANG_TIDY
# Not: taste; branches that do the same for reasons of their own; functions that C11 has no replacement for here; what vectors of pointers, tables of rows and products of small
# numbers do. The static analyzer is left out: it takes ten times as long as all the others.
checks='-*,bugprone-*'
for check in easily-swappable-parameters sizeof-expression reserved-identifier macro-parentheses narrowing-conversions \
    branch-clone implicit-widening-of-multiplication-result misplaced-widening-cast suspicious-string-compare; do
    checks="$checks,-bugprone-$check"
done

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
if command -v "$CLANG_TIDY" >/dev/null; then
    find src -name '*.c' | sort | each "$0" >"$log"
else
    echo "skip src: clang-tidy is not at hand" >"$log"
fi
if command -v "$CPPCHECK" >/dev/null; then
    # Of the suppressed ones cppcheck is wrong where a loop fills an array, where a pointer's target changes, and where one is reset.
    found=$("$CPPCHECK" -q --std=c11 --enable=warning,portability -j "$JOBS" --inline-suppr --suppress=uninitvar \
        --suppress=legacyUninitvar --suppress=identicalInnerCondition --suppress=autoVariables --suppress=nullPointerRedundantCheck -D__cppcheck__ -Isrc -I"$BUILD/gen" src 2>&1)
    if [ -z "$found" ]; then echo "pass src: cppcheck"; else printf 'fail src: cppcheck\n%s\n' "$found"; fi >>"$log"
else
    echo "skip src: cppcheck is not at hand" >>"$log"
fi
tally lint "$log"
