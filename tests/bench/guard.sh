#!/bin/sh
# What the guard costs and what it is worth: a corpus is assembled by ptxas alone, by the front without a guard, and by the front with it,
# twice: the second time with what the first one remembers. All files of a build share one cache, as in any build: a kernel that several of
# them hold is judged once. CPU time is that of all processes, user and system, over all files.
# usage: [BUILD=build] [CORPUS=FOLDER] [ARCHS='80 90'] [EVERY=N] tests/bench/guard.sh
# EVERY: each Nth text and target only. Texts for one architecture (sm_90a) are assembled for that one. Without a corpus or ptxas nothing
# is measured, and that is said. Works in $BUILD/work/bench-guard; exit status 1 where a figure is missed.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
CORPUS=${CORPUS:-../shared/corpus/modern}
ARCHS=${ARCHS:-80 90}
WORK=$BUILD/work/bench-guard
case $BUILD in /*) ;; *) BUILD=$(pwd)/$BUILD ;; esac
unset PTXOPT PTXOPT_FLAGS PTXOPT_PTXAS PTXOPT_FRONTS PTXOPT_GUARD MAKEFLAGS
[ -d "$CORPUS" ] || { echo "skip what the guard costs: there is no folder $CORPUS; CORPUS names one"; exit 0; }
[ -n "$PTXAS" ] || { echo 'skip what the guard costs: ptxas is not at hand'; exit 0; }
rm -rf "$WORK"
mkdir -p "$WORK/tmp"
WORK=$(cd "$WORK" && pwd)
export TMPDIR="$WORK/tmp"

find -L "$CORPUS" -name '*.ptx' | sort | while read -r file; do
    target=$(LC_ALL=C sed -n '/^[[:space:]]*\.target/{/debug/d;s/^.*sm_\([0-9]*[a-z]*\).*/\1/p;q;}' "$file")
    case $target in
    '') ;;
    *[a-z]) echo "$target $file" ;;
    *) for arch in $ARCHS; do [ "$target" -gt "$arch" ] || echo "$arch $file"; done ;;
    esac
done | awk -v every="${EVERY:-1}" 'NR % every == 0' >"$WORK/list"

# build NAME COMMAND...: has the command assemble the list into $WORK/NAME; prints CPU and wall seconds.
build()
{
    name=$1
    shift
    mkdir "$WORK/$name"
    start=$(date +%s.%N)
    (
        number=0
        while read -r arch file; do
            number=$((number + 1))
            PTXOPT_LOG=$WORK/$name.log "$@" -arch="sm_$arch" "$file" -o "$WORK/$name/$number.cubin" </dev/null >/dev/null 2>&1
        done <"$WORK/list"
        times
    ) | awk -v start="$start" -v end="$(date +%s.%N)" 'NR == 2 { for (i = 1; i <= 2; i++) { split($i, part, "m"); sum += 60 * part[1] + part[2] } print sum }' >"$WORK/$name.cpu"
    echo "$(cat "$WORK/$name.cpu") $(echo "$(date +%s.%N) $start" | awk '{ print $1 - $2 }')"
}

# judge NAME: what its machine code is beside that of ptxas alone: lines NUMBER, kernel, verdict ...
judge()
{
    number=0
    while read -r arch file; do
        number=$((number + 1))
        "$BUILD/cubinjudge" --tsv --all "$WORK/plain/$number.cubin" "$WORK/$1/$number.cubin" | sed "s/^/$number	/"
    done <"$WORK/list" >"$WORK/$1.tsv"
}

export PTXOPT_CACHE="$WORK/cache"
build plain "$PTXAS" >"$WORK/plain.time"
build off "$BUILD/ptxopt-ptxas" --guard=off -- "$PTXAS" >"$WORK/off.time"
build first "$BUILD/ptxopt-ptxas" "$PTXAS" >"$WORK/first.time"
build second "$BUILD/ptxopt-ptxas" "$PTXAS" >"$WORK/second.time"
judge off
judge first
same=0
for file in "$WORK"/first/*.cubin; do cmp -s "$file" "$WORK/second/${file##*/}" || same=$((same + 1)); done

missed=0
figure()
{
    awk -v name="$1" -v value="$2" -v most="$3" 'BEGIN {
        printf "%-64s %8.2f  at most %5g  %s\n", name, value, most, value <= most ? "reached" : "MISSED"
        exit value > most
    }' || missed=$((missed + 1))
}
ratio() { awk -v column="$2" 'NR == FNR { base = $column; next } { print $column / base }' "$WORK/plain.time" "$WORK/$1.time"; }
count() { awk -F'\t' -v verdict="$2" '$3 == verdict' "$WORK/$1.tsv" | wc -l; }
lost=$(awk -F'\t' 'NR == FNR { if ($3 == "better") better[$1, $2]; next } ($1, $2) in better && $3 != "better"' "$WORK/off.tsv" "$WORK/first.tsv" | wc -l)
better=$(count off better)

echo "guard: $(wc -l <"$WORK/list") texts and targets, $PTXAS_VERSION"
figure 'CPU of the front without the guard, of ptxas alone' "$(ratio off 1)" 1.05
figure 'CPU of the front with the guard, first build' "$(ratio first 1)" 1.6
figure 'CPU of the front with the guard, second build' "$(ratio second 1)" 1.05
printf '%-64s %8.2f, %.2f\n' 'wall, first and second build (says little on a busy machine)' "$(ratio first 2)" "$(ratio second 2)"
printf '%-64s %8d\n' 'kernels worse without the guard' "$(count off worse)"
figure 'kernels worse with the guard' "$(count first worse)" 0
figure 'percent of the better kernels that are lost' "$(echo "$lost $better" | awk '{ print $2 ? 100 * $1 / $2 : 0 }')" 3
printf '%-64s %8d of %d\n' 'that is' "$lost" "$better"
figure 'files whose bytes differ between the builds' "$same" 0
[ "$missed" = 0 ]
