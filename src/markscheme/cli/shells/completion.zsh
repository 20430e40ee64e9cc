#compdef markscheme
_markscheme() {
    local -a offered shown ending
    offered=("${(@f)$(markscheme completion words "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ -z $offered ]]; then _files; return; fi
    shown=("${(@)offered//$'\t'/  -- }")
    [[ ${offered[1]%%$'\t'*} == */ ]] && ending=(-S '')
    compadd $ending -l -d shown -- "${(@)offered%%$'\t'*}"
}
compdef _markscheme markscheme
