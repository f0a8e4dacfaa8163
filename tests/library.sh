#!/bin/sh
# The library, as it is built and as it is installed. usage: [BUILD=build] tests/library.sh
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
GIVEN=$BUILD # as make was told: another name would compile everything again
case $BUILD in /*) ;; *) BUILD=$(pwd)/$BUILD ;; esac
WORK=$BUILD/work/library
CC=${CC:-cc}
CXX=${CXX:-c++}
TOP=$(pwd)
rm -rf "$WORK"
mkdir -p "$WORK/include"
ln -s "$TOP/src/use/api/ptxopt.h" "$WORK/include/ptxopt.h"
WRAP='-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc,--wrap=free'

# case_ NAME COMMANDS: passes when all of the commands succeed.
case_()
{
    # Not as a condition: `set -e` does nothing there.
    (cd "$WORK" || exit 1; set -e; eval "$2") >"$WORK/case.log" 2>&1 </dev/null
    if [ $? = 0 ]; then echo "pass $1"; else
        echo "fail $1"
        echo "    $2"
        sed 's/^/    /' "$WORK/case.log" | tail -30
    fi
}
compile() { $CC -std=c99 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -O1 -g -Iinclude "$@"; }
not() { if "$@"; then return 1; fi; } # `set -e` overlooks `! command`
foreign() { awk '$NF !~ /^ptxopt_|^PTXOPT_[0-9]*$/' | grep . ; }

{
# ---- what is visible ----------------------------------------------------------------------------------------------
case_ 'only ptxopt_* is exported, under a version' 'nm -D --defined-only "$BUILD"/libptxopt.so >names; [ "$(grep -c " T ptxopt_" names)" -ge 9 ]
    sed "s/@@.*//" names >bare; not foreign <bare; grep -q "ptxopt_optimize@@PTXOPT_1" names'
case_ 'only ptxopt_* is to be linked from the archive' 'nm -g --defined-only "$BUILD"/libptxopt.a >names; [ "$(grep -c " T ptxopt_" names)" -ge 9 ]; grep -v ":$" names >bare; not foreign <bare'
case_ 'the name of the library holds its ABI' 'readelf -d "$BUILD"/libptxopt.so | grep -q "soname: .libptxopt.so.$(sed -n "s/^#define PTXOPT_ABI //p" include/ptxopt.h).$"'
case_ 'it needs the C library alone' '[ "$(readelf -d "$BUILD"/libptxopt.so | grep NEEDED | grep -vc "libc\.so\|ld-linux")" = 0 ]'
case_ 'it never ends the process but where nobody can be told' '[ "$(nm "$BUILD"/libptxopt.a | grep -c " U \(exit\|abort\|_exit\|raise\|kill\)$")" -le 1 ]'
case_ 'the header in strict C and in C++' 'echo "#include <ptxopt.h>
        int main(void) { return ptxopt_abi() - PTXOPT_ABI; }" >use.c; cp use.c use.cc
    $CC -std=c99 -pedantic -Wall -Wextra -Werror -Iinclude use.c "$BUILD"/libptxopt.a -o use; ./use
    if command -v $CXX >/dev/null; then $CXX -std=c++11 -pedantic -Wall -Werror -Iinclude use.cc "$BUILD"/libptxopt.a -o use; ./use; fi'
case_ 'a program at any address, and one at a fixed one' 'compile -fPIE -pie use.c "$BUILD"/libptxopt.a -o use; ./use; compile -fno-pie -no-pie use.c "$BUILD"/libptxopt.a -o use; ./use
    compile -static use.c "$BUILD"/libptxopt.a -o use; ./use'
cat >"$WORK/clash.c" <<'END'
#include <ptxopt.h>
int arena_free = 1, parse_module = 2, phase_table = 3, mem_alloc = 4, yyparse = 5;
int main(void)
{
    static const char text[] = ".version 8.0\n.target sm_80\n";
    ptxopt_request request = {sizeof request, text, sizeof text - 1, 0, 0, 0, 0};
    ptxopt_result *result;
    int status = ptxopt_optimize(&request, &result);
    ptxopt_free(result);
    return status;
}
END
case_ 'names of the program do not clash with those of the library' '
    compile clash.c "$BUILD"/libptxopt.a -o clash; ./clash; compile clash.c -L"$BUILD" -lptxopt -Wl,-rpath,"$BUILD" -o clash; ./clash'

