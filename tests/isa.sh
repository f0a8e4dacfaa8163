#!/bin/sh
# The words of the ISA tables against ptxas, which names each word that it does not know: every opcode of
# tests/unit/opcodes.txt without its operands, the rows of modifiers.def that those do not show, and a mov from every
# special register.
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
WORK=$BUILD/isa
mkdir -p "$WORK"

head='.version 9.0
.target sm_100a
.address_size 64
.visible .entry k() {'

# Each line's alternatives {a,b}, one a line.
expand()
{
    awk '
        function expand(text,    first, last, words, n, i) {
            first = index(text, "{")
            if (!first) { print text; return }
            last = index(text, "}")
            n = split(substr(text, first + 1, last - first - 1), words, ",")
            for (i = 1; i <= n; i++)
                expand(substr(text, 1, first - 1) words[i] substr(text, last + 1))
        }
        /^[^#]/ { expand($0) }'
}

# rows FILE MACRO...: the texts of these rows of a table.
rows()
{
    table=src/isa/$1
    shift
    for macro; do
        if [ "$macro" = TYPE ]; then parameters='id, text, ...'; else parameters='text, ...'; fi
        printf '#define %s(%s) @ text @\n#include "%s"\n' "$macro" "$parameters" "$table" | ${CC:-cc} -E -P -I. -x c -
    done | tr @ '\n' | sed -n 's/" *"//g; s/.*"\(.*\)".*/\1/p'
}

# judge NAME COMPLAINT: each line of $WORK/NAME.ptx of which ptxas complains so is a failure.
judge()
{
    "$PTXAS" -arch sm_100a -o /dev/null "$WORK/$1.ptx" >"$WORK/$1.err" 2>&1
    awk -v name="$1" -v complaint="$2|fatal   : Parsing" '
        FNR == NR {
            if ($0 ~ complaint && match($0, /line [0-9]+/))
                bad[substr($0, RSTART + 5, RLENGTH - 5)] = $0
            next
        }
        FNR <= 4 || /^ret/ { next }
        FNR in bad { print "fail " name ": " $0 " " bad[FNR]; next }
        { print "pass " name ": " $0 }' "$WORK/$1.err" "$WORK/$1.ptx" >>"$WORK/log"
}

: >"$WORK/log"
if [ -z "$PTXAS" ]; then
    skip_without_ptxas 'words of the ISA tables' >>"$WORK/log"
else
    unknown='Unknown modifier|Not a name of any known'
    # Branches and calls do not parse without operands.
    expand <tests/unit/opcodes.txt | grep -v '^bra\|^brx\|^call' >"$WORK/opcodes"
    { echo "$head"; sed 's/$/;/' "$WORK/opcodes"; echo 'ret; }'; } >"$WORK/opcodes.ptx"
    judge opcodes "$unknown"

    tr . '\n' <"$WORK/opcodes" | sed 's/^/./' | sort -u >"$WORK/shown"
    rows modifiers.def MOD TYPE | grep -v '\[' | sort | comm -23 - "$WORK/shown" >"$WORK/modifiers"
    { echo "$head"; sed 's/.*/add& ;/' "$WORK/modifiers"; echo 'ret; }'; } >"$WORK/modifiers.ptx"
    judge modifiers "$unknown"

    {
        echo "$head .reg .pred PRED; .reg .b32 B32; .reg .u32 U32; .reg .u64 U64;"
        sed -n -e 's/^SREG("\([^"]*\)", 0, \([^,]*\),.*/mov.\2 \2, \1;/' \
            -e 's/^SREG("\([^"]*\)", 4, U32,.*/mov.v4.u32 {U32, U32, U32, U32}, \1;/' \
            -e 's/^mov.PRED/mov.pred/; s/^mov.B/mov.b/; s/^mov.U/mov.u/; /^mov/p' src/isa/sregs.def
        echo 'ret; }'
    } >"$WORK/sregs.ptx"
    judge sregs 'error'
fi
tally isa "$WORK/log"
