#!/bin/sh
# Whether an instruction takes as many machine instructions as src/target/ptxas.def says: its samples are assembled by each of
# PTXASES, for each target, and counted.
# usage: [BUILD=build] [PTXASES='FILE...'] tests/prices.sh [--show]; --show prints what is measured
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
PTXASES=${PTXASES:-$PTXAS}
TARGETS='sm_75 sm_80 sm_86 sm_89 sm_90 sm_100 sm_120'
DEF=src/target/ptxas.def
WORK=$BUILD/work/prices

# one PTXAS TARGET: a ptxas that does not know the target has nothing to say.
one()
{
    release=$("$1" --version | sed -n 's/^.*release \([0-9.]*\),.*/\1/p')
    name=$WORK/$release.$2
    case $2 in sm_1[0-9][0-9]) version=8.7 ;; *) version=7.8 ;; esac
    awk -v version="$version" -v target="$2" -f tests/prices/kernels.awk "$DEF" >"$name.ptx"
    if ! "$1" -arch "$2" "$name.ptx" -o "$name.cubin" >"$name.log" 2>&1; then
        if grep -q "Value '$2' is not defined" "$name.log"; then echo "skip $release $2: not known to this ptxas"
        else echo "fail $release $2: ptxas refuses $name.ptx: $(head -1 "$name.log")"; fi
        return
    fi
    "$BUILD/cubinstat" --tsv "$name.cubin" |
        awk -F'\t' -v what="$release $2" ${SHOW:+-v verbose=1} -f tests/prices/measure.awk "$DEF" -
}

if [ "${1:-}" = --one ]; then one "$2" "$3" >"$WORK/$$.out"; exit; fi
rm -rf "$WORK"
mkdir -p "$WORK"
[ "${1:-}" = --show ] && export SHOW=1
if [ -z "$PTXASES" ]; then
    skip_without_ptxas "$DEF" >"$WORK/log"
else
    for ptxas in $PTXASES; do
        for target in $TARGETS; do echo "$ptxas $target"; done
    done | xargs -P "$JOBS" -n 2 sh tests/prices.sh --one
    if [ -n "${SHOW:-}" ]; then cat "$WORK"/*.out | sort -t"$(printf '\t')" -k3 -s; exit; fi
    cat "$WORK"/*.out >"$WORK/log"
fi
tally prices "$WORK/log"
