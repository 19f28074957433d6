# Completion of dsgd in bash. The table is made of the program's own; names come from `dsgd list`.

@table@

# Adds to COMPREPLY what of the sources $1 begins with $2. $3: the word before, $4: the program.
_dsgd_any()
{
    local source key sources
    for source in $1; do
        case $source in
        files) compopt -o filenames; mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$2") ;;
        folders) compopt -o filenames; mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -d -- "$2") ;;
        word:*) [[ ${source#word:} != "$2"* ]] || COMPREPLY+=("${source#word:}") ;;
        list:* | named)
            [ "$source" != named ] || source=list:$3
            mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -W "$("$4" list "${source#list:}" 2>/dev/null |
                sed -n 's/^\([^ ][^ ]*\)\(  .*\)*$/\1/p')" -- "$2")
            ;;
        sets)
            if [[ $2 == *=* ]]; then
                key=${2%%=*}
                _dsgd_value_of_key "$key"
                _dsgd_any "$sources" "${2#*=}" "" "$4"
                COMPREPLY=("${COMPREPLY[@]/#/$key=}")
            else
                compopt -o nospace
                mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -S = -W "$_dsgd_keys" -- "$2")
            fi
            ;;
        esac
    done
}

_dsgd()
{
    local words=() word i sources command= option= before= n=0 program=$1 cut
    # As the user typed them: readline takes `a=b` for three words.
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ $i -gt 1 && ( $word == = || ${COMP_WORDS[i - 1]} == = ) && $COMP_WORDBREAKS == *=* ]]; then
            words[${#words[@]} - 1]+=$word
        else
            words+=("$word")
        fi
    done
    local current=${words[${#words[@]} - 1]} last=${COMP_WORDS[COMP_CWORD]}
    [[ $last != = ]] || last=
    cut=${current%"$last"}
    COMPREPLY=()
    for ((i = 1; i < ${#words[@]} - 1; i++)); do
        word=${words[i]}
        if [[ -n $option ]]; then
            option=
        elif [[ -z $command ]]; then
            command=$word
        elif [[ $word == -* ]]; then
            ! _dsgd_value "$command" "$word" || option=$word
        else
            n=$((n + 1))
            before=$word
        fi
    done
    if [[ -z $command ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$_dsgd_commands --help --version" -- "$current")
    elif [[ -n $option ]]; then
        _dsgd_value "$command" "$option"
        _dsgd_any "$sources" "$current" "" "$program"
    elif [[ $current == --*=* ]]; then
        if _dsgd_value "$command" "${current%%=*}"; then
            _dsgd_any "$sources" "${current#*=}" "" "$program"
            COMPREPLY=("${COMPREPLY[@]/#/${current%%=*}=}")
        fi
    elif [[ $current == -* ]]; then
        _dsgd_options "$command"
        mapfile -t COMPREPLY < <(compgen -W "$sources" -- "$current")
        [[ ${COMPREPLY[*]} != *= ]] || compopt -o nospace
    else
        _dsgd_operand "$command" "$n"
        _dsgd_any "$sources" "$current" "$before" "$program"
    fi
    COMPREPLY=("${COMPREPLY[@]#"$cut"}")
}

complete -F _dsgd dsgd
