#!/bin/sh
# Inputs that nobody means: empty, binary, cut off anywhere, nested 100,000 deep, 100 MB long. ptxopt takes or refuses each
# of them (exit status 0 or 1) within a minute and in bounded memory; what it refuses leaves no output and few lines of
# diagnostics. usage: [BUILD=build] [NAME=asan] tests/robust.sh
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
WORK=$BUILD/work/robust
LOG=$WORK/log
rm -rf "$WORK"
mkdir -p "$WORK"
: >"$LOG"

# The sanitizers reserve more address space than any limit, and are slow.
if [ "${NAME:-}" = asan ]; then MEGABYTES=4 MEMORY=unlimited LIMIT=240; else MEGABYTES=100 MEMORY=1500000 LIMIT=60; fi

# run NAME STATUS: optimizes $WORK/in.ptx; STATUS is 0, 1 or any (of the two).
run()
{
    rm -f "$WORK/out.ptx"
    (ulimit -v "$MEMORY" && exec timeout "$LIMIT" "$BUILD/ptxopt" -O2 --reprint "$WORK/in.ptx" -o "$WORK/out.ptx") >"$WORK/said" 2>&1 </dev/null
    status=$? why=
    case $2:$status in
    any:[01] | 0:0 | 1:1) ;;
    *) why="exit status $status, not $2" ;;
    esac
    [ "$status" = 1 ] && [ ! -s "$WORK/said" ] && why='refused without a word'
    [ "$status" = 1 ] && [ -e "$WORK/out.ptx" ] && why='an output was left'
    [ "$(wc -c <"$WORK/said")" -gt 50000 ] && why='too many words'
    if [ -n "$why" ]; then
        echo "fail $1: $why"
        head -c 2000 "$WORK/said"
    else
        echo "pass $1"
    fi >>"$LOG"
}

# The head of a module with one function, up to where instructions begin.
head_of_function()
{
    printf '.version 8.0\n.target sm_80\n.address_size 64\n.global .u32 g;\n.visible .entry k(.param .u64 a)\n{\n'
    printf '.reg .pred %%p<4>;\n.reg .b32 %%r<9>;\n.reg .b64 %%rd<4>;\n'
}

repeat() { yes "$1" | head -n "$2"; }
joined() { repeat "$1" "$2" | tr -d '\n'; }
megabytes() { yes "$1" | head -c "$MEGABYTES"000000; }

# operands_of_all FIRST OTHER: each opcode but branches and calls with none to six operands, in the arms of a branch and after it.
operands_of_all()
{
    head_of_function | sed '/^\.visible/,$d'
    sed -n 's/^[A-Z]*([A-Z0-9_]*, *"\([^"]*\)".*/\1/p' src/isa/opcodes.def | grep -vE '^(bra|brx|call)' | awk -v first="$1" -v other="$2" '{
        for (n = 0; n <= 6; n++) {
            at = $0 (/\./ ? "" : ".u32")
            for (k = 0; k < n; k++)
                at = at (k ? ", " other : " " first)
            print ".visible .entry k" NR "_" n "(.param .u64 a)\n{\n.reg .pred %p<4>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<4>;"
            print "mov.u32 %r1, %tid.x;\nsetp.eq.u32 %p1, %r1, 5;\n@%p1 bra B;\n" at ";\nst.global.u32 [g], %r1;\nbra C;"
            print "B:\n" at ";\nst.global.u32 [g], %r1;\nC:\n" at ";\nsetp.eq.u32 %p2, %r1, 5;\n@%p2 bra D;\nst.global.u32 [g], %r1;\nD:\nret;\n}"
        }
    }'
}

# body NAME STATUS: standard input is the body of a function.
body() { { head_of_function; cat; printf '\nret;\n}\n'; } >"$WORK/in.ptx"; run "$1" "$2"; }
# unended NAME STATUS: the same without its end.
unended() { { head_of_function; cat; } >"$WORK/in.ptx"; run "$1" "$2"; }
# whole NAME STATUS: standard input is the module.
whole() { cat >"$WORK/in.ptx"; run "$1" "$2"; }

printf '' | whole 'nothing' 1
printf '\n\n' | whole 'empty lines' 1
printf '.version 8.0' | whole 'a version alone' 0
head -c 300000 "$BUILD/ptxopt" | whole 'a program' 1
head -c 1000000 /dev/zero | whole 'zeros' 1
gzip -c "$0" | whole 'compressed text' 1

