#!/bin/sh
# What large kernels gain that only the phases of src/pipeline/little.def changed, by size: the table there. usage: tests/large.sh FOLDER...
# Such a folder is made by tests/corpus.sh with RECORD=1. Each target of a kernel counts.
set -u
cd "$(dirname "$0")/.." || exit 1
little=$(sed -n 's/^LITTLE("\(.*\)")$/\1/p' src/pipeline/little.def | paste -sd, -)

for work; do
    awk -F'\t' -v little=",$little," '
        FILENAME ~ /rewrites.tsv$/ { seen[$2, $3] = 1; if (!index(little, "," $1 ",")) other[$2, $3] = 1; next }
        ($3, $4) in seen && !(($3, $4) in other) && $5 != "refused" { print $5, $7, ($9 > 0 ? $10 / $9 : 1) }' "$work/rewrites.tsv" "$work/judged.tsv"
done | awk '
    BEGIN { classes = split("0 500 1000 1500 2000 3000", from, " ") }
    {
        for (c = classes; $2 < from[c]; c--);
        kernels[c]++
        verdict[c, $1]++
        gained[c] += $3 < 0.99
        sum[c] += log($3)
        if (!(c in least) || $3 < least[c]) least[c] = $3
    }
    END {
        print "from kernels better worse 1%-fewer-cycles least-cycles mean-cycles"
        for (c = 1; c <= classes; c++)
            if (kernels[c])
                printf "%4d %7d %6d %5d %15d %12.3f %11.4f\n", from[c], kernels[c], verdict[c, "better"], verdict[c, "worse"], gained[c], least[c], exp(sum[c] / kernels[c])
    }'
