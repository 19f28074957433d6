# Completion of dsgd in fish. The table is made of the program's own; names come from `dsgd list`.

# The sub-command before the cursor, how many operands follow it, and the last of them.
function __dsgd_place
    set -l words (commandline -opc)
    set -e words[1]
    set -l command ""
    set -l valued
    set -l skip 0
    set -l n 0
    set -l before ""
    for word in $words
        if test $skip = 1
            set skip 0
        else if test -z "$command"
            set command $word
            set valued (__dsgd_valued $word)
        else if string match -q -- '-*' $word
            contains -- $word $valued; and set skip 1
        else
            set n (math $n + 1)
            set before $word
        end
    end
    printf '%s\n' "$command" $n "$before"
end

function __dsgd_in
    set -l place (__dsgd_place)
    test "$place[1]" = "$argv[1]"
end

function __dsgd_operand
    set -l place (__dsgd_place)
    test "$place[1]" = $argv[1]; or return
    test $place[2] -eq $argv[2]; or test $argv[3] = many -a $place[2] -ge $argv[2]
end

function __dsgd_any
    set -l current (commandline -ct)
    for source in $argv
        switch $source
            case files
                __fish_complete_path $current
            case folders
                __fish_complete_directories $current ''
            case 'word:*'
                string replace word: '' -- $source
            case 'list:*' named
                set -l kind (string replace list: '' -- $source)
                test $source = named; and set kind (__dsgd_place)[3]
                set -l program (commandline -opc)[1]
                $program list $kind 2>/dev/null | sed -n 's/^\([^ ][^ ]*\)\(  .*\)*$/\1/p'
            case sets
                set -l key (string replace -r '=.*' '' -- (string replace -r '^--set=' '' -- $current))
                if string match -q -- '*=*' (string replace -r '^--set=' '' -- $current)
                    for value in (__dsgd_any (string split -n ' ' -- (__dsgd_value_of_key $key)))
                        echo $key=$value
                    end
                else
                    printf '%s=\n' (__dsgd_keys | string match -v '')
                end
        end
    end
end

@table@
