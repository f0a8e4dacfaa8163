#!/bin/sh
# Runs suites and adds them up. Those of BESIDE run side by side, JOBS at a time. usage: [BESIDE='SUITE...'] tests/check.sh LOG-FOLDER SUITE...
# Each suite is a make target check-SUITE whose output ends with lines `NAME: N passed, N failed[, N skipped]`. One without
# such a line counts as one failure, as does one that fails and tells of none. The last line is the sum; the status says whether none
# failed.
set -u
logs=$1
shift
mkdir -p "$logs"
rm -f "$logs"/*
begin=$(date +%s) number=0 running=
# The shell lets what runs beside it ignore the interrupt key.
trap 'trap "" TERM; kill 0; exit 130' INT

# run SUITE: into its log, and how long it took into another file.
run()
{
    started=$(date +%s)
    told='[0-9]* failed'
    ${MAKE:-make} "check-$1" >"$logs/$1.log" 2>&1 || told='[1-9][0-9]* failed'
    grep -q "^[a-z-]*: [0-9]* passed, $told" "$logs/$1.log" || echo "$1: 0 passed, 1 failed" >>"$logs/$1.log"
    echo $(($(date +%s) - started)) >"$logs/$1.part"
    mv "$logs/$1.part" "$logs/$1.seconds" # where it is, the suite is over
}

# end SUITE: a clean suite shows its counts and what it skipped; any other one everything but the compiler's command lines.
end()
{
    number=$((number + 1))
    if grep -q '^[a-z-]*: [0-9]* passed, [1-9][0-9]* failed' "$logs/$1.log"; then
        cat "$logs/$1.log"
    else
        grep '^[a-z-]*: [0-9]* passed\|^skip ' "$logs/$1.log"
    fi
    echo "    ($1: $(cat "$logs/$1.seconds") s, $number of $total)"
}

# end_all_but MOST: ends suites that are over, until at most so many run.
end_all_but()
{
    while :; do
        # shellcheck disable=SC2086 # words of their own
        set -- "$1" $running
        most=$1 running=
        shift
        [ ! -t 1 ] || printf '\r\033[K'
        for suite; do
            if [ -e "$logs/$suite.seconds" ]; then end "$suite"; else running="$running $suite"; fi
        done
        [ ! -t 1 ] || [ -z "$running" ] || printf '[%d/%d]%s ...' "$number" "$total" "$running"
        # shellcheck disable=SC2086 # words of their own
        set -- $running
        [ $# -gt "$most" ] || break
        set -- "$most"
        sleep 0.2
    done
}

total=$#
for next; do
    beside=0
    case " ${BESIDE:-} " in *" $next "*) beside=$((${JOBS:-2} - 1)) ;; esac
    end_all_but "$beside"
    run "$next" &
    running="$running $next"
    [ "$beside" -gt 0 ] || end_all_but 0
done
end_all_but 0
seconds=$(($(date +%s) - begin))
cat "$logs"/*.log | awk '
    /^[a-z-]+: [0-9]+ passed, [0-9]+ failed/ { passed += $2; failed += $4; skipped += $6 }
    END {
        printf "%d passed, %d failed", passed, failed
        if (skipped)
            printf ", %d skipped", skipped
        print ""
        exit failed > 0
    }' >"$logs/total"
status=$?
echo "all suites: $((seconds / 60)) min $((seconds % 60)) s"
cat "$logs/total"
exit $status
