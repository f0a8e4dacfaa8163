#!/bin/sh
# Signals that end ptxopt --guard and --tune, ptxopt-report and the front, at each stage: there is no output, and nothing is left.
# usage: [BUILD=build] tests/signals.sh [PART-OF-A-NAME]
# Each case runs in a folder of its own with in.ptx, which ptxopt changes, long.ptx, which takes it seconds to read, and ptxas, a
# stand-in that writes to `pid` when it has begun, and sleeps.
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
. tests/cases.sh
case $BUILD in /*) ;; *) BUILD=$(pwd)/$BUILD ;; esac
WORK=$BUILD/work/signals
unset PTXOPT PTXOPT_FLAGS PTXOPT_PTXAS PTXOPT_LOG PTXOPT_FRONTS PTXOPT_GUARD PTXOPT_LIMIT CUDA_HOME CUDA_PATH
rm -rf "$WORK"
mkdir -p "$WORK/input" "$WORK/tmp"
export TMPDIR="$WORK/tmp"
cp tests/sample.ptx "$WORK/input/in.ptx"
long_function 300000 >"$WORK/input/long.ptx"
cat >"$WORK/input/ptxas" <<'END'
#!/bin/sh
case "$*" in *--version*) echo 'release 99.1'; [ "${FAKE:-}" = version ] || exit 0 ;; esac
[ "${FAKE:-}" != deaf ] || trap '' INT TERM HUP
for word; do case $word in --output-file=*) echo started >"${word#*=}" ;; *.cubin) echo started >"$word" ;; esac; done
echo $$ >pid.new
mv pid.new pid
exec sleep 60
END
chmod +x "$WORK/input/ptxas"

part=${1:-}
begin_case() { rm -rf "${TMPDIR:?}"/*; }
end_case() { [ -z "$(ls -A "$TMPDIR")" ]; [ ! -e o ]; }
ptxopt() { "$BUILD/ptxopt" "$@"; }
# A job in the background of a shell ignores SIGINT and SIGQUIT, and under nohup SIGHUP, unless told otherwise.
start() { env --default-signal=HUP,INT,QUIT "$@" >out 2>said & job=$!; }
wait_for() { tries=0; until [ -e "$1" ]; do sleep 0.02; tries=$((tries + 1)); [ $tries -lt 1000 ]; done; }
gone() { tries=0; while kill -0 "$1" 2>/dev/null; do sleep 0.02; tries=$((tries + 1)); [ $tries -lt 100 ]; done; }
# ended NUMBER: the job was ended by that signal, said nothing, and took ptxas with it.
ended() { s=0; wait $job || s=$?; [ $s = $((128 + $1)) ]; [ ! -s out ]; [ ! -s said ]; if [ -e pid ]; then gone "$(cat pid)"; fi; }
# during_ptxas SIGNAL NUMBER COMMAND...
during_ptxas() { signal=$1 number=$2; shift 2; rm -f pid; start "$@"; wait_for pid; kill -s "$signal" $job; ended "$number"; }
# soon SIGNAL NUMBER COMMAND...: while the text is read.
soon() { signal=$1 number=$2; shift 2; start "$@"; sleep "${AFTER:-0.3}"; kill -s "$signal" $job; ended "$number"; }

{
for program in 'ptxopt --guard=all --guard=./ptxas in.ptx -o o' 'ptxopt --guard=all --guard=./ptxas in.ptx' 'ptxopt --tune=./ptxas --tune-out=o in.ptx' \
    'ptxopt-report --ptxas=./ptxas in.ptx -o o' 'ptxopt-report --ptxas=./ptxas in.ptx in.ptx' 'ptxopt-ptxas --guard -- ./ptxas in.ptx -o o' \
    'ptxopt-ptxas ./ptxas in.ptx -o o'; do
    for signal in HUP.1 INT.2 TERM.15 USR1.10; do
        case_ "$program: SIG${signal%.*} while ptxas runs" "during_ptxas ${signal%.*} ${signal#*.} \"\$BUILD\"/$program"
    done
done
case_ 'a ptxas that ignores signals is killed' 'export FAKE=deaf; for program in "ptxopt --guard=all --guard=./ptxas" "ptxopt --tune=./ptxas" "ptxopt-report --ptxas=./ptxas"; do during_ptxas TERM 15 "$BUILD"/$program in.ptx -o o; done'
case_ 'two signals' 'FAKE=deaf start "$BUILD/ptxopt" --guard=all --guard=./ptxas in.ptx -o o; wait_for pid; kill -TERM $job; sleep 0.1; kill -INT $job; ended 15'
case_ 'while the release of ptxas is asked for' 'FAKE=version during_ptxas TERM 15 "$BUILD/ptxopt-report" --ptxas=./ptxas in.ptx -o o'
case_ 'what nohup ignores stays ignored' 'start nohup "$BUILD/ptxopt" --guard=all --guard=./ptxas in.ptx -o o; wait_for pid; kill -HUP $job; sleep 0.2; kill -0 $job; kill -TERM $job; s=0; wait $job || s=$?; [ $s = 143 ]; gone "$(cat pid)"'
for program in 'ptxopt --guard=all --guard=./ptxas' 'ptxopt --tune=./ptxas' 'ptxopt-report --ptxas=./ptxas' ptxopt; do
    case_ "$program: while the text is read" "soon TERM 15 \"\$BUILD\"/$program long.ptx -o o; soon INT 2 \"\$BUILD\"/$program long.ptx -o o; [ ! -e pid ]"
done
case_ 'ptxopt-ptxas: while the text is read' 'for guard in "" "--guard --"; do soon TERM 15 "$BUILD/ptxopt-ptxas" $guard ./ptxas long.ptx -o o; done; [ ! -e pid ]'
case_ 'ptxopt-reduce writes what is smallest by then' 'start "$BUILD/ptxopt-reduce" "--test=echo {} >tried; sleep 0.1; ! grep -q ret {}" in.ptx -o small; wait_for tried; sleep 1
    kill -TERM $job; s=0; wait $job || s=$?; [ $s = 143 ]; grep -q ret small; [ "$(wc -c <small)" -lt "$(wc -c <in.ptx)" ]; grep -q "kept, exit status 1" out; [ ! -s said ]; [ ! -e "$(cat tried)" ]'
case_ 'at any moment there is all of the output, or none' '
    for ms in 002 004 006 008 010 012 014 016 018 020 024 028 032 040 050; do
        start "$BUILD/ptxopt" --guard=all --guard=/bin/false in.ptx -o o; sleep 0.$ms; kill -TERM $job 2>/dev/null || :; s=0; wait $job || s=$?
        if [ $s = 0 ]; then [ -e o ]; else [ $s = 143 ]; fi; if [ -e o ]; then cmp o in.ptx; rm o; fi
        [ -z "$(ls -A | grep "^[.]ptxopt")" ]; [ -z "$(ls -A "$TMPDIR")" ]; done'
case_ 'a signal that waits while the output is written: no output' 'mkfifo o; start "$BUILD/ptxopt" --guard=all --guard=/bin/false in.ptx -o o; sleep 0.3; kill -TERM $job; s=0; wait $job || s=$?; [ $s = 143 ]; rm o'

# ---- folders that a killed process leaves -------------------------------------------------------------------------
# killed COMMAND...: leaves a folder.
killed() { rm -f pid; start "$@"; wait_for pid; kill -KILL $job; wait $job || :; gone "$(cat pid)"; [ "$(ls "$TMPDIR" | wc -l)" = 1 ]; }
case_ 'what a killed process leaves goes when the next one starts' 'for program in "ptxopt --guard=all --guard=./ptxas" "ptxopt --tune=./ptxas" "ptxopt-report --ptxas=./ptxas" "ptxopt-ptxas --guard=all -- ./ptxas"; do
        killed "$BUILD"/$program in.ptx -o o; ls "$TMPDIR"/ptxopt-*/*.cubin; "$BUILD/ptxopt" --guard=all --guard=/bin/false in.ptx -o p; [ -z "$(ls -A "$TMPDIR")" ]; done'
