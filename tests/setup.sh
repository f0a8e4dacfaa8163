#!/bin/sh
# Installs what the build and the tests need, from the distribution's packages (apt), and only what is missing:
# where everything is there it asks nobody and needs no network. Exit status 1: ptxopt cannot be built.
set -u

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
    have make || need make
    have re2c || need re2c
    have bison || need bison
    has_header cmocka.h || need libcmocka-dev
    has_header gelf.h || need libelf-dev
    have mandoc || want mandoc
    have dot || want graphviz
    have clang-tidy || want clang-tidy
    have cppcheck || want cppcheck
    [ -z "$NVCC" ] || look_for_clients
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

get() { $root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@" >/dev/null 2>&1; }

# All packages; one by one where that fails, so that one out of reach does not keep the others away.
install() {
    root=''
    if [ "$(id -u)" -ne 0 ]; then
        have sudo || { echo "setup: not root and no sudo: install by hand: $*" >&2; return; }
        root=sudo
    fi
    have apt-get || { echo "setup: no apt-get: install by hand the counterparts of: $*" >&2; return; }
    echo "setup: installing $*"
    get "$@" && return
    $root apt-get update -q >/dev/null 2>&1
    get "$@" || for package; do get "$package"; done
}

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/lib.sh"
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
if [ -n "$PTXAS" ]; then
    echo "setup: ptxas is $PTXAS"
else
    echo "setup: WARNING: no ptxas in PATH, \$CUDA_HOME/bin or /usr/local/cuda/bin: the checks that use it are skipped" >&2
fi
for package in $missing; do
    echo "setup: ERROR: could not install $package, which the build needs" >&2
done
[ -z "$missing" ]