# Cut anywhere, and with any byte replaced by one that matters.
{ head_of_function; sed "1,/{/d" tests/roundtrip/tables.ptx; printf '.section .debug_str { .b8 1, 2 }\n/* c */ // d'; } >"$WORK/whole.ptx"
size=$(wc -c <"$WORK/whole.ptx")
at=0
while [ $at -lt "$size" ]; do
    head -c $at "$WORK/whole.ptx" | whole "cut at byte $at" any
    at=$((at + 7))
done
for byte in '{' '}' '(' '[' '"' ';' ',' '/*' '@' ':' '\200' '.'; do
    at=100
    while [ $at -lt "$size" ]; do
        { head -c $at "$WORK/whole.ptx"; printf "$byte"; tail -c +$((at + 2)) "$WORK/whole.ptx"; } | whole "$byte at byte $at" any
        at=$((at + 61))
    done
done

printf '/*' | unended 'a comment without an end' 1
printf '.pragma "x' | unended 'a string without an end' 1
{ printf '/*'; megabytes 'no end'; } | unended 'a long comment without an end' 1
printf 'st.global.u32 [g], 1; bar.sync; bar.sync 0; bar.red.popc.u32;' | body 'barriers without operands' any
for operand in %r1 %p1 '[a]' '[%rd1]' 5 '{%r1, %r2}' '%r1|%p1' g; do
    operands_of_all "$operand" "$operand" | whole "operands of all opcodes: $operand" 0
    operands_of_all %r1 "$operand" | whole "operands of all opcodes: %r1, $operand" 0
done
{ repeat '{' 10000; repeat '}' 10000; } | body '10,000 scopes' 0
{ repeat '{ bra L; L:' 10000; repeat '}' 10000; } | body '10,000 scopes with branches' any
repeat '{' 10000 | unended '10,000 scopes without an end' 1
{ repeat '{' 100000; repeat '}' 100000; } | body '100,000 scopes' 0
{ repeat '{' 200000; repeat '}' 200000; } | body '200,000 scopes' 1
if grep -q 'error: this is nested too deeply' "$WORK/said"; then echo 'pass 200,000 scopes: why'; else echo 'fail 200,000 scopes: it is not said why'; fi >>"$LOG"
joined '{' 5000000 | unended '5 million scopes without an end' 1
joined '}' 5000000 | unended '5 million ends' 1
{ printf 'mov.b32 %%r1, '; joined '(' 100000; printf 5; joined ')' 100000; printf ';'; } | body '100,000 parentheses' any
{ printf 'mov.b32 %%r1, '; joined '(' 100000; printf ';'; } | body '100,000 parentheses without an end' 1
{ printf 'mov.b32 %%r1, '; joined '-' 100000; printf '5;'; } | body '100,000 minus signs' any
{ printf 'mov.b32 %%r1, 1'; joined '+1' 1000000; printf ';'; } | body 'a sum of a million' 0
{ printf 'mov.b32 %%r1, '; joined '1?' 100000; printf 1; joined ':2' 100000; printf ';'; } | body '100,000 choices' any
{ printf 'ld.b32 %%r1, '; joined '[' 100000; printf '%%rd1'; joined ']' 100000; printf ';'; } | body '100,000 brackets' 1
{ printf 'ld.b32 '; joined '{' 100000; printf '%%r1'; joined '}' 100000; printf ', [%%rd1];'; } | body '100,000 braces' 1
{ printf 'ld.b32 '; joined '{%r1,' 100000; printf ';'; } | body '100,000 braces without an end' 1
{ printf 'foo.b32 %%r1'; joined ', %r2' 60000; printf ';'; } | body '60,000 operands' 0
{ printf 'foo.b32 %%r1'; joined ', %r2' 1000000; printf ';'; } | body 'a million operands' 1
{ printf 'foo'; joined '.b32' 1000000; printf ' %%r1;'; } | body 'a million modifiers' 0
{ joined 'name' 1000000; printf ': bra '; joined 'name' 1000000; printf ';'; } | body 'a name of 4 MB' 0
{ printf 'mov.b32 %%r1, '; joined 9 1000000; printf ';'; } | body 'a number of a million digits' 1
{ printf 'mov.f32 %%r1, '; joined 9 1000000; printf '.0;'; } | body 'a million digits and a point' 1
awk 'BEGIN { for (i = 0; i < 200000; i++) print "bra L" i ";" }' | body '200,000 labels that are missing' 1
awk 'BEGIN { for (i = 0; i < 100000; i++) printf "L%d: ", i; for (i = 0; i < 100000; i++) print "@%p1 bra L" i ";" }' |
    body '100,000 labels at one place' 0
