#!/bin/sh
# Packs what `make install` put into FOLDER as two Debian packages: ptxopt, the programs, their libraries and manual pages; and
# ptxopt-dev, what programs are built with. usage: mk/deb.sh FOLDER VERSION TIME OUTPUT-FOLDER
set -eu
from=$1 version=$2 time=$3 to=$4
machine=$(dpkg --print-architecture)
# The newest version of the C library's symbols that the programs use.
libc=$(find "$from/usr/bin" "$from/usr/lib" -type f \( -perm -u+x -o -name '*.so*' \) | xargs objdump -T 2>/dev/null |
    sed -n 's/.*(\{0,1\}GLIBC_\([0-9.]*\).*/\1/p' | sort -uV | tail -1)

# pack NAME SECTION DEPENDS SUMMARY TEXT: the folder $from-NAME.
pack()
{
    root=$from-$1
    mkdir -p "$root/DEBIAN" "$root/usr/share/doc/$1"
    {
        echo "Package: $1"
        echo "Version: $version"
        echo "Architecture: $machine"
        echo "Multi-Arch: same" | sed "$2"
        echo "Maintainer: ptxopt maintainers <ptxopt@users.noreply.github.com>"
        echo "Installed-Size: $(du -k -s --apparent-size "$root" | cut -f1)"
        echo "Depends: $3"
        echo "Section: devel"
        echo "Priority: optional"
        echo "Description: $4"
        echo " $5"
    } >"$root/DEBIAN/control"
    { echo 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/'
      echo 'Upstream-Name: ptxopt'; echo; echo 'Files: *'; echo 'Copyright: the ptxopt contributors'
      echo 'License: Apache-2.0 WITH LLVM-exception'; sed 's/^$/./; s/^/ /' LICENSE; } >"$root/usr/share/doc/$1/copyright"
    printf '%s (%s) unstable; urgency=medium\n\n  * CHANGELOG.md of the source says what changed.\n\n -- ptxopt maintainers <ptxopt@users.noreply.github.com>  %s\n' \
        "$1" "$version" "$(LC_ALL=C date -u -R -d "@$time")" | gzip -9n >"$root/usr/share/doc/$1/changelog.gz"
    find "$root/usr/share/man" -type f -exec gzip -9n {} +
    find "$root/usr/share/man" -type l | while read -r link; do
        ln -s "$(readlink "$link").gz" "$link.gz" && rm "$link"
    done
    find "$root" -exec touch -h -d "@$time" {} +
    SOURCE_DATE_EPOCH=$time dpkg-deb --root-owner-group -b "$root" "$to/$1_${version}_$machine.deb" >/dev/null
    echo "$to/$1_${version}_$machine.deb"
}

rm -rf "$from-ptxopt" "$from-ptxopt-dev"
mkdir -p "$from-ptxopt-dev"
cp -a "$from" "$from-ptxopt"
(cd "$from-ptxopt" && find usr -name '*.h' -o -name '*.a' -o -name '*.pc' -o -name '*.cmake' -o -name '*.so' -type l -o -path '*/man3/*' -type f) |
    while read -r file; do
        mkdir -p "$from-ptxopt-dev/$(dirname "$file")"
        mv "$from-ptxopt/$file" "$from-ptxopt-dev/$file"
    done
find "$from-ptxopt" -mindepth 1 -type d -empty -delete
pack ptxopt '/Multi-Arch/d' "libc6 (>= $libc)" 'PTX-to-PTX optimizer' 'Improves the control flow of PTX before ptxas assembles it.'
pack ptxopt-dev '' "ptxopt (= $version)" 'PTX-to-PTX optimizer, for programs' 'The header, the library, and what CMake and pkg-config ask for.'
