extension ShellCompletion {
    private var heading: String { "# Completion of \(program)(1)." }

    /// A shell's pattern for the words of all commands and actions.
    private var pattern: String { deeper.map(Self.quoted).joined(separator: "|") }

    /// A word for bash and zsh.
    private static func quoted(_ text: String) -> String {
        "'" + text.replacing("'", with: #"'\''"#) + "'"
    }

    /// The script finds the command and the action on the line first; what comes before the cursor decides what can
    /// follow.
    var bash: String {
        let cases = places.map { place in
            """
                \(Self.quoted(place.words)))
                    commands=\(Self.quoted(place.children.map(\.name).joined(separator: " ")))
                    options=\(Self.quoted(place.options.map { "--\($0.name)" }.joined(separator: " ")))
                    files=\(Self.quoted(place.typed(where: \.isFile).joined(separator: " ")))
                    values=\(Self.quoted(place.typed(where: \.isWord).joined(separator: " ")))
                    takes_files=\(place.takesFiles ? "yes" : "")
                    ;;
            """
        }
        return """
            \(heading)
            _\(program)() {
                local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} at=\(program) i
                local commands= options= files= values= takes_files=
                for ((i = 1; i < COMP_CWORD; i++)); do
                    case "$at ${COMP_WORDS[i]}" in
                    \(pattern)) at+=" ${COMP_WORDS[i]}" ;;
                    esac
                done
                case $at in
            \(cases.joined(separator: "\n"))
                esac
                COMPREPLY=()
                if [[ " $values " == *" $previous "* ]]; then
                    return
                elif [[ " $files " == *" $previous "* || ( $takes_files && $current != -* ) ]]; then
                    compopt -o filenames 2>/dev/null
                    mapfile -t COMPREPLY < <(compgen -f -- "$current")
                elif [[ $current == -* ]]; then
                    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
                else
                    mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$current")
                fi
            }
            complete -F _\(program) \(program)

            """
    }

    /// zsh shows the summary of each word beside it.
    var zsh: String {
        func described(_ name: String, _ meaning: String) -> String {
            Self.quoted(name.replacing(":", with: #"\:"#) + ":" + Self.brief(meaning))
        }
        let cases = places.map { place in
            let commands = place.children.map { described($0.name, $0.summary) }
            let options = place.options.map { described("--\($0.name)", $0.help) }
            return """
                (\(Self.quoted(place.words)))
                    commands=(\(commands.joined(separator: " ")))
                    options=(\(options.joined(separator: " ")))
                    files=(\(place.typed(where: \.isFile).joined(separator: " ")))
                    values=(\(place.typed(where: \.isWord).joined(separator: " ")))
                    takes_files=\(place.takesFiles ? 1 : 0)
                    ;;
                """
        }
        return """
            #compdef \(program)
            \(heading)
            _\(program)() {
                local at=\(program) word previous=${words[CURRENT-1]}
                local -a commands options files values
                local -i takes_files=0
                for word in "${(@)words[2,CURRENT-1]}"; do
                    case "$at $word" in
                    (\(pattern)) at+=" $word" ;;
                    esac
                done
                case $at in
            \(cases.joined(separator: "\n"))
                esac
                if (( ${values[(Ie)$previous]} )); then
                    _message value
                elif (( ${files[(Ie)$previous]} )) || { (( takes_files )) && [[ $PREFIX != -* ]] }; then
                    _files
                elif [[ $PREFIX == -* ]]; then
                    _describe -o option options
                else
                    _describe command commands
                fi
            }
            _\(program) "$@"

            """
    }

    /// fish asks for each line whether its condition holds.
    var fish: String {
        func quoted(_ text: String) -> String {
            "'" + text.replacing("\\", with: "\\\\").replacing("'", with: "\\'") + "'"
        }
        let lines = places.flatMap { place in
            let begin = "complete -c \(program) -n \(quoted("__\(program)_at \(quoted(place.words))"))"
            let commands = place.children.map {
                "\(begin) -a \($0.name) -d \(quoted(Self.brief($0.summary)))"
            }
            let options = place.options.map { option in
                let short = option.short.map { " -s \($0)" } ?? ""
                let value = option.argument == .none ? "" : option.argument.isFile ? " -r -F" : " -x"
                return "\(begin) -l \(option.name)\(short)\(value) -d \(quoted(Self.brief(option.help)))"
            }
            return commands + options + (place.takesFiles ? ["\(begin) -F"] : [])
        }
        return """
            \(heading)
            function __\(program)_at --description 'Whether the line is at this command'
                set -l at \(program)
                for word in (commandline -opc)[2..]
                    if contains -- "$at $word" \(deeper.map(quoted).joined(separator: " "))
                        set at "$at $word"
                    end
                end
                test "$at" = "$argv[1]"
            end
            complete -c \(program) -f
            \(lines.joined(separator: "\n"))

            """
    }
}
