#!/bin/sh
# How much of what bounds checks cost ptxopt saves: the kernels of examples/checked, by the cycles that the judge estimates.
# usage: [BUILD=build] [PTXASES='FILE...'] [ARCHS='80 90'] [FLAGS=-O2] [FILES='FILE...'] tests/gap.sh
#
# For each ptxas and target: the share of the gap between checked and raw that closes (the median), and better and worse kernels.
# $BUILD/gap/kernels.tsv has a line each: ptxas, target, file, kernel, cycles with checks, after ptxopt, without checks, verdict.
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

# kernels FILE: its lines of kernels.tsv. The judge scales the cycles of each pair by the warps of its first.
kernels()
{
    flags=$FLAGS
    case $FLAGS in *--guard*) flags="$FLAGS=$ptxas" ;; esac
    sed "s/^\.target sm_[0-9]*/.target sm_$arch/" "$1" >"$WORK/before.ptx"
    # shellcheck disable=SC2086 # FLAGS are words
    "$BUILD/ptxopt" $flags "$WORK/before.ptx" -o "$WORK/after.ptx" || return
    assembled "$1" "$WORK/checked.cubin" && assembled "$(echo "$1" | sed 's/\.checked\./.raw./')" "$WORK/raw.cubin" &&
        assembled "$WORK/after.ptx" "$WORK/after.cubin" || return
    "$BUILD/cubinjudge" --all --tsv "$WORK/checked.cubin" "$WORK/raw.cubin" | cut -f1,6,7 | sort >"$WORK/gaps"
    "$BUILD/cubinjudge" --all --tsv "$WORK/checked.cubin" "$WORK/after.cubin" | cut -f1,2,6,7 | sort >"$WORK/saved"
    join -t "$TAB" "$WORK/gaps" "$WORK/saved" | awk -F '\t' -v OFS='\t' -v release="$release" -v arch="$arch" -v file="$(basename "$1")" '
        $2 > 0 { print release, "sm_" arch, file, $1, $5, $6, $3 * $5 / $2, $4 }'
}

for ptxas in $PTXASES; do
    release=$("$ptxas" --version | sed -n 's/^.*release \([0-9.]*\),.*/\1/p')
    for arch in $ARCHS; do
        for file in $FILES; do kernels "$file"; done
    done
done >"$WORK/kernels.tsv"

echo '| ptxas | target | kernels | gap closed, median | better | worse | naive product by nvcc: checked, after, raw |'
echo '|---|---|---|---|---|---|---|'
awk -F '\t' '$5 > $7 { printf "%s %s\t%.4f\n", $1, $2, 100 * ($5 - $6) / ($5 - $7) }' "$WORK/kernels.tsv" | sort -t "$TAB" -k1,1 -k2,2n |
    awk -F '\t' -v kernels="$WORK/kernels.tsv" '
        { share[$1, ++count[$1]] = $2; if (count[$1] == 1) order[++rows] = $1 }
        END {
            while ((getline line < kernels) > 0) {
                split(line, a, "\t"); row = a[1] " " a[2]; all[row]++; said[row, a[8]]++
                if (a[3] a[4] == "products.checked.nvcc.ptxgemm") product[row] = sprintf("%d, %d, %d", a[5], a[6], a[7])
            }
            for (i = 1; i <= rows; i++) {
                row = order[i]; n = count[row]; split(row, a, " ")
                printf "| %s | %s | %d | %.0f %% | %d | %d | %s |\n", a[1], a[2], all[row],
                    (share[row, int((n + 1) / 2)] + share[row, int((n + 2) / 2)]) / 2, said[row, "better"], said[row, "worse"], product[row]
            }
        }'
