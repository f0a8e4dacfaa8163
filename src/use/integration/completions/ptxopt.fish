# Completion for fish: the options are what `ptxopt --help` prints.
complete -c ptxopt -a '(ptxopt --help | string match -rg "^  (?:-[a-zA-Z], )?(--[a-z0-9-]+)")'
complete -c ptxopt -s o -r -d 'write the module to this file'
complete -c ptxopt -s O -x -a '0 1 2 3' -d 'level'
