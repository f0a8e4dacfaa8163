# What the test scripts share; to be sourced. Sets PTXAS (empty: not at hand), BUILD, JOBS.

BUILD=${BUILD:-build}
JOBS=${JOBS:-2}
export BUILD JOBS
# What tests build, and the programs they run, count on no job server of the make that runs the tests: they cannot reach it.
MAKEFLAGS=$(printf %s "${MAKEFLAGS:-}" | sed -E "s/(^| )-j[0-9]*//; s/(^| )--jobserver-[a-z]*=[^ ]*//g")
export PTXOPT_CACHE=off # what one test has seen is not for another to remember

# The program's path: from PATH, $CUDA_HOME, or where the toolkit installs itself; empty when there is none. A script that calls
# another folder's program comes last: the toolkit is not around it.
cuda_tool()
{
    script=
    for tool in "$(command -v "$1")" "${CUDA_HOME:+$CUDA_HOME/bin/$1}" /usr/local/cuda/bin/"$1" /usr/local/cuda-*/bin/"$1" \
        "$(pwd)/build/ptxas/bin/$1"; do
        if [ -z "$tool" ] || [ ! -x "$tool" ]; then continue; fi
        if [ "$(head -c 2 "$tool")" != '#!' ]; then echo "$tool"; return; fi
        script=${script:-$tool}
    done
    echo "$script"
}
[ -n "${PTXAS+set}" ] || PTXAS=$(cuda_tool ptxas)
# Never inherited without the program that it is the version of: results are kept by it.
if [ "${PTXAS_VERSION_OF-none}" != "$PTXAS" ]; then
    PTXAS_VERSION=${PTXAS:+$("$PTXAS" --version | tail -1)}
    PTXAS_VERSION_OF=$PTXAS
fi
export PTXAS PTXAS_VERSION PTXAS_VERSION_OF

# The target that the PTX file names (sm_90a); the oldest that ptxas knows where that is older or missing.
ptx_target()
{
    tr '\r' '\n' <"$1" | awk '
        /^[ \t]*\.target/ && match($0, /sm_[0-9]+[a-z]*/) { target = substr($0, RSTART, RLENGTH); exit }
        END { print substr(target, 4) + 0 < 75 ? "sm_75" : target }'
}

# assemble FILE TARGET [OPTION...]: prints the path of the cubin, or, with status 1 where ptxas refuses the file, of what
# ptxas said. Results are kept by content in $BUILD/cache.
assemble()
{
    assemble_file=$1 assemble_target=$2
    shift 2
    assemble_key=$({ cat "$assemble_file"; echo "$assemble_target $* $PTXAS_VERSION"; } | sha256sum | cut -c1-32)
    assemble_path=$BUILD/cache/$assemble_key
    if [ ! -e "$assemble_path.cubin" ] && [ ! -e "$assemble_path.err" ]; then
        mkdir -p "$BUILD/cache"
        if "$PTXAS" -arch "$assemble_target" "$@" -o "$assemble_path.$$" "$assemble_file" >"$assemble_path.log.$$" 2>&1; then
            mv "$assemble_path.$$" "$assemble_path.cubin"
            rm -f "$assemble_path.log.$$"
        else
            rm -f "$assemble_path.$$"
            mv "$assemble_path.log.$$" "$assemble_path.err"
        fi
    fi
    if [ -e "$assemble_path.cubin" ]; then echo "$assemble_path.cubin"; else echo "$assemble_path.err"; return 1; fi
}

# case_part PART FILE: see tests/case.awk.
case_part() { awk -v want="$1" -v prologue="$(dirname "$2")/prologue.inc" -f tests/case.awk "$2"; }

# case_input CASE.ptx FILE: writes what ptxopt is to read; the case itself, byte for byte, where it is nothing but that.
case_input()
{
    if grep -aqE '^// (PROLOGUE|EXPECT|REMARKS|STDERR|ERROR)$' "$1"; then case_part input "$1" >"$2"; else cp "$1" "$2"; fi
}

# Suites that say less without ptxas say so: as a skipped case.
skip_without_ptxas()
{
    [ -n "$PTXAS" ] || echo "skip $1: ptxas is not at hand"
}

# large_function SHAPE BLOCKS: a module of one function, of a shape that ptxbig knows; of `kernels`, what compilers made of the
# examples, one after another. (Debug data cannot be there twice.)
large_function()
{
    if [ "$1" = kernels ]; then
        # shellcheck disable=SC2046 # names without blanks
        "$BUILD/ptxbig" joined "$2" $(grep -L '^[[:space:]]*\.file' examples/*.nvcc.ptx examples/*.clang.ptx)
    else
        "$BUILD/ptxbig" function "$1" "$2"
    fi
}

# long_function N: a module of one function of 4 * N instructions, of which nothing becomes shorter.
long_function()
{
    awk -v n="$1" 'BEGIN {
        printf ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry long(.param .u64 p)\n{\n.reg .b32 %%r<9>;\n.reg .pred %%q<9>;\n"
        for (i = 0; i < n; i++)
            printf "add.u32 %%r1, %%r2, %d;\nsetp.eq.u32 %%q1, %%r1, %d;\n@%%q1 bra L%d;\nmov.u32 %%r2, %%tid.x;\nL%d:\n", i, i, i, i
        print "ret;\n}" }'
}

# each SCRIPT <LIST: runs `SCRIPT --case FILE` for every line, JOBS at once. A case prints `pass FILE`, `skip FILE: why`,
# or `fail FILE: why` with details on the lines after it, in one write.
each()
{
    xargs -P "$JOBS" -n 8 sh "$1" --case || [ $? = 123 ] || echo "fail $1: some cases did not end" # 123: one that ended with an error
}

# tally NAME LOG: prints all but the passed cases (a reasonable part of them), and the closing line; the status says whether
# none failed.
tally()
{
    [ -s "$2" ] || echo "fail $1: there are no results" >>"$2"
    grep -v '^pass ' "$2" | head -400
    tally_failed=$(grep -c '^fail ' "$2")
    tally_skipped=$(grep -c '^skip ' "$2")
    [ "$tally_skipped" = 0 ] && tally_skipped= || tally_skipped=", $tally_skipped skipped"
    echo "$1: $(grep -c '^pass ' "$2") passed, $tally_failed failed$tally_skipped"
    [ "$tally_failed" = 0 ]
}

# A checksum of the phases' code: src/judge/guard/record.def says of which it is.
phases_sum() { find src/phase src/transform src/target -type f | LC_ALL=C sort | xargs cat | cksum | cut -d' ' -f1; }
