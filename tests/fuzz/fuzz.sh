#!/bin/sh
# Mutates texts with libFuzzer, from the examples, the tests and generated kernels. What fails is left in
# $BUILD/fuzz/crash-*; run `$BUILD/libfuzzer/fuzz-text FILE` to see it again, and keep it as a test once it is fixed.
# usage: [BUILD=build] [JOBS=2] tests/fuzz/fuzz.sh [SECONDS]
#   without SECONDS   each of JOBS processes goes RUNS texts far from its own number as seed: the same texts every time, as
#                     long as sources, tests, compiler and the name of BUILD are the same
#   SECONDS           hunts for so long from random seeds; what reaches something new is kept in $BUILD/fuzz/corpus, where
#                     the processes share it, and the next hunt begins with it
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
hunt=${1:-}
RUNS=20000 # 80 seconds of one core, or less
FOLDER=$BUILD/fuzz
LOG=$FOLDER/libfuzzer.log
mkdir -p "$FOLDER/corpus" "$FOLDER/generated"

printf 'int LLVMFuzzerTestOneInput(const char *p, unsigned long n) { return p && n ? 0 : 0; }\n' >"$FOLDER/probe.c"
if ! clang -fsanitize=fuzzer,address -o "$FOLDER/probe" "$FOLDER/probe.c" >/dev/null 2>&1; then
    echo 'skip fuzz: clang with libFuzzer is not at hand'
    echo 'fuzz: 0 passed, 0 failed, 1 skipped'
    exit 0
fi
# The depth of the stack is no coverage here: it depends on how the stack is aligned, so on the environment.
SANITIZE="-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize=pointer-overflow -fno-sanitize-coverage=stack-depth"
"$MAKE" BUILD="$BUILD/libfuzzer" CC=clang CFLAGS="-O1 -g $SANITIZE -fno-sanitize-recover=all" \
    "$BUILD/libfuzzer/fuzz-text" || { echo 'fuzz: 0 passed, 1 failed'; exit 1; }

# The texts to begin with. libFuzzer is told their order: that of a folder is another one on each file system.
for seed in $(seq 40); do "$BUILD/ptxgen" --seed="$seed" --size=3 --mix -o "$FOLDER/generated/$seed"; done
for file in $(find tests examples -name '*.ptx' -size -6k); do
    case_input "$file" "$FOLDER/generated/$(echo "$file" | tr / _)"
done
{
    find "$FOLDER/generated" -name '*.ptx' | LC_ALL=C sort
    for seed in $(seq 40); do echo "$FOLDER/generated/$seed"; done
} | paste -sd, - | tr -d '\n' >"$FOLDER/begin"

# Where things lie in memory shows in the coverage, as maps hash addresses: they must not be random where texts repeat.
fixed=
if [ -z "$hunt" ]; then
    fixed="setarch $(uname -m) -R"
    $fixed true 2>/dev/null || {
        fixed=
        echo 'fuzz: addresses are random here, so the texts are not quite the same each time'
    }
fi

# process SEED
process()
{
    seed=$1
    if [ -n "$hunt" ]; then
        set -- -max_total_time="$hunt" -timeout=10 -reload=5 "$FOLDER/corpus"
    else
        set -- -runs=$RUNS -timeout=60 -reload=0
    fi
    $fixed "$BUILD/libfuzzer/fuzz-text" -seed="$seed" -rss_limit_mb=2048 -max_len=6000 -artifact_prefix="$FOLDER/" \
        -seed_inputs=@"$FOLDER/begin" "$@"
}

rm -f "$FOLDER"/crash-* "$FOLDER"/timeout-* "$FOLDER"/oom-*
rm -f "$LOG".*
for job in $(seq "$JOBS"); do
    seed=$job
    if [ -n "$hunt" ]; then
        seed=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')
        echo "fuzz: seed $seed"
    fi
    process "$seed" >"$LOG.$job" 2>&1 &
done
wait
found=$(find "$FOLDER" -maxdepth 1 \( -name 'crash-*' -o -name 'timeout-*' -o -name 'oom-*' \))
texts=$(sed -n 's/^#\([0-9]*\).*DONE *cov: \([0-9]*\).*/\1 \2/p' "$LOG".* | awk -v jobs="$JOBS" '
    { texts += $1; if ($2 > edges) edges = $2 }
    END { if (NR == jobs) print texts " texts, " edges " edges reached" }')
if [ -z "$found" ] && [ -n "$texts" ]; then
    echo "fuzz: $texts"
    echo 'fuzz: 1 passed, 0 failed'
else
    grep -m 5 'ERROR\|error:\|SUMMARY\|printed twice\|^-O' "$LOG".*
    echo "fail fuzz: see $LOG.*" $found
    echo 'fuzz: 0 passed, 1 failed'
    exit 1
fi
