#!/bin/sh
# Writes the generated regions of the manual pages and of README.md anew, from what build/ptxopt says of its tables.
# usage: [BUILD=build] man/update.sh [FOLDER]    into FOLDER, and not over the pages, where one is named
#
# A region begins with a line `.\" BEGIN options`, `promises`, `knobs [PHASE]`, `phases`, `kinds` or `left-out`, and ends with `.\" END`; in README.md with
# `<!-- BEGIN phases -->` and `<!-- END -->`.
set -u
cd "$(dirname "$0")/.." || exit 1
BUILD=${BUILD:-build}
to=${1:-}
help=$BUILD/help.txt phases=$BUILD/phases.txt
"$BUILD/ptxopt" --help-hidden >"$help" && "$BUILD/ptxopt" --list-phases >"$phases" || exit 1

# region PART [PHASE]
region()
{
    if [ "$1" = left-out ]; then
        sed -n 's/^LEFT_OUT("\([^"]*\)", "\(.\)\([^"]*\)")$/\1 \2 \3/p' src/phase/knobs.def | awk '{
            print ".It Fl -" $1; $2 = toupper($2); name = $1; letter = $2; sub(/^[^ ]+ [^ ] /, ""); print letter $0 "." }'
        return
    fi
    if [ "$1" = kinds ]; then
        sed -n 's/^KIND([A-Z_]*, "\([^"]*\)", \([A-Z]*\), .*, "\(.*\)")$/\1 \2 \3/p' src/phase/kinds.def | awk '{
            named = $2 == "NAMED"; phase = $1; sub(/^[^ ]+ [^ ]+ /, ""); print ".It\n.Cm " phase " :\n" $0 (named ? " (even with the guard)" : "") "." }'
        return
    fi
    if [ "$1" = phases ]; then said=$phases; else said=$help; fi
    awk -v part="$1" -v phase="${2:-}" -f man/regions.awk man/details.mdoc "$said"
}

readme_phases()
{
    echo '| phase | from | what it does |'
    echo '|---|---|---|'
    sed 's/^\([^ ]*\)  *\(-O.\)  *\(.*\)$/| `\1` | `\2` | \3 |/' "$phases"
}

# Copies standard input, with new text between the marks.
renew()
{
    inside=
    while IFS= read -r line; do
        case $line in
        '.\" BEGIN '*)
            inside=1
            printf '%s\n' "$line"
            # shellcheck disable=SC2086 # a part, and perhaps a phase
            region ${line#*BEGIN } ;;
        '<!-- BEGIN phases -->')
            inside=1
            printf '%s\n' "$line"
            readme_phases ;;
        '.\" END' | '<!-- END -->') inside= ;;
        esac
        [ -n "$inside" ] || printf '%s\n' "$line"
    done
}

for page in man/*.[1-9] README.md; do
    new=$BUILD/$(basename "$page").new
    renew <"$page" >"$new" || exit 1
    if [ -n "$to" ]; then
        mv "$new" "$to/$(basename "$page")"
    elif cmp -s "$new" "$page"; then
        rm "$new"
    else
        echo "$page: written anew"
        mv "$new" "$page"
    fi
done
