#!/bin/sh
# Installs what is missing, from the distribution's packages (apt); where everything is there it asks nobody and needs no
# network. usage: tests/setup.sh build|tests|ptxas
#   build   what the build needs: a compiler, re2c, bison. Exit status 1: ptxopt cannot be built.
#   tests   what the tests need besides. Exit status 1: some cannot be built.
#   ptxas   NVIDIA's own wheel of ptxas, into build/ptxas, if there is no ptxas but pip; NO_FETCH=1 forbids it.
set -u
step=${1:-tests}
missing='' optional=''

have() { command -v "$1" >/dev/null 2>&1; }
has_header() { echo "#include <$1>" | $cc -E - >/dev/null 2>&1; }
need() { missing="$missing $1"; }
want() { optional="$optional $1"; }

look() {
    missing='' optional='' cc=''
    for c in "${CC:-cc}" cc gcc clang; do
        if have "$c"; then cc=$c; break; fi
    done
    if [ -z "$cc" ]; then need gcc; need libc6-dev; cc=false; elif ! has_header stdio.h; then need libc6-dev; fi
    have re2c || need re2c
    have bison || need bison
    [ "$step" = tests ] || return
    has_header cmocka.h || need libcmocka-dev
    has_header gelf.h || need libelf-dev
    have mandoc || want mandoc
    have dot || want graphviz
    [ -z "${CHECK_ALL:-}" ] || look_for_linters
    [ -z "${CHECK_ALL:-}" ] || [ -z "$NVCC" ] || look_for_clients
}

look_for_linters()
{
    have clang-tidy || want clang-tidy
    have cppcheck || want cppcheck
}

# What builds with ptxopt in front of ptxas: tests/clients.sh.
look_for_clients()
{
    have g++ || want g++
    have cmake || want cmake
    have ninja || want ninja-build
    have ccache || want ccache
    have clang++-19 || want clang-19
    python3 -c 'import venv, ensurepip' 2>/dev/null || want python3-venv
}

# Where there is no apt: the packages of other distributions.
name_packages()
{
    echo "setup: there is no apt-get here. Install these by hand (the names of Debian): $*" >&2
    echo "    Fedora:   dnf install gcc make re2c bison libcmocka-devel elfutils-libelf-devel" >&2
    echo "    Arch:     pacman -S gcc make re2c bison cmocka libelf" >&2
    echo "    openSUSE: zypper install gcc make re2c bison libcmocka-devel libelf-devel" >&2
    echo "    Alpine:   apk add gcc musl-dev make re2c bison cmocka-dev elfutils-dev" >&2
}

# apt COMMAND...: on a terminal its progress is one line; what it says is kept in $log.
apt()
{
    if [ -t 1 ]; then
        { $root env DEBIAN_FRONTEND=noninteractive apt-get -y -q "$@" 2>&1; echo "status $?"; } | tee -a "$log" |
            while IFS= read -r line; do printf '\r\033[K%.76s' "$line"; done
        printf '\r\033[K'
        [ "$(tail -1 "$log")" = 'status 0' ]
    else
        $root env DEBIAN_FRONTEND=noninteractive apt-get -y -q "$@" >>"$log" 2>&1
    fi
}
get() { apt install --no-install-recommends "$@"; }

# All packages; one by one where that fails, so that one out of reach does not keep the others away.
install() {
    root=''
    have apt-get || { name_packages "$@"; return; }
    if [ "$(id -u)" -ne 0 ]; then
        have sudo || { echo "setup: not root and no sudo: install by hand: $*" >&2; return; }
        root=sudo
    fi
    echo "setup: installing $*"
    log=$(mktemp)
    if ! get "$@"; then
        apt update
        get "$@" || for package; do
            get "$package" || { echo "setup: apt-get install $package failed; its last lines:" >&2; grep -v '^status ' "$log" | tail -5 | sed 's/^/    /' >&2; }
        done
    fi
    rm -f "$log"
}

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"

# The wheel holds ptxas for Linux on this machine; pip asks the index that the user has set up.
fetch_ptxas()
{
    wheel='nvidia-cuda-nvcc==13.0.*'
    if [ -n "${NO_FETCH:-}" ] || ! python3 -m pip --version >/dev/null 2>&1; then
        echo "setup: there is no ptxas in PATH, \$CUDA_HOME/bin or /usr/local/cuda/bin: what needs it is skipped" >&2
        return
    fi
    echo "setup: there is no ptxas: fetching NVIDIA's wheel $wheel (36 MB) into build/ptxas; NO_FETCH=1 forbids it"
    rm -rf build/ptxas.new
    mkdir -p build/ptxas.new
    if python3 -m pip download -q --no-deps --disable-pip-version-check -d build/ptxas.new "$wheel" >build/ptxas.new/log 2>&1 &&
        python3 -m zipfile -e build/ptxas.new/*.whl build/ptxas.new/wheel; then
        mkdir -p build/ptxas/bin
        found=$(find build/ptxas.new/wheel -name ptxas -type f | head -1)
        chmod +x "$found" && mv "$found" build/ptxas/bin/ptxas && build/ptxas/bin/ptxas --version | sed -n 's/^.*release/setup: ptxas release/p'
    else
        echo "setup: it could not be fetched; what needs ptxas is skipped. The last lines:" >&2
        tail -3 build/ptxas.new/log | sed 's/^/    /' >&2
    fi
    rm -rf build/ptxas.new
}

if [ "$step" = ptxas ]; then
    cd "$(dirname "$0")/.." || exit 1
    [ -n "$PTXAS" ] || fetch_ptxas
    exit 0
fi
NVCC=$(cuda_tool nvcc)
look
if [ -n "$missing$optional" ]; then
    # shellcheck disable=SC2086 # lists of packages
    install $missing $optional
    look
fi
for package in $optional; do
    echo "setup: WARNING: could not install $package: the checks that use it are skipped" >&2
done
for package in $missing; do
    echo "setup: ERROR: could not install $package, which the $step needs" | sed 's/tests needs/tests need/' >&2
done
[ -z "$missing" ]
