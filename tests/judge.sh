#!/bin/sh
# Is the judge of machine code (src/judge/machine/worse.h) steady? Of each text's kernels an instruction is dropped, two are
# swapped, a branch is inverted, its arms are swapped: the estimate may move by the instruction's share, or 1 %. A block is split
# by a label, code is moved, registers and scoreboards are renamed: it may move by 1 %. Of what ptxopt makes of a text with
# several options, no version is worse than another one that is worse than it. The ratio of cycles is the same from both sides,
# and none accesses global memory 2.5 times as often. (A state machine would whose states are copied: so are its loads.) A text
# with other names, comments, positions, functions nobody calls and kernels in another order is the same to the judge. Then each
# latency is moved to the ends of what its sources say: of the verdicts over what ptxopt changed at most 1 % may turn.
# usage: tests/judge.sh. The texts are the examples, for sm_80 and sm_90; JUDGE_CORPUS=FOLDER: all of that folder, each for its own
# target (sm_80 where that is older). JUDGE_EVERY=N: one of N instructions is rewritten (examples: 8, a folder: 1).
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
WORK=$BUILD/work/judge
CORPUS=${JUDGE_CORPUS:-examples}
EVERY=${JUDGE_EVERY:-$([ "$CORPUS" = examples ] && echo 8 || echo 1)}

targets_of()
{
    judge_target=$(ptx_target "$1")
    number=$(echo "$judge_target" | tr -dc 0-9)
    if [ "$number" -ge 80 ]; then echo "$judge_target"; elif [ "$CORPUS" = examples ]; then echo sm_80 sm_90; else echo sm_80; fi
}

# both_ways FILE NAME CUBIN...: adds to what is said where two versions of a kernel differ by who of them comes first.
both_ways()
{
    text=$1 out=$WORK/$2.other
    shift 2
    for flags in '-O3 --disable=dfa-jump-threading' '-O2 --enable=range-split,stride-unroll'; do
        # shellcheck disable=SC2086 # options
        "$BUILD/ptxopt" $flags "$text" -o "$out" 2>/dev/null && ! cmp -s "$text" "$out" && other=$(assemble "$out" "$target") && set -- "$@" "$other"
    done
    rm -f "$out"
    # shellcheck disable=SC2086 # names without blanks
    said="$said$("$BUILD/judge_check" both $(printf '%s\n' "$@" | sort -u) | grep '^fail ')"
}

# same_text FILE NAME CUBIN: adds to what is said where a text that means the same is judged to be another one. ptxas makes the
# same code of both, up to what stands where: labels are not among the ways (tests/judge/same.awk), as it unrolls loops by them.
same_text()
{
    out=$WORK/$2.same
    awk -f tests/judge/same.awk "$1" >"$out"
    if other=$(assemble "$out" "$target"); then
        said="$said$("$BUILD/judge_check" same "$3" "$other" | grep '^fail ')"
    else
        said="${said}fail $1: ptxas refuses the same text: $(head -1 "$other")"
    fi
    rm -f "$out"
}

# one_case FILE TARGET
one_case()
{
    target=$2
    name=$(echo "$1" | tr / @).$target
    cubin=$(assemble "$1" "$target") || { echo "skip $1: ptxas refuses it for $target"; return; }
    said=$("$BUILD/judge_check" metamorph "$EVERY" "$cubin" | grep '^fail ')
    "$BUILD/ptxopt" -O2 "$1" -o "$WORK/$name" 2>/dev/null
    new=
    if ! cmp -s "$1" "$WORK/$name" && new=$(assemble "$WORK/$name" "$target"); then
        "$BUILD/judge_check" latencies "$cubin" "$new" >"$WORK/$name.moved"
    fi
    both_ways "$1" "$name" "$cubin" "${new:-}"
    same_text "$1" "$name" "$cubin"
    rm -f "$WORK/$name"
    if [ -z "$said" ]; then echo "pass $1 $target"; else printf 'fail %s %s: not steady\n%s\n' "$1" "$target" "$said" | cut -c1-300; fi
}

if [ "${1:-}" = --case ]; then
    shift
    for file; do for target in $(targets_of "$file"); do one_case "$file" "$target"; done; done
    exit
fi

rm -rf "$WORK"
mkdir -p "$WORK"
if [ -z "$PTXAS" ]; then
    echo 'skip the judge: ptxas is not at hand' >"$WORK/log"
else
    find -L "$CORPUS" -name '*.ptx' | sort | each "$0" >"$WORK/log"
    find "$WORK" -name '*.moved' -exec cat {} + >"$WORK/moved"
    # FUNCTION KIND=CYCLES WAS IS. A kernel by two compilers, or for two targets, counts once.
    awk '
        !(($1, $2) in seen) { seen[$1, $2]; verdicts[$2]++ }
        $3 != $4 && !(($1, $2) in moved) { moved[$1, $2]; turned[$2]++; list[$2] = list[$2] "    " $1 ": " $3 " to " $4 "\n" }
        END {
            for (key in verdicts) {
                bad = turned[key] > 1 && 100 * turned[key] > verdicts[key]
                printf "%s latency %s%s\n", bad ? "fail" : "pass", key, bad ? ": turns " turned[key] " of " verdicts[key] " verdicts\n" list[key] : ""
            }
        }' "$WORK/moved" >>"$WORK/log"
fi
tally judge "$WORK/log"
