/// The options and operands of one command. The parser, the usage line and the help are made from it.
///
/// The C library parses (`getopt_long`), so the conventions are GNU's: `--name value`, `--name=value`, `-n value`,
/// `-nvalue`, combined flags as in `-ab`, options and operands in any order, only operands after `--`. A long name
/// may be abbreviated if that is unambiguous.
public struct OptionTable: Sendable {
    /// A command line that users can copy, with its purpose.
    public struct Example: Sendable {
        let purpose: String
        let line: String

        /// Creates an example from its purpose and the line.
        public init(_ purpose: String, _ line: String) {
            self.purpose = purpose
            self.line = line
        }
    }

    /// Rows of terms and meanings under a title, such as commands, environment variables, exit codes.
    public struct Section: Sendable {
        let title: String
        let rows: [(term: String, meaning: String)]

        /// Creates a section from its title and its rows, in the order in which they are printed.
        public init(_ title: String, _ rows: [(term: String, meaning: String)]) {
            self.title = title
            self.rows = rows
        }
    }

    /// The command as the user types it, such as `postrider send`.
    public let command: String
    /// One sentence that says what the command does.
    public let summary: String
    /// The operands, in order.
    public let operands: [Operand]
    /// The options in the order of the help. `--help` is added as the last.
    public let options: [Option]
    let sections: [Section]
    let examples: [Example]

    /// Creates a table from its parts. It traps if two options have the same name or short name, or if a required
    /// operand follows an optional one.
    public init(
        command: String, summary: String, operands: [Operand] = [], options: [Option] = [],
        sections: [Section] = [], examples: [Example] = []
    ) {
        self.command = command
        self.summary = summary
        self.operands = operands
        self.options = options + [.help]
        self.sections = sections
        self.examples = examples
        precondition(
            Set(self.options.map(\.name)).count == self.options.count, "\(command): two options, one name")
        let letters = self.options.compactMap(\.short)
        precondition(Set(letters).count == letters.count, "\(command): two options, one short form")
        precondition(Self.isOrdered(operands), "\(command): a required operand comes after an optional one")
    }

    /// The option with this name. It traps if the table has none.
    func option(named name: String) -> Option {
        guard let option = options.first(where: { $0.name == name }) else {
            preconditionFailure("\(command) has no option --\(name)")
        }
        return option
    }

    /// Creates a usage error of this command: one sentence that begins with the command.
    public func error(_ sentence: String) -> UsageError { UsageError("\(command): \(sentence)") }

    private static func isOrdered(_ operands: [Operand]) -> Bool {
        zip(operands, operands.dropFirst()).allSatisfy { first, second in
            switch (first, second) {
            case (.required, _), (.optional, .optional), (.optional, .any): true
            case (.optional, _), (.rest, _), (.any, _): false
            }
        }
    }
}

/// A mistake of the user in a command line. The program prints its description and exits with code 2.
public struct UsageError: Error, CustomStringConvertible, Equatable {
    /// One sentence: which command, what is wrong, and what to do.
    public let description: String

    /// Creates an error from its sentence.
    public init(_ description: String) { self.description = description }
}
