#!/bin/sh
# Runs the unit tests. usage: tests/unit.sh PROGRAM...
set -u
passed=0 failed=0
for program; do
    said=$(timeout 300 "$program" 2>&1)
    status=$?
    ok=$(echo "$said" | grep -c '^\[       OK \]')
    bad=$(echo "$said" | sed -n 's/^\[  FAILED  \] .*: \([0-9]*\) test(s), listed below:$/\1/p')
    if [ "$status" != 0 ]; then
        bad=${bad:-1} # it did not get as far as to say so
        echo "fail $program: exit status $status"
        echo "$said" | grep -v '^\[ RUN\|^\[       OK'
    fi
    passed=$((passed + ok)) failed=$((failed + ${bad:-0}))
done
echo "${NAME:-unit}: $passed passed, $failed failed"
[ "$failed" = 0 ]
