# Completion for bash: the options are what `ptxopt --help` prints.
_ptxopt()
{
    local word=${COMP_WORDS[COMP_CWORD]} IFS=$' \t\n'
    if [[ $word == -* ]]; then
        COMPREPLY=($(compgen -W "$("${COMP_WORDS[0]}" --help 2>/dev/null |
            sed -n 's/^  \(-[a-zA-Z]\), /\1 /; s/^  *\(-[a-zA-Z] \)\{0,1\}--\[no-\]\([a-z0-9-]*\).*/--\2 --no-\2/p; t
                s/^  *\(-[a-zA-Z] \)\{0,1\}\(--[a-z0-9-]*=\{0,1\}\).*/\1\2/p; s/^  \(-[oO]\).*/\1/p')" -- "$word"))
        [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace
    else
        COMPREPLY=($(compgen -f -- "$word"))
    fi
}
complete -o filenames -F _ptxopt ptxopt
