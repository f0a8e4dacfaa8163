# Completion for fish: the options are what the program's own help prints, the phases what --list-phases prints.
function __ptxopt_options
    set -l help --help
    set -l program $argv[1]
    switch $program
        case ptxopt ptxopt-ptxas ptxopt-cicc # in front of -- the fronts take options of ptxopt
            set program ptxopt
            set help --help-hidden
    end
    $program $help 2>/dev/null | string match -rg '^  (?:-[a-zA-Z], )?(--[a-z0-9-]+)'
end
function __ptxopt_phases
    ptxopt --list-phases 2>/dev/null | string match -rg '^([a-z-]+)'
end
function __ptxopt_promises
    ptxopt --help-hidden 2>/dev/null | sed -n '/^Promises/,/^$/s/^  \([a-z0-9-]*\).*/\1/p'
end
for program in ptxopt ptxopt-report ptxopt-prove ptxopt-reduce ptxopt-ptxas ptxopt-cicc
    complete -c $program -a "(__ptxopt_options $program)"
end
complete -c ptxopt -s o -r -d 'write the result to this file'
complete -c ptxopt -s O -x -a '0 1 2 3' -d 'level'
for option in disable enable phases stop-after print-before print-after
    complete -c ptxopt -l $option -x -a '(__fish_append , (__ptxopt_phases))'
end
complete -c ptxopt -l assume -x -a '(__fish_append , (__ptxopt_promises))'
complete -c ptxopt -l prove -x -a 'report revert strict'
complete -c ptxopt -l guard -x -a 'off search all'
complete -c ptxopt-report -l format -x -a 'text markdown html json'
