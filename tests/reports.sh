#!/bin/sh
# ptxopt-report: text, Markdown, HTML and JSON, before stand-ins for ptxas that fail, and before ptxas itself.
# usage: [BUILD=build] tests/reports.sh [PART-OF-A-NAME]
# Each case runs in a folder of its own that holds in.ptx, the sample of the tests, in which one kernel changes, switch.ptx, an example
# with a switch, and slow.ptx, which -O1 makes better than -O2 --ignore-exits.
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
. tests/cases.sh
case $BUILD in /*) ;; *) BUILD=$(pwd)/$BUILD ;; esac
WORK=$BUILD/work/reports
unset PTXOPT PTXOPT_FLAGS PTXOPT_PTXAS PTXOPT_LOG PTXOPT_FRONTS PTXOPT_GUARD CUDA_HOME CUDA_PATH
rm -rf "$WORK"
mkdir -p "$WORK/input" "$WORK/tmp"
export TMPDIR="$WORK/tmp"
cp tests/sample.ptx "$WORK/input/in.ptx"
cp examples/bytecode.nvcc.ptx "$WORK/input/switch.ptx"
cp examples/hash_table.clang.ptx "$WORK/input/slow.ptx"
cat >"$WORK/input/ptxas" <<'END'
#!/bin/sh
out= last=
for word; do case $word in --output-file=*) out=${word#*=} ;; -v) ;; *) last=$word ;; esac; done
case "$*" in *--version*) echo 'Cuda compilation tools, release 99.1, V99.1.2'; exit 0 ;; esac
case ${FAKE:-} in
crash) kill -SEGV $$ ;;
hang) exec sleep 60 ;;
refuse) echo "ptxas fatal: no <such> \"thing\"" >&2; exit 255 ;;
refuse-new) case $last in /dev/fd/*) echo "ptxas $last, line 3; error" >&2; exit 255 ;; esac ;;
garbage) echo 'no cubin' >"$out"; exit 0 ;;
esac
exec "$REAL" "$@"
END
chmod +x "$WORK/input/ptxas"

part=${1:-}
begin_case() { rm -rf "${TMPDIR:?}"/*; }
end_case() { [ -z "$(ls "$TMPDIR")" ]; }
TOP=$(pwd)
ptxopt() { timeout 60 "$BUILD/ptxopt" "$@"; }
report() { timeout 100 "$BUILD/ptxopt-report" "$@"; }
# well_formed FILE: a page of which xmllint, where it is at hand, has nothing to say but that it does not know HTML 5.
well_formed()
{
    ! command -v xmllint >/dev/null || [ -z "$(xmllint --html --noout "$1" 2>&1 | grep ' error ' | grep -v 'Tag [a-z]* invalid')" ]
    [ "$(grep -o '<section' "$1" | wc -l)" = "$(grep -o '</section' "$1" | wc -l)" ]
    ! grep -q 'src=\|href="[^#]\|<script\|@import\|url(' "$1"
    [ -z "$(grep -o ' id="[^"]*"' "$1" | sort | uniq -d)" ]
}
# checked_loops COUNT: a kernel with so many loops of two bounds checks each, at lines 12, 26, 40, ...; the second check of the last
# loop compares with what the loop loads.
checked_loops()
{
    printf "%s\n" ".version 8.0" ".target sm_80" ".address_size 64" ".visible .entry k (.param .u64 in, .param .u32 len, .param .u32 count)" "{" \
        ".reg .pred p; .reg .b32 i, l, m, n; .reg .b64 a, b; .reg .f32 f;" "ld.param.u64 a, [in]; ld.param.u32 l, [len]; ld.param.u32 n, [count];"
    for k in $(seq "$1"); do
        if [ "$k" = "$1" ]; then bound="ld.global.nc.u32 m, [a+4];"; else bound="mov.u32 m, n;"; fi
        printf "%s\n" "mov.u32 m, n;" "mov.u32 i, 0;" "" "L$k:" "mul.wide.u32 b, i, 4; add.s64 b, a, b;" "$([ "$k" != "$1" ] || echo "$bound")" "setp.ge.u32 p, i, l;" \
            "@p bra FAIL;" "ld.global.f32 f, [b];" "setp.ge.u32 p, i, m;" "@p bra FAIL;" "st.global.f32 [b+400], f;" "add.s32 i, i, 1; setp.lt.s32 p, i, n;" "@p bra L$k;"
    done
    printf "%s\n" "ret;" "FAIL:" "trap;" "}"
}
# is_json FILE: by python3, where it is at hand.
is_json() { ! command -v python3 >/dev/null || python3 -m json.tool "$1" >/dev/null; }
# unjudged MESSAGE: exit status 1, the reason in the report, in every format, and as a warning.
unjudged()
{
    for format in text markdown html json; do
        exits 1 report --ptxas=./ptxas --limit=1 --format=$format in.ptx -o r
        says "warning: in.ptx, ptxas 99.1 sm_80: .*$1"
        tr -d '\\' <r | grep -q "$1"
    done
    is_json r
}

{
case_ 'a ptxas that is missing' 'exits 2 report --ptxas=./none in.ptx -o r; says "names .\./none.*no program that can be run"; [ ! -e r ]'
case_ 'one of two that is missing' 'exits 2 report --ptxas=/bin/true,./none in.ptx; says "names .\./none"'
case_ 'bad usage' 'exits 2 report; says "no input file"; exits 2 report --format=pdf in.ptx; says "text, markdown, html or json, not .pdf."; exits 2 report --nonsense in.ptx; says "unknown option .--nonsense."
    exits 2 report --ptxas=./ptxas --arch=80 in.ptx; says "targets from sm_75 on, like sm_90, not .80."; exits 2 report --jobs=0 in.ptx; says "not .0."; exits 2 report --ptxas; says "argument is missing"
    exits 2 report in.ptx -- --nonsense; says "unknown option .--nonsense."; exits 2 report in.ptx -- --guard; says "not with .--guard."'
case_ 'every remark has words' '{ for file in "$TOP"/examples/*.ptx; do ptxopt -O3 --enable-stride-unroll --remarks=r "$file" -o o; sed -n "/^Pass: *ptxas/{N;d;};s/^Name: *//p" r; done; } | sort -u | grep -v "^Switch[TS]\|^LoopVersioned$" >names
    [ "$(wc -l <names)" -gt 20 ]; while read -r name; do grep "^WORDS(.$name\"" "$TOP/src/pipeline/story_words.def" || { echo "$name has no words"; false; }; done <names'
