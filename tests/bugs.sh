#!/bin/sh
# Bugs of ptxas that a rewrite can steer into (src/target/bugs.def): the phases of each row decline its shape, and small kernels of the
# shapes are assembled before and after, of which no output may be wrong where the input is not. What they should do, bugloops computed
# when it wrote them.
# usage: [BUILD=build] [PTXASES='FILE...'] [COUNT=kernels of each kind] [SEED=first of the random numbers] tests/bugs.sh
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
PTXASES=${PTXASES:-$PTXAS}
COUNT=${COUNT:-300}
SEED=${SEED:-1}
WORK=$BUILD/work/bugs

# OPTIONS: what --tune tries of the form of branches, too.
options()
{
    cat <<'END'
-O1
-O2
-O3
-O2 --branch-fold-reverse=2
-O3 --branch-fold-reverse=2 --loop-split --enable-stride-unroll
END
}

# kinds: KIND TARGET OPTION: how the kernels are written, for what, and what of the machine code is read.
kinds()
{
    cat <<'END'
constant sm_90 --constants
counted sm_90 --stores
entries sm_90 --counters
entries sm_100 --counters
END
}

# read_code FILE.ptx TARGET OPTION: a line a kernel, its name and what was read; ptxas has to take the file.
read_code()
{
    "$ptxas" -arch="$2" "$1" -o "$1.cubin" >"$1.log" 2>&1 && "$BUILD/bugcode" "$3" "$1.cubin"
}

# one PTXAS KIND TARGET OPTION: the kernels, and what each set of options makes of them.
one()
{
    ptxas=$1
    release=$("$ptxas" --version | sed -n 's/^.*release \([0-9.]*\),.*/\1/p')
    name=$WORK/$release.$2.$3
    "$BUILD/bugloops" "$2" "$COUNT" "$SEED" "$3" >"$name.ptx"
    if ! read_code "$name.ptx" "$3" "$4" >"$name.before"; then
        if grep -q "is not defined for option 'gpu-name'" "$name.ptx.log"; then echo "skip $release $2 $3: not known to this ptxas"
        else echo "fail $release $2 $3: ptxas refuses $name.ptx: $(head -1 "$name.ptx.log")"; fi
        return
    fi
    options | while read -r set; do
        # shellcheck disable=SC2086 # several options
        if ! "$BUILD/ptxopt" $set "$name.ptx" -o "$name.out.ptx" || ! read_code "$name.out.ptx" "$3" "$4" >"$name.after"; then
            echo "fail $release $2 $3 $set: $name.out.ptx"
            continue
        fi
        paste -d' ' "$name.before" "$name.after" | awk -v what="$release $2 $3 $set" -v seed="$SEED" '
            # A number is wrong that the name does not end with, `-` is not known; a counter is wrong.
            function wrong(number, name) { return number != "-" && (name ~ /_/ ? number != substr(name, index(name, "_") + 1) : number > 0) }
            { known += $2 != "-" && $4 != "-"; seen += $2 > 0; if (wrong($4, $3) && !wrong($2, $1)) { bad++; last = $1 " (before " $2 ", after " $4 ")" } }
            END {
                if (!known || (what ~ /entries sm_100/ && !seen)) print "fail " what ": nothing was read, or no bug is seen in any input"
                else if (bad) print "fail " what ": " bad " of " NR " are wrong, and were not before, with the seed " seed ": " last
                else print "pass " what
            }'
    done
}

# A row names cases that stay as they are, and all phases that ask about its loops; its kind is one of those that are assembled.
table()
{
    "$BUILD/bugloops" table | while read -r name kind cases; do
        kinds | grep -q "^$kind " && echo "pass $name is assembled" || echo "fail $name: no kernels are written of the kind $kind"
        for case in $cases; do
            file=tests/phase/$case.ptx
            if [ -e "$file" ] && [ "$case" != "${case%_keep}" ] && sh tests/run.sh "$file" >"$WORK/case" 2>&1; then echo "pass $name: $case"
            else echo "fail $name: $case does not stay as it is"; fi
        done
    done
    for file in $(grep -l 'miscounted_\|loop_copy_each' src/phase/*/*.c); do
        for phase in $(sed -n 's/^Phase phase_\(.*\);/\1/p' "$file" | tr _ -); do
            "$BUILD/bugloops" table | grep -q " $phase/" && echo "pass $phase has a row" || echo "fail $phase asks about miscounted loops, and no row names it"
        done
    done
}

if [ "${1:-}" = --one ]; then one "$2" "$3" "$4" "$5" >"$WORK/$$.out"; exit; fi
rm -rf "$WORK"
mkdir -p "$WORK"
export COUNT SEED
if [ -z "$PTXASES" ]; then
    skip_without_ptxas 'what ptxas makes of loops that it may get wrong' >"$WORK/log"
else
    for ptxas in $PTXASES; do
        kinds | sed "s|^|$ptxas |"
    done | xargs -P "$JOBS" -n 4 sh tests/bugs.sh --one
    cat "$WORK"/*.out >"$WORK/log"
fi
table >>"$WORK/log"
tally bugs "$WORK/log"
