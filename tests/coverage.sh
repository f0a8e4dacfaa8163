#!/bin/sh
# What of src/ the suites run, by gcov alone. usage: BUILD=build/coverage tests/coverage.sh start | add | print
# `add`, after a suite, moves what its programs counted into $BUILD/counted: a suite that installs compiles everything anew, and
# counters do not outlive that. `print` shows lines and branches of each room, and writes the functions that never ran to $BUILD/unrun.
# The generated parser is left out.
set -u
cd "$(dirname "$0")/.." || exit 1
# shellcheck source=tests/lib.sh
. tests/lib.sh
GCOV=${GCOV:-gcov}

# Of objects that nobody ran gcov reads the graph alone.
add()
{
    find "$BUILD/obj" "$BUILD/pic/use" -name '*.gcno' ! -path '*/gen/*' 2>/dev/null | while IFS= read -r graph; do
        "$GCOV" -b -c -t "$graph" 2>/dev/null
    done >>"$BUILD/counted"
    find "$BUILD" -name '*.gcda' -delete
}

case ${1:-} in
start)
    mkdir -p "$BUILD"
    : >"$BUILD/counted"
    : >"$BUILD/unrun"
    find "$BUILD" -name '*.gcda' -delete
    ;;
add) add ;;
print)
    awk -v unrun="$BUILD/unrun" -f tests/coverage.awk "$BUILD/counted"
    sort -o "$BUILD/unrun" "$BUILD/unrun"
    ;;
esac