case_ 'the folder of a process that lives stays' 'start "$BUILD/ptxopt" --guard=all --guard=./ptxas in.ptx -o o; wait_for pid; "$BUILD/ptxopt" --guard=all --guard=/bin/false in.ptx -o p; ls "$TMPDIR"/ptxopt-*/*.cubin; kill -TERM $job; ended 15'
case_ 'so does what is not ours' 'mkdir "$TMPDIR/ptxopt-abcdef" "$TMPDIR/ptxopt-notours" "$TMPDIR/other" elsewhere; echo mine >"$TMPDIR/ptxopt-abcdef/notes"; echo mine >elsewhere/0.cubin; ln -s "$PWD/elsewhere" "$TMPDIR/ptxopt-ghijkl"
    mkdir "$TMPDIR/ptxopt-mnopqr"; : >"$TMPDIR/ptxopt-mnopqr/0.cubin"; "$BUILD/ptxopt" --guard=all --guard=/bin/false in.ptx -o p
    [ -e "$TMPDIR/ptxopt-abcdef/notes" ]; [ -d "$TMPDIR/ptxopt-notours" ]; [ -d "$TMPDIR/other" ]; [ -e elsewhere/0.cubin ]; [ -L "$TMPDIR/ptxopt-ghijkl" ]; [ ! -e "$TMPDIR/ptxopt-mnopqr" ]; rm -r "$TMPDIR"/*'
case_ 'many at once' 'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do "$BUILD/ptxopt" --guard=all --guard=/bin/false in.ptx -o p$i 2>err$i & done; wait; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do cmp p$i in.ptx; not grep -q "no temporary folder" err$i; done'
} >"$WORK/verdicts"
tally signals "$WORK/verdicts"
