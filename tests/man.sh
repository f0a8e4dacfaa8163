#!/bin/sh
# The manual pages and README.md say of options, knobs and phases what the program says; and the pages are well formed. usage: [BUILD=build] tests/man.sh
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
WORK=$BUILD/work/man
rm -rf "$WORK"
mkdir -p "$WORK"

{
    mkdir -p "$WORK/pages"
    sh man/update.sh "$WORK/pages"
    for page in man/*.[1-9] README.md; do
        if diff "$page" "$WORK/pages/$(basename "$page")" >"$WORK/diff"; then
            echo "pass $page is up to date"
        else
            echo "fail $page: man/update.sh makes something else of its generated regions"
            cat "$WORK/diff"
        fi
    done
    # What is said of an option belongs to one that there is.
    sed -n 's/^[@+]\(-[^ ]*\)$/\1/p' man/details.mdoc | while read -r option; do
        if "$BUILD/ptxopt" --help-hidden | sed 's/\[no-\]//' | grep -qE "(^| )$option([ =[]|\$)"; then
            echo "pass man/details.mdoc: $option"
        else
            echo "fail man/details.mdoc: there is no $option"
        fi
    done
    for page in man/*.[1-9]; do
        if ! command -v mandoc >/dev/null; then
            echo "skip $page: mandoc is not at hand"
        elif mandoc -T lint -W warning "$page" >"$WORK/lint"; then
            echo "pass $page"
        else
            echo "fail $page"
            cat "$WORK/lint"
        fi
    done
    # A line to type is shown as it is written: mdoc moves blanks around delimiters such as [ and !, and breaks long lines.
    for page in man/*.[1-9]; do
        command -v mandoc >/dev/null || continue
        mandoc -T ascii "$page" | sed "s/.$(printf '\010')//g" >"$WORK/shown"
        sed -n 's/^\.Dl //p' "$page" | sed 's/\\&//g; s/\\e/\\/g; s/\\-/-/g' >"$WORK/lines"
        while IFS= read -r line; do
            if grep -qF -e "$line" "$WORK/shown"; then echo "pass $page: $line"; else echo "fail $page: not shown as written: $line"; fi
        done <"$WORK/lines"
    done
} >"$WORK/log"
tally man "$WORK/log"
