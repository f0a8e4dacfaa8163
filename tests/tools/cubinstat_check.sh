#!/bin/sh
# Does cubinstat agree with nvdisasm? Counts, targets and schedules, function by function.
#   cubinstat_check.sh [FILE.cubin | FILE.ptx]...     (default: every third of the examples)
# A .ptx is assembled for each of ARCHS. Environment: CUBINSTAT, NVDISASM, PTXAS, ARCHS.
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
CUBINSTAT=${CUBINSTAT:-$top/build/cubinstat}
PTXAS=${PTXAS:-$(command -v ptxas || echo /usr/local/cuda/bin/ptxas)}
NVDISASM=${NVDISASM:-$(command -v nvdisasm || echo /usr/local/cuda/bin/nvdisasm)}
ARCHS=${ARCHS:-75 80 90 100 120}

if [ ! -x "$NVDISASM" ]; then
    echo "skip cubinstat beside nvdisasm: it is not at hand"
    echo "cubinstat: 0 passed, 0 failed, 1 skipped"
    exit 0
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# The disassembly as "count KERNEL COLUMN N", "target KERNEL OFFSET TO" and "schedule KERNEL OFFSET ..." lines. The padding (from the last `BRA` to
# itself on, but for NOPs) is not counted. Two passes over one file: labels first.
cat >"$work/nvdisasm.awk" <<'AWK'
function column(op) {
    if (op ~ /^(BRA|JMP)$/) return "bra"
    if (op ~ /^(BRX|BRXU|JMX|JMXU)$/) return "brx"
    if (op ~ /^(BSSY|BSYNC|BREAK|CALL|EXIT|WARPSYNC|LDGSTS|LD|ST|LDG|STG|LDL|STL)$/) return tolower(op)
    if (op == "KILL") return "exit"
    if (op ~ /^(BAR|UCGABAR_ARV|UCGABAR_WAIT)$/) return "bar"
    if (op ~ /^(PLOP3|UPLOP3|P2R|R2P)$/) return "pred"
    if (op ~ /^(ISETP|FSETP|DSETP|HSETP2|UISETP|UFSETP)$/) return "setp"
    if (op ~ /^(SEL|FSEL|USEL)$/) return "sel"
    if (op ~ /^(FFMA|FFMA2|UFFMA|DFMA|HFMA2)$/) return "fma"
    if (op ~ /^(H|I|D|B|Q|O|HG|IG|QG|BG|UTCH|UTCI|UTCQ|UTCO)MMA$/) return "mma"
    if (op ~ /^(LDS|LDSM)$/) return "lds"
    if (op ~ /^(STS|STSM)$/) return "sts"
    if (op ~ /^(LDC|LDCU|ULDC)$/) return "ldc"
    if (op ~ /^(ATOM|ATOMG|ATOMS|RED|REDG)$/) return "atom"
    return ""
}
function hex(text,    i, value) {
    for (i = 1; i <= length(text); i++)
        value = value * 16 + index("0123456789abcdef", substr(text, i, 1)) - 1
    return value
}
function flush_function(    i, c) { # what follows the last instruction that is not padding does not count
    while (n && op[n] == "NOP") n--
    if (n && self[n]) n--
    for (i = 1; i <= n; i++) {
        counts["instr"]++
        c = column(op[i])
        if (c == "fma" && text[i] ~ /HFMA2[^ ]* [^,]*, -?RZ(\.[^,]*)?, /) c = ""
        if (c != "") counts[c]++
        if (to[i] != "") print "target", name, offset[i], to[i]
        print "schedule", name, offset[i], schedule[i]
    }
    for (c in counts) print "count", name, c, counts[c]
    split("", counts); n = 0
}
function bits(value, shift, count) { return int(value / 2 ^ shift) % 2 ^ count }
# The upper half of an instruction stands on a line of its own.
FNR != NR && /^ +\/\* 0x[0-9a-f]+ \*\/$/ && n {
    upper = hex(substr($2, 3, 6)) # bits 104 to 127
    schedule[n] = bits(upper, 1, 4) " " bits(upper, 5, 1) " " bits(upper, 6, 3) " " bits(upper, 9, 3) " " bits(upper, 12, 6)
}
/^\.L_[^ ]*:/ || /^[^ .\/\t][^ ]*:$/ || /^\.text\./ {
    label = $1; sub(/:$/, "", label)
    pending[++pendings] = label
    if (FNR != NR && (label in is_function) && label != name) { if (name != "") flush_function(); name = label }
    next
}
FNR == NR && $1 == ".type" && $2 ~ /,@function$/ { sub(/,@function$/, "", $2); is_function[$2] = 1 }
/^\t\.section\t/ || /^\/\/-----/ { if (FNR != NR && name != "") { flush_function(); name = "" } }
/^ +\/\*[0-9a-f]+\*\/ / {
    at = hex(substr($1, 3, length($1) - 4))
    if (FNR == NR) {
        while (pendings) place[pending[pendings--]] = at
        next
    }
    if (name == "") next # data
    line = $0
    never = line ~ /@!U?PT / || line ~ / BRA[.A-Z]* ([^(]*, *)?!U?PT,/ # executed by nobody
    sub(/ +\/\* 0x[0-9a-f]+ \*\/$/, "", line); sub(/^ +\/\*[0-9a-f]+\*\/ +/, "", line); sub(/^\{ */, "", line); sub(/^@!?U?P[0-9T]+ +/, "", line)
    opcode = line; sub(/[ ;.].*/, "", opcode)
    if (never) opcode = "NOP"
    op[++n] = opcode; text[n] = line; offset[n] = at; self[n] = 0; to[n] = ""
    if ((opcode == "BRA" || opcode == "BSSY" || line ~ /^CALL\.REL/) && match(line, /\(\.?[^)]*\)/)) {
        label = substr(line, RSTART + 1, RLENGTH - 2)
        to[n] = place[label]
        self[n] = opcode == "BRA" && to[n] == at
    }
}
END { if (name != "") flush_function() }
AWK

# cubinstat's rows in the same form; zero counts are left out on both sides.
cat >"$work/counts.awk" <<'AWK'
NR == 1 { for (i = 1; i <= NF; i++) title[i] = $i; next }
{
    for (i = 5; i <= NF; i++)
        if ($i && title[i] !~ /^(pad|regs|stack|spill_..|smem|barriers|bytes|loops|loop_instr|irreducible)$/)
            print "count", $1, title[i], $i
}
AWK

compare() { # cubin, name shown
    "$NVDISASM" -ndf -novliw -hex "$1" >"$work/dis" 2>"$work/err" || { echo "FAIL $2: nvdisasm: $(head -1 "$work/err")"; return 1; }
    awk -f "$work/nvdisasm.awk" "$work/dis" "$work/dis" | sort >"$work/theirs"
    {
        "$CUBINSTAT" --tsv "$1" | awk -F'\t' -f "$work/counts.awk"
        "$CUBINSTAT" --targets "$1" | awk -F'\t' 'NR > 1 { print "target", $1, $2, $3 }'
        "$CUBINSTAT" --schedule "$1" | awk -F'\t' 'NR > 1 { print "schedule", $1, $2, $3, $4, $5, $6, $7 }'
    } | sort >"$work/ours"
    if ! cmp -s "$work/theirs" "$work/ours"; then
        echo "FAIL $2: (<: nvdisasm, >: cubinstat)"
        diff "$work/theirs" "$work/ours" | head -20
        return 1
    fi
    functions=$((functions + $(grep -c ' instr ' "$work/ours")))
    targets=$((targets + $(grep -c '^target' "$work/ours")))
    return 0 # grep fails where it counts none
}

if [ $# = 0 ]; then
    if [ ! -x "$PTXAS" ]; then
        echo "skip cubinstat beside nvdisasm: ptxas is not at hand"
        echo "cubinstat: 0 passed, 0 failed, 1 skipped"
        exit 0
    fi
    set -- $(ls "$top"/examples/*.ptx | awk 'NR % 3 == 1')
fi
failed=0 cubins=0 functions=0 targets=0
for file; do
    case $file in
    *.ptx)
        for arch in $ARCHS; do
            "$PTXAS" -arch="sm_$arch" "$file" -o "$work/cubin" 2>/dev/null || continue
            cubins=$((cubins + 1))
            compare "$work/cubin" "$(basename "$file") sm_$arch" || failed=$((failed + 1))
        done ;;
    *)
        cubins=$((cubins + 1))
        compare "$file" "$file" || failed=$((failed + 1)) ;;
    esac
done
echo "$functions functions, $targets branch targets compared"
echo "cubinstat: $((cubins - failed)) passed, $failed failed"
[ "$failed" = 0 ] && [ "$functions" -gt 0 ]
