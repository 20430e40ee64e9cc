function __markscheme_words
    set -l offered (markscheme completion words (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)
    if test (count $offered) -gt 0
        printf '%s\n' $offered
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c markscheme -f -a '(__markscheme_words)'
