#!/bin/sh
# Prints the header that --version is made of. The commit is git's, where this folder is the top of a work tree; what
# `git archive` put here (.gitattributes), in an archive; else unknown. Nothing else goes in: equal sources, equal binaries.
archived='$Format:%H$'
# The tree may belong to another user: it is only read.
git() { command git -c safe.directory="$(pwd -P)" "$@"; }
if [ "$(git rev-parse --show-toplevel 2>/dev/null)" = "$(pwd -P)" ]; then
    commit=$(git --no-optional-locks describe --always --exclude='*' --abbrev=12 --dirty 2>/dev/null)
else
    commit=$(printf '%s\n' "$archived" | sed -n 's/^\([0-9a-f]\{12\}\).*/\1/p')
fi
cat <<END
#define PTXOPT_VERSION "0.2.0"
#define PTXOPT_COMMIT "${commit:-unknown}"
END
