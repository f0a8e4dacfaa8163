#!/bin/sh
# What ptxas made of the kernels that each phase changed, of folders of tests/corpus.sh together: src/judge/guard/record.def, by which the
# guard judges some kernels first. usage: tests/record.sh FOLDER...   Such a folder is made with RECORD=1, and with the search for blame.
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
OUT=src/judge/guard/record.def
TAB=$(printf '\t')

# PHASE, FILE, KERNEL: what the optimizer said of its rewrites
rewrites()
{
    find "$1/new" -name '*.err' | while read -r err; do
        file=${err#"$1"/new/}
        sed -n "s|^BISECT: running rewrite ([0-9]*) \\(.*\\) on function (\\(.*\\))\$|\\1$TAB${file%.err}$TAB\\2|p" "$err" | sort -u
    done
}

{
    sed '/^RECORD(/d; /^\/\* Of /d; /^#undef/d' "$OUT"
    echo "/* Of phases $(phases_sum), $(date +%F); $(for work; do cut -f1 "$work/judged.tsv"; done | sort -u | sed 's/^/ptxas /' | paste -sd, | sed 's/,/, /g'); $(for work; do cut -f2 "$work/judged.tsv"; done | sort -u | sed 's/^/sm_/' | paste -sd, | sed 's/,/, /g'). */"
    for work; do
        rewrites "$work" >"$work/rewrites.tsv"
        awk -F'\t' '
            FILENAME ~ /rewrites.tsv$/ { phases[$2, $3] = phases[$2, $3] " " $1; next }
            FILENAME ~ /worse.tsv$/ { blame[$2, $3, $4, $5] = $1; next }
            $5 == "better" || $5 == "worse" || $5 == "same" {
                count = split(phases[$3, $4], phase, " ")
                why = blame[$1, $2, $3, $4]
                for (i = 1; i <= count; i++)
                    print phase[i], $5 == "better", $5 == "worse" && (why == "-" || index("," why ",", "," phase[i] ","))
            }' "$work/rewrites.tsv" "$work/worse.tsv" "$work/judged.tsv"
    done | awk '{ changed[$1]++; better[$1] += $2; worse[$1] += $3 }
        END { for (phase in changed) printf "RECORD(\"%s\", %d, %d, %d)\n", phase, changed[phase], better[phase], worse[phase] }' | sort
    echo '#undef RECORD'
} >"$OUT.new" && mv "$OUT.new" "$OUT"
cat "$OUT"
