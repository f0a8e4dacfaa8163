#!/bin/sh
# Holds --help, --list-phases, man/ptxopt.1 and the phases of README.md together. usage: [BUILD=build] tests/man.sh
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
WORK=$BUILD/work/man
PAGE=man/ptxopt.1
rm -rf "$WORK"
mkdir -p "$WORK"

# The options and their arguments, one a line: `-o FILE`, `--stats[=json]`, `--no-disable-branch-fold`.
help_options()
{
    "$BUILD/ptxopt" --help | sed -n 's/^  \(-[^ ]*\( [A-Z][A-Z]*\)\{0,1\}\).*/\1/p' |
        awk '{ if (sub(/^--\[no-\]/, "--")) { print; sub(/^--/, "--no-") } print }'
}
page_options()
{
    awk '/^\.Sh / { inside = $2 == "OPTIONS" }
        inside && /^\.It Fl / {
            count = split(substr($0, 5), item, " , ")
            for (i = 1; i <= count; i++) {
                option = item[i]
                sub(/^ *Fl /, "-", option)
                argument = ""
                if (match(option, / (Ar|Cm) .*/)) {
                    argument = substr(option, RSTART + 4)
                    option = substr(option, 1, RSTART - 1)
                }
                if (option ~ / Op =/) {
                    sub(/ .*/, "", option)
                    argument = "[=" argument "]"
                } else {
                    argument = toupper(argument)
                    if (sub(/ Ns =.*/, "", option))
                        argument = "=" argument
                    else if (argument != "")
                        argument = " " argument
                }
                print option argument
            }
        }' "$PAGE"
}

# The phases as --list-phases has them.
page_phases()
{
    awk '/^\.Sh / { inside = $2 == "PHASES" }
        inside && /^\.It Cm / { name = $3; level = $NF; getline; printf "%s -O%s %s\n", name, level, $0 }' "$PAGE"
}
list_phases() { "$BUILD/ptxopt" --list-phases | sed 's/   *-O/ -O/; s/  */ /g'; }

# What is said of each knob: `--name PHASE: help (default: x)`.
help_knobs()
{
    "$BUILD/ptxopt" --help | awk '
        /^[A-Z].*:$/ { inside = /^Knobs/; next }
        /^$/ { inside = 0 }
        inside && /^  -/ { if (text != "") print text; text = $1; $1 = "" }
        inside { sub(/^ +/, ""); if ($0 != "") text = text " " $0 }
        END { print text }' | sed 's/^--\[no-\]/--/; s/^\(--[a-z0-9-]*\)[^ ]*/\1/'
}
readme_phases()
{
    sed -n 's/^| `\([a-z-]*\)` | `\(-O[0-9]\)` | \(.*\) |$/\1 \2 \3/p' README.md
}
page_knobs()
{
    awk '/^\.S[hs] / { inside = /Knobs/ }
        inside && /^\.It Fl / {
            name = "-" $3
            getline text
            getline initial
            sub(/\.$/, "", text)
            sub(/^Default: /, "", initial)
            sub(/\.$/, "", initial)
            printf "%s %s (default: %s)\n", name, text, initial
        }' "$PAGE"
}

# same NAME: whether what --help or --list-phases says and what the page says are alike, and something at all.
same()
{
    if [ -s "$WORK/said" ] && diff "$WORK/said" "$WORK/page" >"$WORK/diff"; then
        echo "pass $1"
    else
        echo "fail $1: ptxopt (<) and the page (>) differ"
        cat "$WORK/diff"
    fi
}

{
    help_options | sort >"$WORK/said"
    page_options | sort >"$WORK/page"
    same 'options and their arguments'
    list_phases >"$WORK/said"
    page_phases >"$WORK/page"
    same 'phases, their levels and purposes'
    readme_phases >"$WORK/page"
    same 'phases in README.md'
    help_knobs >"$WORK/said"
    page_knobs >"$WORK/page"
    same 'knobs and their defaults'
    if ! command -v mandoc >/dev/null; then
        echo 'skip the page itself: mandoc is not at hand'
    elif mandoc -T lint -W warning "$PAGE" >"$WORK/lint"; then
        echo 'pass the page itself'
    else
        echo 'fail the page itself'
        cat "$WORK/lint"
    fi
} >"$WORK/log"
tally man "$WORK/log"
