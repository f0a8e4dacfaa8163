#!/bin/sh
# Mutates texts for FUZZ_SECONDS with libFuzzer, from the examples, the tests and generated kernels. What fails is left in
# $BUILD/fuzz/crash-*; run `$BUILD/libfuzzer/fuzz-text FILE` to see it again, and keep it as a test once it is mended.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/lib.sh
CORPUS=$BUILD/fuzz/corpus
LOG=$BUILD/fuzz/libfuzzer.log
mkdir -p "$CORPUS"

printf 'int LLVMFuzzerTestOneInput(const char *p, unsigned long n) { return p && n ? 0 : 0; }\n' >"$BUILD/fuzz/probe.c"
if ! clang -fsanitize=fuzzer,address -o "$BUILD/fuzz/probe" "$BUILD/fuzz/probe.c" >/dev/null 2>&1; then
    echo 'skip fuzz: clang with libFuzzer is not at hand'
    echo 'fuzz: 0 passed, 0 failed, 1 skipped'
    exit 0
fi
"$MAKE" BUILD="$BUILD/libfuzzer" CC=clang CFLAGS='-O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-sanitize=pointer-overflow' \
    "$BUILD/libfuzzer/fuzz-text" || { echo 'fuzz: 0 passed, 1 failed'; exit 1; }

find tests examples -name '*.ptx' -size -6k -exec sh -c 'for f; do cp "$f" "$0/$(echo "$f" | tr / _)"; done' "$CORPUS" {} +
for seed in $(seq 40); do "$BUILD/ptxgen" --seed="$seed" --size=3 --mix -o "$CORPUS/generated$seed"; done
rm -f "$BUILD"/fuzz/crash-* "$BUILD"/fuzz/timeout-* "$BUILD"/fuzz/oom-*
rm -f "$LOG".*
for job in $(seq "$JOBS"); do
    "$BUILD/libfuzzer/fuzz-text" -max_total_time="${FUZZ_SECONDS:-20}" -timeout=10 -rss_limit_mb=2048 -max_len=6000 \
        -reload=5 -artifact_prefix="$BUILD/fuzz/" "$CORPUS" >"$LOG.$job" 2>&1 &
done
wait
found=$(find "$BUILD/fuzz" -maxdepth 1 \( -name 'crash-*' -o -name 'timeout-*' -o -name 'oom-*' \))
texts=$(sed -n 's/^#\([0-9]*\).*DONE *cov: \([0-9]*\).*/\1 \2/p' "$LOG".* |
    awk '{ texts += $1; if ($2 > edges) edges = $2 } END { if (NR) print texts " texts, " edges " edges reached" }')
if [ -z "$found" ] && [ -n "$texts" ]; then
    echo "fuzz: $texts"
    echo 'fuzz: 1 passed, 0 failed'
else
    grep -m 5 'ERROR\|error:\|SUMMARY\|printed twice\|^-O' "$LOG".*
    echo "fail fuzz: see $LOG.*" $found
    echo 'fuzz: 0 passed, 1 failed'
    exit 1
fi