case_ 'bounds checks that left their loops, and those that did not' 'checked_loops 1 >x.ptx; ptxopt -O2 --explain x.ptx -o o | tr -s "\n " " " >said; says "done 1 of 2 bounds checks left the loop at line 12"; says "; 1 bounds check in a loop (line 18: this check stays in its loop: its bound is loaded in the loop, line 13)"
    checked_loops 3 >x.ptx; ptxopt -O2 --explain x.ptx -o o | tr -s "\n " " " >said; says "2 of 2 bounds checks left the loop at line 26; 1 of 2 bounds checks left the loop at line 40"; not grep -q more said
    checked_loops 6 >x.ptx; ptxopt -O2 --loop-version-size=2000 --explain x.ptx -o o | tr -s "\n " " " >said; says "left the loop at line 40; 5 of 6 bounds checks left 3 more loops"; not grep -q "all iterations" said
    ptxopt -O2 --explain "$TOP/examples/checked/products.checked.nvcc.ptx" -o o | tr -s "\n " " " >said; says "8 of 8 bounds checks left the loop at line 75"; not grep -q "checks* in" said'
case_ 'help and version' 'exits 0 report --help; grep -q "^usage: ptxopt-report" out; exits 0 report --version; grep -q "^ptxopt-report .*commit" out'
# build_log: three calls, of which one failed and one was reverted and slow, and lines that are none
build_log() { printf "%s\\n" "{\"program\": \"ptxas\", \"input\": \"/tmp/x.ptx\", \"source\": \"a \\\"b\\\".ptx\", \"result\": \"optimized\", \"functions\": 7, \"changed\": 3, \"reverted\": [{\"function\": \"k\", \"how\": \"left alone\", \"why\": \"cycles [1] to {2}\"}], \"held_back\": 1, \"slow_kernels\": [\"k\", \"l\"], \"ptxas_level\": 2, \"status\": 0, \"run_ms\": 1500.000, \"optimize_ms\": 250.5}" \
    "" "{\"input\": \"b.ptx\", \"result\": \"failed\", \"reason\": \"the text was not taken\", \"warning\": \"odd\", \"optimize_ms\": 1.000}" "nonsense" "{\"result\": \"strange\"}" "{\"input\": \"b.ptx\", \"result\": \"unchanged\", \"new\": {\"x\": [1, {\"y\": \"}\"}]}, \"functions\": 2, \"changed\": 0}"; printf "{\"input\": \"c.ptx\", \"result\": \"optim"; }
