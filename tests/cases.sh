# Cases that are shell commands; to be sourced after lib.sh. WORK/input holds the files that each case begins with, `part` a part of
# the names of the cases to run (all, if it is empty).

begin_case() { :; } # what a script does in each case's folder before its commands ...
end_case() { :; }   # ... and after them

# case_ NAME COMMANDS: passes when all of the commands succeed, in a folder of their own. They run under `set -e`, which overlooks
# `! command`: use `not`.
case_number=0
case_()
{
    case $1 in *"${part:-}"*) ;; *) return ;; esac
    case_number=$((case_number + 1))
    case_dir=$WORK/$case_number
    cp -r "$WORK/input" "$case_dir"
    (
        cd "$case_dir" || exit 1
        begin_case
        set -e
        eval "$2"
        end_case
    ) >"$case_dir.log" 2>&1 </dev/null
    if [ $? = 0 ]; then # as a condition itself, `set -e` would do nothing
        echo "pass $1"
    else
        echo "fail $1"
        echo "    $2"
        sed 's/^/    /' "$case_dir.log" | tail -30
    fi
}

# exits STATUS COMMAND...: what it says is then in `said` (standard error) and `out`.
exits()
{
    wanted=$1
    shift
    status=0
    "$@" >out 2>said || status=$?
    cat out said
    [ "$status" = "$wanted" ]
}
says() { grep -q -e "$1" said; }
not() { if "$@"; then return 1; fi; }
