#!/bin/sh
# What ptxas makes of every example before and after ptxopt -O2, for five targets: ptxopt-report. usage: [BUILD=build] tests/report.sh [--check]
#   --check     a kernel that gets worse fails, unless tests/ptxas/allowed.txt says why: the suite `ptxas`
#   without     writes $BUILD/report/nvcc.html, .md and so on, one for each producer
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
WORK=$BUILD/work/report
TARGETS=sm_75,sm_80,sm_90,sm_100,sm_120
ALLOWED=tests/ptxas/allowed.txt
rm -rf "$WORK"
mkdir -p "$WORK" "$BUILD/report"
if [ -z "$PTXAS" ]; then
    skip_without_ptxas 'the machine code of the examples' >"$WORK/verdicts"
    tally ptxas "$WORK/verdicts"
    exit
fi

# ptxas, whose results are kept by content: `ptxas -arch=TARGET FILE --output-file=CUBIN`.
cat >"$WORK/ptxas" <<'END'
#!/bin/sh
[ "$1" = --version ] && exec "$PTXAS" --version
. tests/lib.sh
made=$(assemble "$2" "${1#-arch=}") || { cat "$made" >&2; exit 1; }
for word; do case $word in --output-file=*) cp "$made" "${word#*=}" ;; esac; done
END
chmod +x "$WORK/ptxas"

# report FILE...: with options before.
report() { "$BUILD/ptxopt-report" --ptxas="$WORK/ptxas" --arch=$TARGETS --jobs="$JOBS" --allow=$ALLOWED "$@" 2>"$WORK/said"; }

# The PTX of a producer. What it took a while to compile is nvcc's.
files_of()
{
    find examples -name "*.$1.ptx" | sort
    if [ "$1" = nvcc ]; then find "$BUILD/large" -name '*.ptx' 2>/dev/null | sort; fi
}

# What is said but that a file is for a later target than one of TARGETS.
trouble() { grep -v 'refuses the original: .*\.target' "$WORK/said"; }

if [ "${1:-}" = --check ]; then
    # shellcheck disable=SC2046 # names without blanks
    report --all $(files_of nvcc; files_of clang; files_of hand) >"$WORK/text"
    awk '/^[^ ]/ { name = $1 }
        /^    ptxas .*: worse: / { print "fail " name ":" $0 }
        /^    ptxas .*: (same|better|unrolled|allowed): / { print "pass " name }' "$WORK/text" >"$WORK/verdicts"
    trouble | sed 's/^/fail /' >>"$WORK/verdicts"
    [ -s "$WORK/text" ] || echo 'fail there is no report' >>"$WORK/verdicts"
    tally ptxas "$WORK/verdicts"
    exit
fi
for producer in nvcc clang hand; do
    for format in markdown html; do
        to=$BUILD/report/$producer.$(echo $format | sed 's/markdown/md/')
        # shellcheck disable=SC2046
        report --format=$format -o "$to" $(files_of $producer)
        trouble
        echo "$to is written"
    done
done
