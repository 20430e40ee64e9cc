_markscheme() {
    local IFS=$'\n'
    COMPREPLY=($(markscheme completion words "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1))
    [[ ${COMPREPLY[0]} == */ ]] && compopt -o nospace
}
complete -o default -F _markscheme markscheme
