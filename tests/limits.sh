#!/bin/sh
# Every named bound of the optimizer, from tests/limits/limits.txt: what it bounds, what the answer beyond it is, and in how many
# runs it is reached. A run is a file of CORPUS (folders) at -O3, an example, a shape of the linear suite at 3,000 blocks, a case of
# tests/run.sh, or a kernel that tests/limits/shapes.awk makes for some bounds: these must be reached.
# usage: [BUILD=build/limits] [TOOLS=build] [CORPUS=FOLDER...] tests/limits.sh
set -u
cd "$(dirname "$0")/.." || exit 1
# shellcheck source=tests/lib.sh
. tests/lib.sh
WORK=$BUILD/work/limits
TOOLS=${TOOLS:-build} # ptxrun and ptxopt-prove, as they are built otherwise
rm -rf "$WORK"
mkdir -p "$WORK"

# on SET <LIST: optimizes each file of the list.
on() { PTXOPT_BOUNDS=$(pwd)/$WORK/$1 xargs -P "$JOBS" -I{} sh -c '"$BUILD/ptxopt" -O3 "$1" -o /dev/null >/dev/null 2>&1 || :' - {}; }

case $WORK in /*) echo "tests/limits.sh: BUILD is a folder in this one" >&2; exit 1 ;; esac
: >"$WORK/corpus" && : >"$WORK/examples" && : >"$WORK/linear" && : >"$WORK/cases" && : >"$WORK/made"
[ -z "${CORPUS:-}" ] || find $CORPUS -name '*.ptx' | on corpus
find examples -name '*.ptx' | on examples
for shape in $("${PTXBIG:-build/ptxbig}" shapes); do
    "${PTXBIG:-build/ptxbig}" function "$shape" 3000 >"$WORK/$shape.ptx"
    echo "$WORK/$shape.ptx"
done | on linear
# shape:file.bound, which the shape must reach.
made="affine:loop_sums.c.LOOP_DEPTH facts:facts.c.CHAIN hoist:hoist.c.HOIST_LIMIT hops:clean_up.c.HOPS ladder:exits.c.SWEEPS
    names:hoist.c.HOIST_NAMES regions:loop.c.REGION_STEPS shift:miscounted.c.PASSES steps:values.c.STEPS above:site_profit.c.LOAD_LOOKED_AT
    barred:reach.c.CLOSURE_LIMIT revealed:step.c.ITERATIONS revealed:step.c.MOST_CALLS branches:dependence.c.BRANCHES_MAX
    clones:jump_threading.c.BUDGET
    exits:candidates.c.DOMINATORS_LOOKED_AT leaving:reconverge_before.c.WALK lifetimes:lifetimes.c.LIFETIME_STEPS
    points:reconverge_decided.c.POINTS renamed:splice.c.RENAME_LIMIT rounds:bases.c.FACT_ROUNDS tall:hoist.c.REGION_BLOCKS
    walked:iterations.c.WALKED within:exits.c.BLOCKS_EACH"
shapes=$(for shape in $made; do echo "${shape%:*}"; done | sort -u)
for shape in $shapes; do
    awk -v shape="$shape" -f tests/limits/shapes.awk >"$WORK/$shape.ptx"
    echo "$WORK/$shape.ptx"
done | on made
# Beyond a bound the output does what the input does: it is run, and nothing is refuted.
for shape in $shapes; do
    "$BUILD/ptxopt" -O3 --verify-each "$WORK/$shape.ptx" -o "$WORK/$shape.out" 2>"$WORK/said" &&
        "$TOOLS/ptxrun" --compare "$WORK/$shape.ptx" "$WORK/$shape.out" tests/limits/made.launch >>"$WORK/said" &&
        { "$TOOLS/ptxopt-prove" "$WORK/$shape.ptx" "$WORK/$shape.out" >>"$WORK/said" || [ $? = 2 ]; } ||
        { echo "fail: $shape: its output is not right: $(tail -1 "$WORK/said")" >&2; exit 1; }
done
rm -f "$WORK"/*.ptx "$WORK"/*.out
PTXOPT_BOUNDS=$(pwd)/$WORK/cases sh tests/run.sh >/dev/null

awk -v work="$WORK/" '
    FILENAME ~ /limits.txt$/ {
        if (/^#|^$/) next
        split($0, part, / *\| */)
        order[++rows] = part[1] " " part[2]
        what[rows] = part[3]; beyond[rows] = part[4]
        next
    }
    { set = FILENAME; sub(/.*\//, "", set); sub(/^src\//, "", $1); runs[$1 " " $2, set]++ }
    END {
        printf "%-46s %7s %9s %7s %6s %5s  %s\n", "bound", "corpus", "examples", "linear", "cases", "made", "what it bounds; beyond it"
        for (k = 1; k <= rows; k++) {
            row = order[k]
            printf "%-46s %7d %9d %7d %6d %5d  %s; %s\n", row, runs[row, "corpus"], runs[row, "examples"], runs[row, "linear"],
                runs[row, "cases"], runs[row, "made"], what[k], beyond[k]
        }
    }' tests/limits/limits.txt "$WORK/corpus" "$WORK/examples" "$WORK/linear" "$WORK/cases" "$WORK/made"
for shape in $made; do
    grep -q "/${shape#*:} " "$WORK/made" || { echo "fail: its kernel does not reach ${shape#*:}" >&2; exit 1; }
done
