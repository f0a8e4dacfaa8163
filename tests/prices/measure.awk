# Whether one more copy of each row's sample takes what the row says: reads ptxas.def, then what cubinstat --tsv says of the module
# that kernels.awk wrote. A line a row: pass, or fail and why; with verbose=1, what was measured.
# usage: awk -F'\t' -v what='13.0 sm_80' -f measure.awk ptxas.def FILE
function overhead(sample,   rest, reg, count)
{
    split("", seen)
    for (rest = sample; match(rest, /[ (][fdrlhp][xabcd]/); rest = substr(rest, RSTART + 3)) {
        reg = substr(rest, RSTART + 1, 2)
        if (!(reg in seen)) {
            seen[reg]
            count += reg ~ /^p/ ? 2 : 1
        }
    }
    return count
}

FILENAME == ARGV[1] {
    if (!/^(COST|PAIR)\(/) next
    split($0, part, "\"")
    sample[++rows] = part[4]
    split($0, column, ", *")
    pair = /^PAIR/
    least[rows] = column[7 + pair]
    most[rows] = column[8 + pair]
    next
}

FNR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }

# An integer division may be a call of a function of ptxas's own, which is executed, too: __cuda_sm20_div_s64.
$at["kind"] == "function" {
    if (match($1, /(div|rem)_[su](16|64)$/)) called[substr($1, RSTART, RLENGTH)] = $at["instr"]
    next
}

{ instr[$1] = $at["instr"] }

END {
    for (k = 1; k <= rows; k++) {
        operation = sample[k]
        sub(/ .*/, "", operation)
        gsub(/\./, "_", operation)
        cost = (instr["price" k "_4"] - instr["price" k "_2"]) / 2 - overhead(sample[k]) + called[operation]
        if (!(("price" k "_4") in instr)) print "fail " what ": no kernel for " sample[k]
        else if (verbose) print cost "\t" what "\t" sample[k]
        else if (cost >= least[k] && cost <= most[k]) print "pass " what ": " sample[k]
        else print "fail " what ": " sample[k] " takes " cost " machine instructions; ptxas.def says " least[k] " to " most[k]
    }
}
