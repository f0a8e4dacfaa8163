#!/bin/sh
# What ptxas makes of a corpus before and after ptxopt: how many kernels get better and worse (src/judge/machine/worse.h), and which
# phase is to blame.
# usage: [BUILD=build] [CORPUS=FOLDER|TARBALL] [PTXASES='FILE...'] [ARCHS='80 90'] [FLAGS=-O2] [JOBS_ASKED=N]
#        [LIMIT=SECONDS] [NO_BLAME=1] [BEFORE_FLAGS=FLAGS] [RECORD=1 [RECORD_WITH=FOLDERS]] tests/corpus.sh
# Before is the text as it came in, or what ptxopt makes of it with BEFORE_FLAGS.
# RECORD: the judged sequence runs, and src/judge/guard/record.def is written anew, of this and other folders of such calls.
# Ninja runs one job a core (JOBS_ASKED: so many), and only what changed since the last call. Nothing is downloaded; without a
# corpus, ptxas or ninja nothing is measured, and that is said. Works in CORPUS_WORK, or $BUILD/corpus, and writes report.md and
# worse.tsv there.
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/lib.sh
CORPUS=${CORPUS:-../shared/corpus/train.tar.xz}
PTXASES=${PTXASES:-$PTXAS}
# The record is of sm_120 as well: ptxas 13.0 makes code worse there by phases with a clean record elsewhere.
ARCHS=${ARCHS:-80 90${RECORD:+ 120}}
# All that runs where ptxas judges, with a line for each rewrite. To name tail-merge would ask for rewrites that wait for -O3.
if [ -n "${RECORD:-}" ]; then
    FLAGS="-O2 --opt-bisect-limit=-1 --enable=$("${PTXOPT:-$BUILD/ptxopt}" --list-phases | awk '$2 != "-O3" && $1 != "tail-merge" { print $1 }' | paste -sd,)"
fi
FLAGS=${FLAGS:--O2}
PTXOPT=${PTXOPT:-$BUILD/ptxopt}
WORK=${CORPUS_WORK:-$BUILD/corpus}
TEXTS=$WORK/texts
BEFORE_FLAGS=${BEFORE_FLAGS:-}
before=$WORK/texts
[ -z "$BEFORE_FLAGS" ] || before=$WORK/before
TAB=$(printf '\t')
# The guard judges for one ptxas and one target: each has a text of its own then. Nothing is searched for blame.
guarded=
case " $FLAGS" in *' --guard'*) guarded=1 NO_BLAME=1 ;; esac

skip() { echo "skip the corpus: $1"; exit 0; }

[ -e "$CORPUS" ] || skip "there is no $CORPUS; CORPUS names a folder or a tarball of PTX files"
[ -n "$PTXASES" ] || skip 'ptxas is not at hand; PTXASES names some'
command -v ninja >/dev/null || skip 'ninja is not at hand (apt: ninja-build)'
mkdir -p "$WORK"
if [ -d "$CORPUS" ]; then
    rm -rf "$TEXTS" && ln -s "$(cd "$CORPUS" && pwd)" "$TEXTS" || exit 1
elif [ ! "$WORK/unpacked" -nt "$CORPUS" ]; then
    rm -rf "$TEXTS" && mkdir "$TEXTS" && tar -C "$TEXTS" -xf "$CORPUS" && touch "$WORK/unpacked" || exit 1
fi

# TARGET FILE: a text is assembled for each of ARCHS that can run it; one for a single architecture (sm_90a) for that one.
# Modules for a debugger, which ptxopt leaves alone, and what names no target are left out.
(cd "$TEXTS" && find -L . -name '*.ptx' | sed 's|^\./||' | sort) | while read -r file; do
    line=$(LC_ALL=C sed -n '/^[[:space:]]*\.target/{p;q;}' "$TEXTS/$file")
    target=$(echo "$line" | sed -n 's/^.*sm_\([0-9]*[a-z]*\).*/\1/p')
    case $line,$target in
    *debug*|*,) ;;
    *,*[a-z]) echo "$target $file" ;;
    *) for arch in $ARCHS; do [ "$target" -gt "$arch" ] || echo "$arch $file"; done ;;
    esac
done >"$WORK/list"