case_ '--log sums a build up' 'build_log >log; exits 0 report --log=log; head -1 out | grep -q "^log: 3 calls over 2 files$"; grep -q "^    1 optimized, 1 unchanged, 0 bypassed, 1 failed$" out; grep -q "^    9 functions, 3 changed by the phases, 1 reverted by the guard$" out; grep -q "^    0.2[0-9]* s in the optimizer, 1.500 s in ptxas" out; grep -q "^    3 lines left out" out
    grep -q "^    a \"b\".ptx: k: left alone: cycles .1. to {2}$" out; grep -q "^    b.ptx: the text was not taken$" out; grep -q "^    a \"b\".ptx: assembled at -O2: k, l$" out; grep -q "^    b.ptx: odd$" out; report --log=log -o o; report --log=log | cmp - o'
case_ '--log that cannot be read, or holds nothing' 'exits 1 report --log=none; says "cannot read .none.: No such"; exits 1 report --log=none -o o; [ ! -e o ]; : >log; exits 0 report --log=log; grep -q "^log: 0 calls over 0 files" out; exits 2 report --log=log in.ptx; says "reads no PTX: not with .in.ptx."; head -c 4000 /dev/urandom >log; exits 0 report --log=log; exits 1 report --log=log -o none/r'
case_ '--log of many failures lists twenty' 'for i in $(seq 30); do echo "{\"input\": \"$i.ptx\", \"result\": \"failed\"}"; done >log; exits 0 report --log=log; [ "$(grep -c "no reason is given" out)" = 20 ]; grep -q "^    and 10 more" out'
case_ 'a file that is missing' 'exits 1 report --ptxas=./ptxas none.ptx; says "cannot read .none.ptx.: No such file"'
case_ 'a file that is no PTX' 'echo nonsense >bad.ptx; exits 1 report --ptxas=./ptxas bad.ptx; says "^bad.ptx:1:1: error"'
case_ 'a ptxas that crashes' 'FAKE=crash unjudged "ended by signal 11 over the original"'
case_ 'a ptxas that hangs' 'FAKE=hang unjudged "did not end within 1 seconds over the original"'
case_ 'a ptxas that writes something else' 'FAKE=garbage unjudged "cannot be judged: not a cubin"'
case_ 'a ptxas that refuses: what it said is told, and escaped' 'FAKE=refuse unjudged "refuses the original: ptxas fatal"; FAKE=refuse report --ptxas=./ptxas --format=html in.ptx -o r || :; grep -q "no &lt;such&gt; &quot;thing&quot;" r; well_formed r'
if [ -z "$PTXAS" ]; then
    skip_without_ptxas 'what the reports say'
