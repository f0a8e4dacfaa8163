# Measured documents: a row `| NAME | form | five cells | ... |` of DOCUMENT says what ptxas makes of the probe
# tests/ptxas/FOLDER/NAME.ptx for each of TARGETS. To be sourced, after tests/lib.sh, by a script that sets FOLDER, defines
#   measure FILE        prints the five cells, each after ` | `; or says why it cannot, with status 1
#   judge FILE CELLS    says what else is wrong with a probe whose cells are those of its row; there may be none
# and ends in `tables SCRIPT "$@"`, which takes
#   --bless         writes what is measured into the rows, and compares then
#   --any-version   compares with another ptxas than the one that the document names
WORK=$BUILD/work/$FOLDER
PROBES=tests/ptxas/$FOLDER
DOCUMENT=tests/ptxas/$(echo "$FOLDER" | tr a-z A-Z).md
TARGETS='sm_75 sm_80 sm_90 sm_100 sm_120'

# count FILE TARGET COLUMNS BETWEEN: the file's kernel, by cubinstat's names of columns.
count()
{
    cubin=$(assemble "$1" "$2") || { echo "ptxas refuses $1 for $2"; return 1; }
    "$BUILD/cubinstat" --tsv "$cubin" | awk -F'\t' -v names="$3" -v between="$4" '
        NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; n = split(names, name, " ") }
        NR > 1 && $column["kind"] == "kernel" {
            for (i = 1; i <= n; i++) printf "%s%d", (i == 1 ? "" : between), $column[name[i]]
        }'
}

# columns NAME FIRST LAST: of the row NAME, each after ` | `. Columns stand between ` | `, so that `p\|q` is no boundary.
columns()
{
    awk -F' [|] ' -v name="| \`$1\`" -v first="$2" -v last="$3" '
        $1 == name { sub(/ [|]$/, ""); for (i = first; i <= last; i++) printf " | %s", $i }' "$DOCUMENT"
}

written() { columns "$1" 3 7; }

judge() { :; }

one_case()
{
    name=$(basename "$1" .ptx)
    cells=$(measure "$1") || { echo "fail $1: $cells"; return; }
    echo "$name$cells" >"$WORK/$name.cells"
    expected=$(written "$name")
    if [ -z "$expected" ]; then
        echo "fail $1: no row in $DOCUMENT"
    elif [ "$cells" != "$expected" ]; then
        printf 'fail %s: not what %s says\n    written  %s\n    measured %s\n' "$1" "$DOCUMENT" "$expected" "$cells"
    else
        said=$(judge "$1" "$cells")
        if [ -n "$said" ]; then echo "fail $1: $said"; else echo "pass $1"; fi
    fi
}

rows_without_probe()
{
    sed -n 's/^| `\([a-z0-9_]*\)` |.*/\1/p' "$DOCUMENT" | while read -r name; do
        [ -e "$PROBES/$name.ptx" ] || echo "fail $DOCUMENT: no probe for the row $name"
    done
}

compare()
{
    find "$PROBES" -name '*.ptx' | sort | each "$1"
    rows_without_probe
}

bless()
{
    cat "$WORK"/*.cells >"$WORK/measured"
    awk -F' [|] ' '
        FILENAME == ARGV[1] { row = "| `" $1 "`"; sub(/^[^ ]*/, ""); cells[row] = $0; next }
        $1 in cells { print $1 " | " $2 cells[$1] (NF > 7 ? " | " $8 : " |"); next }
        { print }' "$WORK/measured" "$DOCUMENT" >"$WORK/blessed" && cp "$WORK/blessed" "$DOCUMENT"
}

# tables SCRIPT [--bless | --any-version]; `each` calls the script back with --case FILE...
tables()
{
    script=$1 mode=${2:-}
    shift
    if [ "$mode" = --case ]; then
        shift
        for file; do one_case "$file"; done
        return
    fi
    rm -rf "$WORK"
    mkdir -p "$WORK"
    version=$(sed -n 's/.*ptxas \([0-9.]*[0-9]\) .*/\1/p' "$DOCUMENT" | head -1)
    if [ -z "$PTXAS" ]; then
        skip_without_ptxas "$PROBES" >"$WORK/log"
    elif [ -z "$mode" ] && ! "$PTXAS" --version | grep -q "V$version"; then
        echo "skip $PROBES: this is not ptxas $version; compare with $script --any-version" >"$WORK/log"
    else
        if [ "$mode" = --bless ]; then
            compare "$script" >/dev/null
            bless
        fi
        compare "$script" >"$WORK/log"
    fi
    tally "$FOLDER" "$WORK/log"
}