rules()
{
    cat <<'RULES'
rule optimize
  command = { timeout $limit $ptxopt $flags $in -o $out.new 2>$out.err || cp $in $out.new; }; if cmp -s $out.new $out; then rm $out.new; else mv $out.new $out; fi
  restat = 1
rule assemble
  command = timeout $limit $ptxas -arch=sm_$arch $in -o $out.new >$out.log 2>&1 && mv $out.new $out || : >$out
rule assemble_new
  command = if cmp -s $old_text $in; then ln -f $old $out; else timeout $limit $ptxas -arch=sm_$arch $in -o $out.new >$out.log 2>&1 && mv $out.new $out || : >$out; fi
rule judge
  command = if [ ! -s $old ]; then : >$out; elif [ ! -s $new ]; then echo refused >$out; else $judge --tsv --all $old $new >$out || [ $$? = 1 ]; fi
RULES
    echo "builddir = $WORK"
    echo "ptxopt = $PTXOPT"
    echo "judge = $BUILD/cubinjudge"
    echo "limit = ${LIMIT:-600}"
}

release_of() { "$1" --version | sed -n 's/^.*release \([0-9.]*\),.*/\1/p'; }

# On a terminal Ninja says how far it is.
quiet=--quiet
[ ! -t 1 ] || quiet=
# shellcheck disable=SC2086 # an option or none
run_ninja() { ninja ${JOBS_ASKED:+-j$JOBS_ASKED} $quiet -k 0 -f "$1"; }

{
    rules
    echo "flags = $FLAGS"
    cut -d' ' -f2- "$WORK/list" | sort -u | awk -v work="$WORK" -v flags="$BEFORE_FLAGS" -v guarded="$guarded" '
        !guarded { print "build " work "/new/" $0 ": optimize " work "/texts/" $0 " | $ptxopt" }
        flags { print "build " work "/before/" $0 ": optimize " work "/texts/" $0 " | $ptxopt\n  flags = " flags }'
    for ptxas in $PTXASES; do
        release=$(release_of "$ptxas")
        [ -n "$release" ] || { echo "corpus: $ptxas says no version" >&2; exit 1; }
        awk -v work="$WORK" -v before="$before" -v ptxas="$ptxas" -v release="$release" -v guarded="$guarded" -v flags="$FLAGS" '{
            base = work "/" release "/" $1 "/" $2
            text = work "/new/" (guarded ? release "/" $1 "/" : "") $2
            if (guarded)
                print "build " text ": optimize " work "/texts/" $2 " | $ptxopt\n  flags = " flags " --guard=" ptxas " --guard-arch=sm_" $1
            print "build " base ".old: assemble " before "/" $2 "\n  arch = " $1 "\n  ptxas = " ptxas
            print "build " base ".new: assemble_new " text " | " base ".old"
            print "  arch = " $1 "\n  ptxas = " ptxas "\n  old = " base ".old\n  old_text = " before "/" $2
            print "build " base ".tsv: judge " base ".old " base ".new | $judge\n  old = " base ".old\n  new = " base ".new"
        }' "$WORK/list"
    done
} >"$WORK/build.ninja" || exit 1
run_ninja "$WORK/build.ninja" || exit 1

# RELEASE ARCH FILE, then cubinjudge's columns.
for ptxas in $PTXASES; do
    release=$(release_of "$ptxas")
    while read -r arch file; do
        sed "s|^|$release$TAB$arch$TAB$file$TAB|" "$WORK/$release/$arch/$file.tsv"
    done <"$WORK/list"
done >"$WORK/judged.tsv"
awk -F'\t' '$5 == "worse" || $4 == "refused"' "$WORK/judged.tsv" >"$WORK/worse.list"