# ---- what it does -------------------------------------------------------------------------------------------------
case_ 'the tests of the library' 'compile "$TOP"/tests/library/check.c -L"$BUILD" -lptxopt -Wl,-rpath,"$BUILD" -pthread -o check
    compile "$TOP"/tests/library/check.c "$BUILD"/libptxopt.a -pthread -o check-static'
cp examples/b[af]*.ptx examples/t*.hand.ptx tests/diag/n*.ptx "$WORK" 2>/dev/null
(cd "$WORK" && ./check "$BUILD/ptxopt" ./*.ptx)
case_ 'linked from the archive' './check-static - b*.ptx'

# ---- memory that runs out -----------------------------------------------------------------------------------------
cp tests/sample.ptx "$WORK/small.ptx"
case_ 'the tests of memory that runs out' 'compile "$TOP"/tests/library/starve.c "$BUILD"/libptxopt.a $WRAP -o starve
    compile -DWHOLE_PROGRAM -fno-builtin "$TOP"/tests/library/starve.c "$BUILD"/libptxopt.a -o starve-whole'
(cd "$WORK" && ./starve 1 small.ptx && ./starve 1 small.ptx -O3 --stats --print-after=all && ./starve-whole 1 small.ptx && ./starve 37 bfs.nvcc.ptx -O3 &&
    ./starve-whole 41 barriers.hand.ptx) || echo 'fail memory that runs out: the program failed'
if command -v valgrind >/dev/null; then
    case_ 'memory that runs out, under valgrind' 'valgrind -q --error-exitcode=9 --leak-check=full ./starve 1 small.ptx'
    case_ 'several threads, under helgrind' 'valgrind -q --tool=helgrind --error-exitcode=9 ./check - small.ptx barriers.hand.ptx'
else
    echo 'skip the library under valgrind: it is not at hand'
fi

# ---- as it is installed -------------------------------------------------------------------------------------------
case_ 'make install and make uninstall' 'make -s -C "$TOP" BUILD="$GIVEN" DESTDIR="$WORK/root" PREFIX=/opt/p install
    for f in lib/libptxopt.so lib/libptxopt-preload.so lib/libptxopt.a include/ptxopt.h lib/pkgconfig/ptxopt.pc bin/ptxopt-ptxas share/man/man1/ptxopt-ptxas.1 share/man/man1/ptxopt.1; do [ -s root/opt/p/$f ]; done
    root/opt/p/bin/ptxopt -O1 small.ptx >installed.ptx; "$BUILD/ptxopt" -O1 small.ptx | cmp - installed.ptx'
if command -v readelf >/dev/null; then
    case_ 'what is installed has no debug data' 'not sh -c "readelf -S root/opt/p/bin/ptxopt | grep -q debug_info"'
else
    echo 'skip what is installed has no debug data: readelf is not at hand'
fi
if command -v pkg-config >/dev/null; then
    case_ 'pkg-config' 'PKG_CONFIG_PATH=root/opt/p/lib/pkgconfig; export PKG_CONFIG_PATH
        $CC use.c $(pkg-config --define-variable=prefix="$WORK/root/opt/p" --cflags --libs ptxopt) -o use; LD_LIBRARY_PATH=root/opt/p/lib ./use; pkg-config --atleast-version=0.1 ptxopt'
else
    echo 'skip pkg-config: it is not at hand'
fi
if command -v cmake >/dev/null; then
    case_ 'the CMake package' 'mkdir cm; cp use.c cm; printf "%s\n" "cmake_minimum_required(VERSION 3.16)" "project(use C)" "find_package(ptxopt 0.1 REQUIRED)" \
            "add_executable(use use.c)" "target_link_libraries(use ptxopt::ptxopt)" "add_executable(fixed use.c)" "target_link_libraries(fixed ptxopt::static)" >cm/CMakeLists.txt
        cmake -S cm -B cm/build -DCMAKE_PREFIX_PATH="$WORK/root/opt/p"; cmake --build cm/build; cm/build/use; cm/build/fixed
        sed -i "s/ptxopt 0.1/ptxopt 99/" cm/CMakeLists.txt; not cmake -S cm -B cm/other -DCMAKE_PREFIX_PATH="$WORK/root/opt/p"'
else
    echo 'skip the CMake package: cmake is not at hand'
fi
case_ 'uninstall leaves nothing' 'make -s -C "$TOP" BUILD="$GIVEN" DESTDIR="$WORK/root" PREFIX=/opt/p uninstall; [ -z "$(find root ! -type d)" ]'
} >"$WORK/log"
tally "${NAME:-library}" "$WORK/log"
