# Completion for bash: the options are what the program's own help prints, the phases what --list-phases prints.
_ptxopt_options()
{
    local program=$1 help=--help
    case ${1##*/} in
    ptxopt) help=--help-hidden ;;
    ptxopt-ptxas | ptxopt-cicc) program=ptxopt help=--help-hidden ;; # in front of `--` stand options of ptxopt
    esac
    "$program" $help 2>/dev/null |
        sed -n 's/^  \(-[a-zA-Z]\), /\1 /; s/^  *\(-[a-zA-Z] \)\{0,1\}--\[no-\]\([a-z0-9-]*\).*/--\2 --no-\2/p; t
            s/^  *\(-[a-zA-Z] \)\{0,1\}\(--[a-z0-9-]*=\{0,1\}\).*/\1\2/p; s/^  \(-[oO]\).*/\1/p'
}

# The values of an option that takes words; empty: it takes something else.
_ptxopt_values()
{
    case $2 in
    --disable | --enable | --phases | --stop-after | --print-before | --print-after) ptxopt --list-phases 2>/dev/null | cut -d' ' -f1 ;;
    --assume) ptxopt --help-hidden 2>/dev/null | sed -n '/^Promises/,/^$/s/^  \([a-z0-9-]*\).*/\1/p' ;;
    --prove) echo report revert strict ;;
    --guard) echo off search all ;;
    --stats) echo json ;;
    --format) echo text markdown html json ;;
    --layout-invert) echo never new always ;;
    --tail-merge-when) echo never pays always ;;
    --tail-merge-reserved) echo strict volatile off ;;
    --dfa-jump-threading-where) echo never uniform anywhere ;;
    --nested-cond-lop3 | --common-base-elim-wide) echo auto always never ;;
    esac
}

_ptxopt()
{
    local word=${COMP_WORDS[COMP_CWORD]} option values first='' IFS=$' \t\n'
    # `--disable=clean` is three words to bash: --disable, =, clean.
    if [[ $word == = ]]; then
        option=${COMP_WORDS[COMP_CWORD - 1]} word=
    elif [[ $COMP_CWORD -ge 2 && ${COMP_WORDS[COMP_CWORD - 1]} == = ]]; then
        option=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    if [[ -n $option ]]; then
        values=$(_ptxopt_values "${COMP_WORDS[0]}" "$option")
        [[ $word == *,* ]] && first=${word%,*},
        if [[ -n $values ]]; then
            COMPREPLY=($(compgen -P "$first" -W "$values" -- "${word##*,}"))
        else
            COMPREPLY=($(compgen -f -- "$word"))
        fi
    elif [[ $word == -* ]]; then
        COMPREPLY=($(compgen -W "$(_ptxopt_options "${COMP_WORDS[0]}")" -- "$word"))
        [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
    else
        COMPREPLY=($(compgen -f -- "$word"))
    fi
}
complete -o filenames -F _ptxopt ptxopt ptxopt-report ptxopt-prove ptxopt-reduce ptxopt-ptxas ptxopt-cicc