else
    export REAL="$PTXAS"
    case_ 'without a demangler, names of C++ stay as they are' 'for l in libstdc++.so.6 libc++abi.so.1; do echo none >$l; done; sed "s/merge_pass/_Z4passPKii/g" "$TOP/examples/merge_sort.clang.ptx" >x.ptx; LD_LIBRARY_PATH=$PWD exits 0 report --ptxas="$REAL" --format=html x.ptx -o r; grep -q "_Z4passPKii" r; not grep -q "pass(int const" r; well_formed r
        exits 0 report --ptxas="$REAL" --format=html x.ptx -o r; [ -z "$(ldconfig -p 2>/dev/null | grep libstdc++.so.6)" ] || grep -q "pass(int const\*, int)" r'
    if command -v script >/dev/null; then
        case_ 'a terminal is shown how far it is, and nothing else is' 'script -qec "$BUILD/ptxopt-report --ptxas=$REAL in.ptx -o o" /dev/null >said </dev/null; says "ptxopt-report: in.ptx: 2 of 2 texts assembled"; exits 0 report --ptxas="$REAL" in.ptx -o p; [ ! -s said ]'
    else
        echo 'skip the progress of a report on a terminal: script is not available'
    fi
    case_ 'a ptxas that refuses what ptxopt made' 'FAKE=refuse-new unjudged "refuses the optimized text"'
    case_ 'text' 'exits 0 report --ptxas=./ptxas --arch=sm_80 switch.ptx; grep -q "^bytecode$" out; tr -s "\n " " " <out | grep -q "Switch of 21 cases at line [0-9]*: longest path 6 branches to 2, by a jump table; .*[0-9]* tails merged.*kept: "
        grep -q "ptxas 99.1 sm_80: better: instructions" out; tail -1 out | grep -q "ptxopt -O2: 2 functions\|ptxopt -O2: 1 function,"'
    case_ 'what did not change is left out, but for --all' 'exits 0 report --ptxas=./ptxas slow.ptx; not grep -q "^hash_remove" out; exits 0 report --ptxas=./ptxas --all slow.ptx; grep -q "^hash_remove" out; grep -q "Nothing was done" out'
    case_ 'places of the source' 'sed "s/^\.address_size 64/&\n.file 1 \"dir\/k.cu\"/; s/^\([[:space:]]*\)brx/\1.loc 1 77 3\n&/; s/^\([[:space:]]*\)setp/\1.loc 1 77 3\n&/" switch.ptx >loc.ptx; exits 0 report --ptxas=./ptxas loc.ptx; grep -q "^bytecode (k.cu:77:3)" out; grep -q "cases at k.cu:77" out
        exits 0 report --ptxas=./ptxas --format=html loc.ptx; grep -q "instructions, line 77<" out'
    case_ 'several ptxas and targets' 'exits 0 report --ptxas=./ptxas,"$REAL" --arch=sm_80,sm_90 --format=json switch.ptx -o r; is_json r; [ "$(grep -c "\"release\"" r)" = 4 ]; [ "$(grep -c "\"run\": [0-3]," r)" = 4 ]; grep -q "\"arch\": \"sm_90\"" r'
    case_ 'JSON' 'exits 0 report --ptxas=./ptxas --format=json switch.ptx in.ptx; is_json out; grep -q "\"verdict\": \"better\", \"changed\": true, \"worse\": \[\], \"instructions\": \[[0-9]*, [0-9]*\], \"cycles\": \[" out
        grep -q "\"phase\": \"switch-lowering\", \"name\": \"SwitchTable\", \"source\": null, \"line\": " out; grep -q "\"story\": \"Switch of 21 cases" out
        cp in.ptx ä.ptx; exits 0 report --ptxas=./ptxas --format=json ä.ptx; is_json out; grep -q "\"path\": \"ä.ptx\"" out'
    case_ 'what ptxas spills, and other advice' 'cp "$TOP/tests/guard/spills.ptx" .; exits 0 report --ptxas=./ptxas --all spills.ptx; tr -s "\n " " " <out | grep -q "For ptxas: ptxas spills [0-9]* bytes: try"; exits 0 report --ptxas=./ptxas --all --format=json in.ptx -o r; is_json r; grep -q "\"phase\": \"ptxas\", \"name\": \"BlockSizeUnknown\"" r'
    case_ 'the time that ptxas took for each kernel' 'exits 0 report --ptxas=./ptxas switch.ptx; grep -q "^        compiled in [1-9][0-9]* ms before and [1-9][0-9]* ms after" out; exits 0 report --ptxas=./ptxas --format=json switch.ptx; grep -q "\"compile_ms\": \[[0-9]*[.][0-9]*[1-9]" out; is_json out; exits 0 report --ptxas=./ptxas --format=markdown switch.ptx; grep -q "| [1-9][0-9]* to [1-9][0-9]* |$" out'
    case_ 'Markdown' 'exits 0 report --ptxas=./ptxas --format=markdown switch.ptx; grep -q "^### .bytecode.$" out; grep -q "^| ptxas 99.1 sm_75 | better | [0-9]* to [0-9]* |" out
        [ "$(grep "^|" out | sed "s/\\\\\\\\|//g; s/[^|]//g" | sort -u | wc -l)" = 2 ]'
    case_ 'HTML' 'exits 0 report --ptxas=./ptxas --format=html switch.ptx -o r; well_formed r; grep -q "prefers-color-scheme:dark" r; grep -q "name=\"viewport\"" r; [ "$(grep -c "<svg" r)" = 2 ]; grep -q "<td data-l=\"verdict\" class=\"better\">better</td>" r
        grep -q "<section id=\"switch.ptx:bytecode\">" r; grep -q "<a href=\"#switch.ptx:bytecode\">bytecode</a>" r; [ "$(grep -c " id=" r)" = "$(grep -c "<section" r)" ]'
    case_ 'HTML: the worst first, and names as in C++' 'exits 0 report --ptxas=./ptxas --format=html switch.ptx slow.ptx -o r -- --ignore-exits; well_formed r; [ "$(grep -o "class=\"[a-z]*\">[a-z]*</td><td class=\"n" r | head -1)" = "class=\"worse\">worse</td><td class=\"n" ]; grep -n "#slow.ptx\|#switch.ptx" r | head -1 | grep -q slow
        sed "s/bytecode/_Z5innerPKfi/" switch.ptx >named.ptx; exits 0 report --ptxas=./ptxas --format=html named.ptx -o r; grep -q "<a href=\"#named.ptx:_Z5innerPKfi\">inner(float const\*, int)</a>" r || grep -q ">_Z5innerPKfi</a>" r'
    case_ 'HTML: columns of zeros are left out' 'exits 0 report --ptxas=./ptxas --format=html switch.ptx -o r; not grep -q "<th class=\"n\">spilled bytes\|data-l=\"spilled\|<th class=\"n\">allowed\|<th class=\"n\">reverted" r; grep -q "<th class=\"n\">worse" r
        cp "$TOP/tests/guard/spills.ptx" .; exits 0 report --ptxas=./ptxas --all --format=html spills.ptx switch.ptx -o r; grep -q "<th class=\"n\">spilled bytes" r; grep -q "<td class=\"n[a-z ]*\" data-l=\"spilled bytes\">[1-9]" r'
    case_ 'HTML: what was run, with which versions, and when' 'SOURCE_DATE_EPOCH=86400 exits 0 report --ptxas=./ptxas --format=html switch.ptx -o r -- -O3; grep -q "<footer><p><code>ptxopt-report --ptxas=./ptxas --format=html switch.ptx -o r -- -O3</code>" r; grep -q "ptxas 99.1; 1970-01-02 00:00 UTC" r
        SOURCE_DATE_EPOCH=86400 report --ptxas=./ptxas --format=html switch.ptx -o r2 -- -O3; not cmp r r2; sed "s/r2 /r /; s/[0-9]* → [0-9]* ms//" r2 >x; sed "s/[0-9]* → [0-9]* ms//" r | cmp - x'
    case_ 'HTML: blocks show label and last instruction, their text to a pointer, and what is new' 'for path in "$PATH" /nonexistent; do (PATH=$path; "$BUILD/ptxopt-report" --ptxas="$REAL" --format=html switch.ptx -o r); well_formed r; grep -q ">[$]L__BB[0-9_]*: [0-9]* instructions" r; grep -q "bra.uni [$]L__BB[0-9_]*;</text>" r
        grep -q "<title>.*\(ld\|mov\|add\)[.]" r; grep -q "class=\"node fresh\"" r; grep -q "class=\"node kept\"" r; grep -q "<figure class=\"before\">" r; done'
    case_ 'without dot the page draws by itself, and says so' 'PATH=/nonexistent "$BUILD/ptxopt-report" --ptxas="$REAL" --format=html switch.ptx -o r; well_formed r; [ "$(grep -c "<svg" r)" = 2 ]; grep -q "dot is not installed" r'
    case_ '--fail-if-worse' 'exits 3 report --ptxas=./ptxas --fail-if-worse slow.ptx -- --ignore-exits; grep -q ": worse: " out; exits 0 report --ptxas=./ptxas slow.ptx -- --ignore-exits; exits 0 report --ptxas=./ptxas --fail-if-worse switch.ptx; exits 0 report --ptxas=./ptxas --fail-if-worse slow.ptx -- -O0; grep -q "ptxopt -O0" out'
    case_ '--guard: what is worse is reverted, with the reason' 'report --ptxas=./ptxas slow.ptx -- --ignore-exits >plain; exits 0 report --ptxas=./ptxas --guard --fail-if-worse slow.ptx -- --ignore-exits; grep -q ": reverted: .*instructions" out; grep -q " 0 worse, [1-9][0-9]* reverted," out
        why=$(sed -n "s/^.*: worse: //p" plain); [ -n "$why" ]; [ "$(sed -n "s/^.*: reverted: //p" out)" = "$why" ]
        for format in markdown html json; do exits 0 report --ptxas=./ptxas --guard --format=$format slow.ptx -- --ignore-exits; grep -q reverted out; report --ptxas=./ptxas --format=$format slow.ptx -- --ignore-exits >o; not grep -q reverted o; done
        exits 0 report --ptxas=./ptxas --guard switch.ptx; grep -q " 0 reverted," out'
    case_ '--allow' 'printf "# why\n\nslow:hash_insert * cycles because\nslow:hash_insert sm_75 instructions because\n" >a; exits 0 report --ptxas=./ptxas --allow=a --fail-if-worse slow.ptx -- --ignore-exits; grep -q "sm_75: allowed: " out; [ ! -s said ]
        sed -i "/cycles/d" a; exits 3 report --ptxas=./ptxas --allow=a --fail-if-worse slow.ptx -- --ignore-exits; echo "slow:none * warps because" >>a; report --ptxas=./ptxas --allow=a slow.ptx 2>said; says "^a:4: warning: nothing of slow:none needs this"'
    case_ 'an --allow that makes no sense' 'echo "slow:hash_insert * speed because" >a; exits 2 report --ptxas=./ptxas --allow=a slow.ptx; says "^a:1:1: error: an allowance is"; exits 2 report --ptxas=./ptxas --allow=none slow.ptx; says "cannot read .none."'
    case_ 'a report that cannot be written' 'exits 1 report --ptxas=./ptxas in.ptx -o none/r; says "cannot write .none/r."'
fi
} >"$WORK/verdicts"
tally reports "$WORK/verdicts"
