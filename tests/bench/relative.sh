#!/bin/sh
# What -O2 costs beside an earlier commit, which is built here and kept, so that a busy machine does not matter: instructions that
# callgrind counts, of each phase and as a whole; the most memory held; and the share of ptxas's CPU time, both measured in turns.
# What takes over 2 % more is listed at the end; of phases, only what makes the whole dearer by 0.1 %.
# usage: [BUILD=build] [BASE=COMMIT] [CORPUS=FOLDER|TARBALL] [FILES='FILE...'] [ROUNDS=3] tests/bench/relative.sh
# BASE: the last release's tag; where there is none, the commit before the soundness rules. FILES: of the corpus; ptxas takes
# at most LIMIT seconds for each.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
CORPUS=${CORPUS:-../shared/corpus/train.tar.xz}
BASE=${BASE:-$(git describe --tags --abbrev=0 2>/dev/null || echo ea18560)}
FILES=${FILES:-hecbench-lineinfo/nonzero-cuda_main.ptx hecbench/stsg-cuda_Filter.ptx hecbench/local-ht-cuda_src_kernel.ptx
    gcc/libc-lib_a-svfprintf.ptx hecbench/frna-cuda_frna.ptx hecbench/nonzero-cuda_main.ptx
    hashcat-clang19/hashcat_m00300_a3-optimized.ptx}
ROUNDS=${ROUNDS:-3}
LIMIT=${LIMIT:-60}
WORK=$BUILD/work/relative
TABLE=$WORK/table
rm -rf "$WORK"
mkdir -p "$WORK"

skip() { echo "bench: SKIPPED, since $1"; }

# Prints the path of the program of BASE; nothing where it cannot be had.
base_program()
{
    commit=$(git rev-parse -q --verify "$BASE^{commit}" 2>/dev/null) || return
    folder=$BUILD/base/$commit
    if [ ! -x "$folder/build/ptxopt" ]; then
        rm -rf "$folder" && mkdir -p "$folder" && git archive "$commit" | tar -x -C "$folder" &&
            (cd "$folder" && env -u BUILD "${MAKE:-make}" -s -j "$JOBS" build/ptxopt) >"$WORK/build.log" 2>&1 || return
    fi
    echo "$folder/build/ptxopt"
}

# Puts FILES into $WORK/texts.
unpack()
{
    if [ -d "$CORPUS" ]; then
        ln -s "$(cd "$CORPUS" && pwd)" "$WORK/texts"
    else
        # shellcheck disable=SC2086 # names without blanks
        mkdir "$WORK/texts" && tar -C "$WORK/texts" -xf "$CORPUS" $FILES 2>/dev/null
    fi
}

# counts PROGRAM FILE: `instructions name`, of the whole run, reading, printing, and each phase with all that it calls.
counts()
{
    valgrind --tool=callgrind --callgrind-out-file="$WORK/callgrind" "$1" -O2 "$2" -o "$WORK/out.ptx" >"$WORK/valgrind.log" 2>&1
    callgrind_annotate --inclusive=yes --threshold=100 --auto=no "$WORK/callgrind" | awk -v defs="src/pipeline/pipeline.def" '
        function shown(name) { sub(/^phase_/, "", name); gsub(/_/, "-", name); return name }
        BEGIN { while ((getline line <defs) > 0) if (match(line, /^PHASE\([a-z_]*/)) wanted[substr(line, 7, RLENGTH - 6)] = 1
                wanted["parse_module"] = wanted["print_module"] = 1 }
        { gsub(/,/, "", $1) }
        / PROGRAM TOTALS/ { print $1, "all" }
        match($0, /:[a-z_]* \[/) { name = substr($0, RSTART + 1, RLENGTH - 3); if (name in wanted) print $1, shown(name) }' | sort -k 2
}

# row FILE FIGURE BASE NOW
row() { printf '%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$4" >>"$TABLE"; }

compare_counts()
{
    counts "$base" "$1" >"$WORK/counts.base"
    counts "$BUILD/ptxopt" "$1" >"$WORK/counts.now"
    join -j 2 -a 1 -a 2 -e 0 -o 0,1.1,2.1 "$WORK/counts.base" "$WORK/counts.now" | while read -r name before now; do
        row "$2" "instructions $name" "$before" "$now"
    done
}

# One program after the other, and again: what slows one down slows the others.
compare_times()
{
    seq "$ROUNDS" | while read -r _; do
        for program in "$base" "$BUILD/ptxopt"; do
            echo "$program $("$BUILD/measure" 9 "$program" -O2 "$1" -o "$WORK/out.ptx")"
        done
        # As a part of a program: what it calls may stand elsewhere.
        [ -z "$PTXAS" ] || echo "ptxas $("$BUILD/measure" 1 timeout "$LIMIT" "$PTXAS" -c -arch "$(ptx_target "$1")" -O3 -o "$WORK/out.cubin" "$1")"
    done | awk -v file="$2" -v base="$base" -v now="$BUILD/ptxopt" '
        { seconds[$1] += $2; if ($3 > memory[$1]) memory[$1] = $3; failed[$1] += $4 != 0 }
        END { OFS = "\t"
              print file, "memory, kB", memory[base], memory[now]
              if ("ptxas" in seconds && !failed["ptxas"])
                  print file, "% of ptxas", 100 * seconds[base] / seconds["ptxas"], 100 * seconds[now] / seconds["ptxas"]
              else if ("ptxas" in seconds)
                  print "bench: SKIPPED, since ptxas refuses it or takes longer than its limit: " file >"/dev/stderr" }' >>"$TABLE"
}

[ -e "$CORPUS" ] || { skip "there is no $CORPUS: everything beside $BASE"; exit 0; }
base=$(base_program)
[ -n "$base" ] || { skip "$BASE is not in the history of this folder, or does not build ($WORK/build.log): everything beside it"; exit 0; }
command -v valgrind >/dev/null || skip 'valgrind is not at hand: instructions'
[ -n "$PTXAS" ] || skip 'ptxas is not at hand: its share of CPU time'
unpack
for file in $FILES; do
    text=$WORK/texts/$file
    [ -e "$text" ] || { skip "$CORPUS does not hold $file: it"; continue; }
    command -v valgrind >/dev/null && compare_counts "$text" "$file"
    compare_times "$text" "$file"
done

awk -F '\t' '
    { printf "%-48s %-36s %14.10g %14.10g  %s\n", $1, $2, $3, $4, ($3 > 0 ? sprintf("%.3f", $4 / $3) : "new") }
    $2 == "instructions all" { sum += log($4 / $3); files++ }
    END { if (files) printf "geometric mean of the instructions of %d files: %.3f\n", files, exp(sum / files) }' "$TABLE"
# Time varies by some per cent even in turns: it is not listed.
awk -F '\t' -v base="$BASE" '
    function dearer(what) { printf "dearer: %s: %s: %s\n", $1, $2, what; found++ }
    NR == FNR { if ($2 == "instructions all") all[$1] = $3; next }
    { figures++ }
    /% of ptxas/ || $4 <= 1.02 * $3 || (/\tinstructions/ && $4 - $3 <= all[$1] / 1000) { next }
    { dearer($3 > 0 ? sprintf("%+.1f %%", 100 * ($4 / $3 - 1)) : "new") }
    END { printf "bench: %d figures beside %s, %d dearer by more than 2 %%\n", figures, base, found }' "$TABLE" "$TABLE"