awk -F'\t' -v flags="$FLAGS" -v before="${BEFORE_FLAGS:+, beside ptxopt $BEFORE_FLAGS}" '
    function add(key) {
        if ($4 == "refused") { refused[key]++; return }
        kernels[key]++
        if (!$17) { old[key] += $7; new[key] += $8 }
        if ($5 == "unchanged") return
        changed[key]++
        verdict[key, $5]++
        if ($9 > 0 && $10 > 0) { logs[key] += log($10 / $9); counted[key]++ }
        if ($5 == "worse" && ($9 > 0) && $10 / $9 > worst[key]) worst[key] = $10 / $9
        unrolled[key] += $17 > 0
    }
    function row(title, key) {
        printf("| %s | %d | %d | %d | %d (%.1f %%) | %s | %d | %d to %d (%+.2f %%) | %.4f |\n", title, kernels[key], changed[key], verdict[key, "better"],
            verdict[key, "worse"], changed[key] ? 100 * verdict[key, "worse"] / changed[key] : 0,
            worst[key] > 0 ? sprintf("%+.1f %%", 100 * (worst[key] - 1)) : "-", unrolled[key], old[key], new[key],
            old[key] ? 100 * (new[key] / old[key] - 1) : 0, counted[key] ? exp(logs[key] / counted[key]) : 1)
    }
    {
        producer = $3
        if (!sub("/.*", "", producer)) producer = "all"
        if (!(producer in known)) { known[producer]; order[++producers] = producer }
        if (!(($1, $2) in pair)) { pair[$1, $2]; pairs[++pair_count] = $1 SUBSEP $2 }
        add("all"); add("p" producer); add($1 SUBSEP $2)
    }
    END {
        print "# What ptxas makes of the corpus after ptxopt " flags before "\n"
        print "Worse is what src/judge/machine/worse.h says. Instructions are without kernels that hold a newly unrolled loop; cycles are the"
        print "geometric mean over kernels whose machine code changed. The worst is by cycles, among the worse.\n"
        head = " | kernels | changed | better | worse of changed | worst | unrolled | instructions | cycles |\n|---|---|---|---|---|---|---|---|---|"
        print "| ptxas, target" head
        for (i = 1; i <= pair_count; i++) { split(pairs[i], part, SUBSEP); row(part[1] " sm_" part[2], pairs[i]) }
        row("all", "all")
        print "\n| producer" head
        for (i = 1; i <= producers; i++) row(order[i], "p" order[i])
        if (refused["all"]) print "\n" refused["all"] " texts were refused by ptxas after ptxopt, and not before."
    }' "$WORK/judged.tsv" >"$WORK/report.md"
# A phase is to blame without which the kernel is no longer worse.
phases=$("$PTXOPT" --list-phases | sed -n 's/^ *\([a-z][a-z-]*\) .*/\1/p')
{
    rules
    cut -f3 "$WORK/worse.list" | sort -u | while read -r file; do
        for phase in $phases; do
            echo "build $WORK/without/$phase/$file: optimize $WORK/texts/$file | $WORK/new/$file"
            echo "  flags = $FLAGS --disable=$phase"
        done
    done
    for ptxas in $PTXASES; do
        release=$(release_of "$ptxas")
        awk -F'\t' -v release="$release" '$1 == release && !seen[$2, $3]++ { print $2, $3 }' "$WORK/worse.list" |
            while read -r arch file; do
                for phase in $phases; do
                    base=$WORK/without/$phase/$release/$arch/$file
                    printf 'build %s.new: assemble_new %s\n  arch = %s\n  ptxas = %s\n  old = %s\n  old_text = %s\n' "$base" \
                        "$WORK/without/$phase/$file" "$arch" "$ptxas" "$WORK/$release/$arch/$file.old" "$WORK/texts/$file"
                    printf 'build %s.tsv: judge %s.new | $judge\n  old = %s\n  new = %s.new\n' "$base" "$base" \
                        "$WORK/$release/$arch/$file.old" "$base"
                done
            done
    done
} >"$WORK/blame.ninja"
[ -n "${NO_BLAME:-}" ] || [ ! -s "$WORK/worse.list" ] || run_ninja "$WORK/blame.ninja" || exit 1
while IFS=$TAB read -r release arch file kernel rest; do
    blame=
    for phase in $phases; do
        tsv=$WORK/without/$phase/$release/$arch/$file.tsv
        [ -z "${NO_BLAME:-}" ] && awk -F'\t' -v kernel="$kernel" '$1 == kernel && $2 == "worse" { bad = 1 } END { exit bad }' "$tsv" &&
            blame=${blame:+$blame,}$phase
    done
    printf '%s\t%s\t%s\t%s\t%s\t%s\n' "${blame:--}" "$release" "$arch" "$file" "$kernel" "$rest"
done <"$WORK/worse.list" | sort >"$WORK/worse.tsv"

awk -F'\t' 'BEGIN { print "\n## Worse, by the phase without which it is not\n\n| phase | kernels |\n|---|---|" }
    { count[$1]++ } END { for (phase in count) printf "| %s | %d |\n", phase, count[phase] }' "$WORK/worse.tsv" >>"$WORK/report.md"
cat "$WORK/report.md"
echo "$WORK/report.md and $WORK/worse.tsv (blame, ptxas, target, file, kernel, verdict, rules, figures) are written"
if [ -n "${RECORD:-}" ]; then
    sh tests/record.sh "$WORK" ${RECORD_WITH:-} >/dev/null && echo 'src/judge/guard/record.def is written'
elif ! grep -q "^/\* Of phases $(phases_sum)," src/judge/guard/record.def; then
    echo "The guard's record is stale: phases have changed since it was made. RECORD=1 makes it anew."
fi
