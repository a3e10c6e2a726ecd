/// Completion of a program's command lines in a shell.
public struct ShellCompletion: Sendable {
    /// A shell for which there is a script.
    public enum Shell: String, CaseIterable, Sendable {
        case bash
        case zsh
        case fish
    }

    /// A command or an action: all that can follow its words on a command line.
    struct Place {
        /// The words up to here, such as `postrider keys add`.
        let words: String
        let options: [Option]
        /// The commands or actions that can follow, each with its summary.
        let children: [(name: String, summary: String)]
        /// Whether an operand is the name of a file or directory.
        let takesFiles: Bool

        /// The options with a value, as the user types them.
        func typed(where isWanted: (Option.Argument) -> Bool) -> [String] {
            options.filter { isWanted($0.argument) }.flatMap(\.typed)
        }
    }

    let program: String
    let places: [Place]

    /// Creates the completion of a program from the tables of the program, of its commands and of their actions.
    public init(_ root: OptionTable, _ tables: [OptionTable]) {
        program = root.command
        places = ([root] + tables).map { table in
            let prefix = table.command + " "
            let children = tables.filter {
                $0.command.hasPrefix(prefix) && !$0.command.dropFirst(prefix.count).contains(" ")
            }
            return Place(
                words: table.command, options: table.options,
                children: children.map { (String($0.command.dropFirst(prefix.count)), $0.summary) },
                takesFiles: table.operands.contains(where: \.isFile))
        }
    }

    /// The script for a shell.
    public func script(for shell: Shell) -> String {
        switch shell {
        case .bash: bash
        case .zsh: zsh
        case .fish: fish
        }
    }

    /// The words of every place but the program's own.
    var deeper: [String] { places.dropFirst().map(\.words) }

    /// The first sentence of a help text, without its period.
    static func brief(_ help: String) -> String {
        let sentence = help.firstRange(of: ". ").map { String(help[..<$0.lowerBound]) } ?? help
        return sentence.hasSuffix(".") ? String(sentence.dropLast()) : sentence
    }
}

extension Option {
    /// The option as the user types it, in each form.
    var typed: [String] { ["--\(name)"] + (short.map { ["-\($0)"] } ?? []) }

    /// The placeholder of the value in the help; nil for a flag.
    var placeholder: String? {
        switch argument {
        case .none: nil
        case .required(let text), .file(let text), .repeated(let text): text
        }
    }
}

extension Option.Argument {
    /// Whether the value names a file or directory.
    var isFile: Bool { if case .file = self { true } else { false } }

    /// Whether there is a value that is no file's name.
    var isWord: Bool { self != .none && !isFile }
}

extension Operand {
    fileprivate var isFile: Bool { ["FILE", "FOLDER", "DIRECTORY"].contains { usage.contains($0) } }
}
