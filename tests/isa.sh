#!/bin/sh
# The words of the ISA tables against ptxas, which names each word that it does not know: every opcode of
# tests/unit/opcodes.txt without its operands, the rows of modifiers.def that those do not show, and a mov from every
# special register. Then the small texts of tests/probes.txt, which ptxopt and ptxas take or refuse.
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
WORK=$BUILD/isa
mkdir -p "$WORK"

release=${PTXAS:+$("$PTXAS" --version | sed -n 's/.*release \([0-9.]*\),.*/\1/p')}
# at_least VERSION: whether ptxas is of this release or a later one.
at_least()
{
    printf '%s\n' "$1" "$release" | sort -t . -k 1,1n -k 2,2n | head -1 | grep -qxF "$1"
}

# The newest words need the newest ISA and target; where ptxas is older, they are left out, aloud.
if [ -n "$PTXAS" ] && at_least 13.5; then version=9.5 target=sm_107a; else version=9.0 target=sm_100a; fi
newer='clmad|fabric|multimem\.(st|red)\.async|multimem\.cp|applypriority\.async|check_layout|spcompress|locality_domain|percta|u8x4|s8x4|ue5m3|s2f6|L1::32B|proxy::readonly|valid_addr|pzo|scaled::|complete_tx::16B|report::fabric|op_restrict|sync_restrict::(reads|shared::read)|\.multimem$|ignore_oob|layout::|override::|im2col_no_offs::w|::(16|32)b|kind::ti16|exclusive|decompress|collector::b::'
known_words()
{
    if [ "$version" = 9.0 ]; then grep -vE "$newer"; else cat; fi
}

head=".version $version
.target $target
.address_size 64
.visible .entry k() .minperctamemory 64 {"
if [ "$version" = 9.0 ]; then head=$(printf '%s' "$head" | sed 's/ .minperctamemory 64//'); fi

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
    "$PTXAS" -arch "$target" -o /dev/null "$WORK/$1.ptx" >"$WORK/$1.err" 2>&1
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

# ---- tests/probes.txt ---------------------------------------------------------------------------------------------------

# probe_module PLACE TEXT: the module; branch-folding finds something in k.
probe_module()
{
    header='' body='' module='' prefix='' parameter=''
    case $1 in
    whole) printf '%s\n' "$2"; return ;;
    header) header=$2 ;;
    body) body=$2 ;;
    module) module=$2 ;;
    prefix) prefix=$2 ;;
    parameter) parameter=", $2" ;;
    esac
    cat <<END
.version ${PROBE_VERSION:-9.0}
.target ${PROBE_TARGET:-sm_100a}
.address_size 64
.file 1 "a.cu"
.global .u32 g[4];
.shared .b64 sh;
.func (.reg .b32 %o) f(.reg .b32 %i)
{
	mov.b32 %o, %i;
	ret;
}
$module
$prefix .visible .entry k(.param .u64 p$parameter) $header
{
	.reg .pred %p<4>;
	.reg .b16 %h<4>;
	.reg .b32 %r<9>;
	.reg .f32 %f<4>;
	.reg .b64 %rd<9>;
	.reg .b128 %q<3>;
$body
	@%p3 bra \$hop;
	bra.uni \$hop;
\$hop:
	bra \$end;
\$end:
	ret;
}
END
}

# optimized STATUS OPTION...: whether ptxopt ends so.
optimized()
{
    wanted=$1
    shift
    timeout 20 "$BUILD/ptxopt" "$@" --remarks="$probe.yaml" "$probe.ptx" -o "$probe.out" >"$probe.said" 2>&1 </dev/null
    [ $? = "$wanted" ]
}

left_alone() { cmp -s "$probe.ptx" "$probe.out" && grep -q Untouchable "$probe.yaml"; }

# What ptxopt does otherwise than the first word says.
ptxopt_differs()
{
    case $1 in
    take) optimized 0 --strict && ! grep -q Untouchable "$probe.yaml" && optimized 0 && return 1 ;;
    leave) optimized 1 --strict && optimized 0 && left_alone && optimized 0 -O2 --reprint && left_alone && return 1 ;;
    pass) optimized 1 --strict && optimized 0 && return 1 ;;
    opcode) optimized 0 --strict && left_alone && optimized 0 && left_alone && return 1 ;;
    refuse) optimized 1 --strict && optimized 1 && return 1 ;;
    esac
    return 0
}

