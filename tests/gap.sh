#!/bin/sh
# How much of what bounds checks cost ptxopt saves: the kernels of examples/checked, by the cycles that the judge estimates.
# usage: [BUILD=build] [PTXASES='FILE...'] [ARCHS='80 90'] [FLAGS=-O2] [FILES='FILE...'] tests/gap.sh
#
# For each ptxas and target: the share of the gap between checked and raw that closes (the median), where all checks pass and where warps
# take both versions of a loop, as the judge has it; kernels of which less than half closes; better and worse kernels. Then the shares
# by producer. $BUILD/gap/kernels.tsv has a line each: ptxas, target, file, kernel, cycles with checks, after ptxopt, without
# checks, verdict, cycles after ptxopt where all checks pass.
# A ptxas that is older than the PTX ISA of a file gets the file as one of the newest ISA that it knows.
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
PTXASES=${PTXASES:-$PTXAS}
ARCHS=${ARCHS:-80 90}
FLAGS=${FLAGS:--O2}
FILES=${FILES:-examples/checked/*.checked.*.ptx}
WORK=$BUILD/gap
TAB=$(printf '\t')
[ -n "$PTXASES" ] || { echo 'skip the gap: ptxas is not at hand; PTXASES names some'; exit 0; }
mkdir -p "$WORK"

# assembled FILE CUBIN
assembled()
{
    sed "s/^\.target sm_[0-9]*/.target sm_$arch/" "$1" >"$WORK/text.ptx"
    "$ptxas" -arch "sm_$arch" "$WORK/text.ptx" -o "$2" 2>"$WORK/said" && return
    sed 's/^\.version .*/.version 8.8/' "$WORK/text.ptx" >"$WORK/older.ptx"
    "$ptxas" -arch "sm_$arch" "$WORK/older.ptx" -o "$2" 2>"$WORK/said" || { echo "gap: $ptxas refuses $1: $(head -1 "$WORK/said")" >&2; return 1; }
}

# passing FILE: without the branches from the test in front of a loop to the version that has the checks.
passing()
{
    awk 'FNR == NR { if (/^[$A-Za-z_0-9]+:/) label = $1; else if (/pragma "nounroll"/) checks[label] = 1; else if (NF) label = ""; next }
         !(/^[ \t]*@!%po_[0-9_]+ bra / && checks[substr($3, 1, length($3) - 1) ":"])' "$1" "$1"
}

# judged FILE COLUMNS: the cubin of the checked kernels beside that one. The judge scales the cycles of each pair by the warps of its first.
judged() { "$BUILD/cubinjudge" --all --tsv "$WORK/checked.cubin" "$1" | cut -f"$2" | sort; }

# kernels FILE: its lines of kernels.tsv.
kernels()
{
    flags=$FLAGS
    case $FLAGS in *--guard*) flags="$FLAGS=$ptxas" ;; esac
    sed "s/^\.target sm_[0-9]*/.target sm_$arch/" "$1" >"$WORK/before.ptx"
    # shellcheck disable=SC2086 # FLAGS are words
    "$BUILD/ptxopt" $flags "$WORK/before.ptx" -o "$WORK/after.ptx" || return
    passing "$WORK/after.ptx" >"$WORK/passing.ptx"
    assembled "$1" "$WORK/checked.cubin" && assembled "$(echo "$1" | sed 's/\.checked\./.raw./')" "$WORK/raw.cubin" &&
        assembled "$WORK/after.ptx" "$WORK/after.cubin" && assembled "$WORK/passing.ptx" "$WORK/passing.cubin" || return
    judged "$WORK/raw.cubin" 1,6,7 >"$WORK/gaps"
    judged "$WORK/after.cubin" 1,2,6,7 >"$WORK/saved"
    judged "$WORK/passing.cubin" 1,6,7 >"$WORK/passed"
    join -t "$TAB" "$WORK/gaps" "$WORK/saved" | join -t "$TAB" - "$WORK/passed" |
        awk -F '\t' -v OFS='\t' -v release="$release" -v arch="$arch" -v file="$(basename "$1")" '
        $2 > 0 && $7 > 0 { print release, "sm_" arch, file, $1, $5, $6, $3 * $5 / $2, $4, $8 * $5 / $7 }'
}

for ptxas in $PTXASES; do
    release=$("$ptxas" --version | sed -n 's/^.*release \([0-9.]*\),.*/\1/p')
    for arch in $ARCHS; do
        for file in $FILES; do kernels "$file"; done
    done
done >"$WORK/kernels.tsv"

echo '| ptxas | target | kernels, with a gap | gap closed, median: checks pass, both versions | less than half | better | worse | naive product by nvcc: checked, after, raw |'
echo '|---|---|---|---|---|---|---|---|'
awk -F '\t' '
    function median(list, n,  i, k, x) {
        for (i = 2; i <= n; i++)
            for (k = i; k > 1 && list[k] < list[k - 1]; k--) { x = list[k]; list[k] = list[k - 1]; list[k - 1] = x }
        return (list[int((n + 1) / 2)] + list[int((n + 2) / 2)]) / 2
    }
    function share(row, of,  i, list) {
        for (i = 1; i <= gaps[row]; i++) list[i] = closed[row, of, i]
        return gaps[row] ? sprintf("%.0f %%", median(list, gaps[row])) : "-"
    }
    function add(row) {
        gaps[row]++; closed[row, "pass", gaps[row]] = pass; closed[row, "both", gaps[row]] = both
        half[row] += pass < 50
    }
    { row = $1 " | " $2; all[row]++; said[row, $8]++; if (all[row] == 1) order[++rows] = row
      split($3, name, "."); producer = row " | " name[3]; all[producer]++; said[producer, $8]++
      if (all[producer] == 1) producers[++n] = producer
      if ($3 $4 == "products.checked.nvcc.ptxgemm") product[row] = sprintf("%d, %d, %d", $5, $6, $7) }
    $5 > $7 { both = 100 * ($5 - $6) / ($5 - $7); pass = 100 * ($5 - $9) / ($5 - $7); add(row); add(producer) }
    END {
        for (i = 1; i <= rows; i++) {
            row = order[i]
            printf "| %s | %d, %d | %s, %s | %d | %d | %d | %s |\n", row, all[row], gaps[row], share(row, "pass"), share(row, "both"),
                half[row], said[row, "better"], said[row, "worse"], product[row]
        }
        print "\n| ptxas | target | producer | kernels, with a gap | gap closed, median: checks pass, both versions | less than half | better | worse |"
        print "|---|---|---|---|---|---|---|---|"
        for (i = 1; i <= n; i++) {
            row = producers[i]
            printf "| %s | %d, %d | %s, %s | %d | %d | %d |\n", row, all[row], gaps[row], share(row, "pass"), share(row, "both"),
                half[row], said[row, "better"], said[row, "worse"]
        }
    }' "$WORK/kernels.tsv"
