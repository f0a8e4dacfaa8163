#!/bin/sh
# What of src/ the suites run, by gcov alone: adds up the counters under $BUILD. usage: BUILD=build/coverage tests/coverage.sh
# Prints lines and branches of each room; the functions that never ran are in $BUILD/unrun. The generated parser is left out.
set -u
cd "$(dirname "$0")/.." || exit 1
# shellcheck source=tests/lib.sh
. tests/lib.sh
GCOV=${GCOV:-gcov}
: >"$BUILD/unrun"
# Objects that no suite ran have no counters, and count as not run: gcov reads the graph alone.
find "$BUILD/obj" "$BUILD/pic/use" -name '*.gcno' ! -path '*/gen/*' 2>/dev/null | while IFS= read -r graph; do
    "$GCOV" -b -c -t "$graph" 2>/dev/null
done | awk -v unrun="$BUILD/unrun" -f tests/coverage.awk
sort -o "$BUILD/unrun" "$BUILD/unrun"