ptxas_differs()
{
    probe_target=$(ptx_target "$probe.ptx")
    case $1 in
    no) at_least 13.0 && "$PTXAS" -arch "$probe_target" -o "$probe.cubin" "$probe.ptx" >"$probe.ptxas" 2>&1 && return 0 ;;
    *) "$PTXAS" -arch "$probe_target" -o "$probe.cubin" "$probe.ptx" >"$probe.ptxas" 2>&1 || return 0 ;;
    esac
    return 1
}

# one_probe NUMBER LINE
one_probe()
{
    probe=$WORK/probe-$1
    IFS=' ' read -r ours theirs place text <<END
$2
END
    probe_module "$place" "$text" >"$probe.ptx"
    if ptxopt_differs "$ours"; then
        echo "fail probe: ptxopt does not $ours: $place: $text"
        head -5 "$probe.said"
    elif [ -z "$PTXAS" ]; then
        echo "pass probe: $place: $text"
    elif [ "$theirs" != yes ] && [ "$theirs" != no ] && ! at_least "$theirs"; then
        echo "skip probe: ptxas $theirs is needed: $place: $text"
    elif ptxas_differs "$theirs"; then
        echo "fail probe: ptxas says otherwise than $theirs: $place: $text"
        head -3 "$probe.ptxas"
    else
        echo "pass probe: $place: $text"
    fi
}

probe_all()
{
    number=0
    while IFS= read -r line; do
        number=$((number + 1))
        case $line in
        '' | '#'*) ;;
        '%'*) # % VERSION TARGET
            IFS=' ' read -r _ PROBE_VERSION PROBE_TARGET <<END
$line
END
            ;;
        *) one_probe "$number" "$line" ;;
        esac
    done <tests/probes.txt
    skip_without_ptxas 'what ptxas says of tests/probes.txt'
}

: >"$WORK/log"
probe_all >>"$WORK/log"
if [ -z "$PTXAS" ]; then
    skip_without_ptxas 'words of the ISA tables' >>"$WORK/log"
else
    unknown='Unknown modifier|Not a name of any known'
    # Branches and calls do not parse without operands.
    expand <tests/unit/opcodes.txt | grep -v '^bra\|^brx\|^call' | known_words >"$WORK/opcodes"
    { echo "$head"; sed 's/$/;/' "$WORK/opcodes"; echo 'ret; }'; } >"$WORK/opcodes.ptx"
    judge opcodes "$unknown"

    tr . '\n' <"$WORK/opcodes" | sed 's/^/./' | sort -u >"$WORK/shown"
    rows modifiers.def MOD TYPE | grep -v '\[' | sort | comm -23 - "$WORK/shown" | known_words >"$WORK/modifiers"
    { echo "$head"; sed 's/.*/add& ;/' "$WORK/modifiers"; echo 'ret; }'; } >"$WORK/modifiers.ptx"
    judge modifiers "$unknown"

    {
        echo "$head .reg .pred PRED; .reg .b32 B32; .reg .u32 U32; .reg .u64 U64;"
        sed -n -e 's/^SREG("\([^"]*\)", 0, \([^,]*\),.*/mov.\2 \2, \1;/' \
            -e 's/^SREG("\([^"]*\)", 4, U32,.*/mov.v4.u32 {U32, U32, U32, U32}, \1;/' \
            -e 's/^mov.PRED/mov.pred/; s/^mov.B/mov.b/; s/^mov.U/mov.u/; /^mov/p' src/isa/sregs.def | known_words
        echo 'ret; }'
    } >"$WORK/sregs.ptx"
    judge sregs 'error'
    at_least 13.5 || echo 'skip words of PTX ISA 9.1 to 9.5: ptxas 13.5 is needed' >>"$WORK/log"
fi
tally isa "$WORK/log"