awk 'BEGIN { for (i = 0; i < 100000; i++) print "L: { bra L; }" }' | body 'a label 100,000 times' 1
awk 'BEGIN { for (i = 0; i < 50000; i++) print "{ .reg .b32 x" i "; mov.b32 x" i ", 1; }" }' | body '50,000 scopes in a row' 0
printf 'T: .branchtargets L<65536>; brx.idx %%r1, T;' | body 'a table of what is missing' 1
printf '.reg .b32 %%x<100000000>; mov.b32 %%x99999999, %%x5;' | body '100 million registers' 0
repeat '{.reg .b32 %x<60000>; mov.b32 %x9, %x3;}' 300000 | body '300,000 scopes with 60,000 registers each' 0
printf '.reg .b32 %%x<4294967297>;' | body 'more registers than there can be' 1
printf '.shared .b64 x[9223372036854775807][2];' | body 'an array larger than everything' 1
{ printf '.version 8.0\n.target sm_80\n.global .u32 x[] = '; joined '{' 100000; printf ';\n'; } | whole '100,000 braces of an initial value' 1
{ printf '.version 8.0\n.target sm_80\n.global .u32 x[] = {1'; joined ',1' 1000000; printf '};\n'; } | whole 'a million initial values' 0
awk 'BEGIN { print ".version 8.0\n.target sm_80"; for (i = 0; i < 100000; i++) print ".func f" i " () { ret; }" }' | whole '100,000 functions' 0
awk 'BEGIN { print ".version 8.0\n.target sm_80"; for (i = 0; i < 100000; i++) print ".func f (" }' | whole '100,000 broken functions' 1

# functions COUNT BODY: functions with one body each, in which # is the function's number.
functions()
{
    awk -v count="$1" -v body="$2" 'BEGIN {
        print ".version 8.0\n.target sm_80\n.address_size 64"
        for (f = 0; f < count; f++) {
            text = body
            gsub("#", f, text)
            print ".visible .entry f" f "()\n{\n.reg .pred %p<4>;\n.reg .b32 %r<9>;\n" text "\nret;\n}"
        }
    }'
}
# lines COUNT LINE: a line so often, in which ~ is its number.
lines() { awk -v count="$1" -v line="$2" 'BEGIN { for (k = 0; k < count; k++) { text = line; gsub("~", k, text); print text } }'; }

# What one function refers to is forgotten before the next one, however many mistakes there were.
missing=$(lines 40 '@%p1 bra L~;')
defined=$(lines 40 'L~: @%p1 bra L~;')
two() { functions "$1" "$2"; functions "$3" "$4" | sed '1,3d; s/entry f/entry g/'; }
for count in 22 40 4000; do
    two 1 "$(lines $count '@%p1 bra L~;')" 3 "$(lines $count 'L~: @%p1 bra L~;')" | whole "$count labels that another function has" 1
done
two 30 "$missing" 2 "{ $defined } $missing" | whole 'labels that a scope of another function has' 1
functions 50 "$(lines 30 '{ bra L~; { bra M~; }')$(lines 30 'L~: }')" | whole 'labels in scopes' any
functions 30 "$(lines 30 'T~: .branchtargets L~, M~; brx.idx %r1, T~;')" | whole 'tables of what is missing, in many functions' 1
functions 30 "$(lines 30 'call missing~, (%r~);')" | whole 'undeclared callees and registers in many functions' 1
functions 300 "$(lines 30 'call missing~_#;')" | whole 'undeclared callees in many functions' 0
functions 30 "$(lines 30 'mov.b32 %r1, variable~;')" | whole 'undeclared variables in many functions' 1
functions 30 "$(lines 30 '.reg .b32 a~; .reg .b32 a~; L: L: .shared .b32 s; .shared .b32 s;')$missing" | whole 'all declared twice in many functions' 1

megabytes 'add.s32 %r1, %r2, %r3;' | unended 'long: instructions without an end' 1
megabytes 'add.s32 %r1, %q, %r3;' | unended 'long: a mistake in every line' 1
megabytes 'add.s32 %r1, , %r3' | unended 'long: a bad statement in every line' 1
megabytes 'no PTX at all' | whole 'long: other text' 1
megabytes '' | whole 'long: empty lines' 1
megabytes '// comment' | unended 'long: comments' 1
megabytes 'x' | tr -d '\n' | whole 'long: one word' 1
megabytes '.b8 1,2,3,4' | { printf '.version 8.0\n.target sm_80\n.section .debug_str {'; cat; } | whole 'long: debug data without an end' 1
head -c "$MEGABYTES"000000 /dev/urandom | whole 'long: noise' 1

tally robust "$LOG"
