#!/bin/sh
# Memory that runs out, over whole command lines of each program: one allocation fails, or that one and all after it, for each of the
# first STEPS and ever fewer of those that follow, until the program needs no more. It ends with a message and a status of its own,
# by no signal, or does its work; a file that it should write is whole or as it was, nothing is left in TMPDIR, and the fronts assemble
# the original or the optimized text. usage: [BUILD=build] [STEPS=25] tests/starve.sh [PART-OF-A-NAME]
set -u
cd "$(dirname "$0")/.." || exit 1
# shellcheck source=tests/lib.sh
. tests/lib.sh
case $BUILD in /*) ;; *) BUILD=$(pwd)/$BUILD ;; esac
WORK=$BUILD/work/starve
STARVED=$BUILD/starved
STEPS=${STEPS:-25}
part=${1:-}
unset PTXOPT PTXOPT_FLAGS PTXOPT_PTXAS PTXOPT_LOG PTXOPT_FRONTS PTXOPT_GUARD CUDA_HOME CUDA_PATH STARVE
rm -rf "$WORK"
mkdir -p "$WORK/tmp" "$WORK/bin"
export TMPDIR="$WORK/tmp" STARVE_HIT="$WORK/hit"
cp tests/sample.ptx "$WORK/in.ptx"
cp examples/bfs.nvcc.ptx "$WORK/large.ptx"
cd "$WORK" || exit 1
"$BUILD/ptxopt" in.ptx -o want.ptx
"$BUILD/ptxopt" large.ptx -o large.want.ptx
"$STARVED/ptxopt-faulty" --ignore-exits --phases=fault-opposite-sense in.ptx -o wrong.ptx

# The stand-in's cubin is the text; that of the guard is a cubin, if there is a ptxas, made once for each text.
cat >bin/ptxas <<'END'
#!/bin/sh
in= out=
while [ $# -gt 0 ]; do
    case $1 in
    --version) echo 'release 99.1, V99.1.2'; exit 0 ;;
    -o) out=$2; shift ;;
    --output-file=*) out=${1#*=} ;;
    -arch) shift ;;
    -*) ;;
    *) in=$1 ;;
    esac
    shift
done
cat "$in" >"$out"
END
cat >bin/guard <<'END'
#!/bin/sh
in= out=
for word; do case $word in --version) exec "$REAL" --version ;; --output-file=*) out=${word#*=} ;; *) in=$word ;; esac; done
kept=$WORK/kept.$(cksum <"$in" | tr ' ' .)
[ -e "$kept" ] || "$REAL" -arch=sm_80 -o "$kept" "$in" || exit
cp "$kept" "$out"
END
cat >bin/cicc <<'END'
#!/bin/sh
while [ $# -gt 1 ]; do [ "$1" != -o ] || cp in.ptx "$2"; shift; done
END
chmod +x bin/*
export REAL="$PTXAS" WORK

# wrong: says what is wrong about the run that has just ended with this status; nothing: nothing is.
wrong()
{
    status=$1
    if [ "$status" -ge 124 ] && [ "$status" != 127 ]; then echo "it ends with status $status"
    elif [ "$status" != 0 ] && ! [ -s said ]; then echo "status $status and not a word"
    elif [ "$status" = 0 ] && [ -n "$whole" ] && ! fits; then echo "status 0, and the output is neither the optimized text nor the original"
    elif [ "$status" != 0 ] && [ -n "$whole" ] && [ "$(cat out)" != old ] && ! fits; then echo "status $status, and the output is damaged"
    elif [ -n "$(ls "$TMPDIR")" ]; then echo "left behind: $(ls "$TMPDIR")"
    fi
}
fits() { for one in $whole; do cmp -s "$one" out && return; done; return 1; }

# starve NAME TEXTS COMMAND...: TEXTS are what the file `out` may hold then; none: it writes no such file.
starve()
{
    name=$1 whole=$2
    shift 2
    case $name in *"$part"*) ;; *) return ;; esac
    for mode in '' +; do
        n=1 runs=0 bad=
        while [ -z "$bad" ]; do
            rm -rf hit made "${TMPDIR:?}"/*
            echo old >out
            STARVE=$n$mode timeout 20 "$@" >stdout 2>said </dev/null
            bad=$(wrong $?)
            runs=$((runs + 1))
            [ -e hit ] || break
            if [ "$n" -lt "$STEPS" ]; then n=$((n + 1)); else n=$((n + n / 4)); fi
        done
        if [ -z "$bad" ]; then echo "pass $name, $runs times${mode:+ and all after}"; else
            echo "fail $name: allocation $n$mode: $bad"
            head -3 said
        fi
    done
}

{
starve 'ptxopt' 'want.ptx' "$STARVED/ptxopt" in.ptx -o out
starve 'ptxopt, a large file' 'large.want.ptx' "$STARVED/ptxopt" large.ptx -o out
starve 'ptxopt to standard output' '' "$STARVED/ptxopt" --stats=json in.ptx
starve 'ptxopt --remarks' 'want.ptx' "$STARVED/ptxopt" --remarks=remarks in.ptx -o out
starve 'ptxopt --prove=revert' 'want.ptx in.ptx' "$STARVED/ptxopt" --prove=revert --prove-each in.ptx -o out
if cmp -s in.ptx wrong.ptx; then echo 'fail the wrong rewrite changes nothing'; fi
starve 'ptxopt --prove=revert, a wrong rewrite' 'in.ptx' "$STARVED/ptxopt-faulty" --ignore-exits --phases=fault-opposite-sense --prove=revert in.ptx -o out
starve 'ptxopt --verify-each --print-after --dump-cfg' 'want.ptx' "$STARVED/ptxopt" --verify-each --print-after=all --dump-cfg=made in.ptx -o out
starve 'ptxopt --help' '' "$STARVED/ptxopt" --help
starve 'ptxopt --guard, a ptxas that fails' 'want.ptx in.ptx' "$STARVED/ptxopt" --guard=./none in.ptx -o out
starve 'ptxopt-prove' '' "$STARVED/ptxopt-prove" in.ptx want.ptx
starve 'ptxopt-ptxas' 'want.ptx in.ptx' "$STARVED/ptxopt-ptxas" --guard=off -- bin/ptxas -arch sm_80 in.ptx -o out
starve 'ptxopt-cicc' 'want.ptx in.ptx' "$STARVED/ptxopt-cicc" bin/cicc in.ii -o out
if [ -n "$PTXAS" ]; then
    starve 'ptxopt --guard' 'want.ptx in.ptx' "$STARVED/ptxopt" --guard=bin/guard in.ptx -o out
    starve 'ptxopt --tune' '' "$STARVED/ptxopt" --tune=bin/guard --tune-jobs=1 --tune-out=tuned in.ptx -o made
    starve 'ptxopt-report' '' "$STARVED/ptxopt-report" --ptxas=bin/guard --jobs=1 in.ptx -o report
    starve 'ptxopt-ptxas --guard' '' "$STARVED/ptxopt-ptxas" --guard -- bin/guard in.ptx --output-file=made
else
    skip_without_ptxas 'memory that runs out while ptxas judges'
fi
} >log
tally "${NAME:-starve}" log
