/// What one command understands, written as a table: the parser, the usage line and the help all come from it.
///
/// The C library parses (`getopt_long`), so the conventions are GNU's: `--name value`, `--name=value`, `-n value`,
/// `-nvalue`, flags together as `-ab`, options and operands in any order, nothing but operands after `--`. A long name
/// may be cut short where what is left fits one option only.
public struct OptionTable: Sendable {
    /// A command line to copy, and what it does.
    public struct Example: Sendable {
        let purpose: String
        let line: String

        /// An example from the sentence above it and the line itself.
        public init(_ purpose: String, _ line: String) {
            self.purpose = purpose
            self.line = line
        }
    }

    /// Rows of terms and meanings under a title: commands, environment variables, exit codes.
    public struct Section: Sendable {
        let title: String
        let rows: [(term: String, meaning: String)]

        /// A section from its title and rows, in the order in which they are printed.
        public init(_ title: String, _ rows: [(term: String, meaning: String)]) {
            self.title = title
            self.rows = rows
        }
    }

    /// What the user types to get here, such as `postrider send`.
    public let command: String
    /// What the command does, as a sentence.
    public let summary: String
    /// What it takes besides options, in order.
    public let operands: [Operand]
    /// Its options in the order of the help; `--help` comes last and is always there.
    public let options: [Option]
    let sections: [Section]
    let examples: [Example]

    /// A table from its parts. Two options with one name or one short form are a bug of the command, and so is an
    /// operand that must be there behind one that need not.
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

    /// The table's option of this name. A name that the table does not have is a bug of the command.
    func option(named name: String) -> Option {
        guard let option = options.first(where: { $0.name == name }) else {
            preconditionFailure("\(command) has no option --\(name)")
        }
        return option
    }

    /// A mistake of the user in this command's line, told as one sentence that begins with the command.
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

/// A mistake of the user in a command line. Print its description and exit with code 2.
public struct UsageError: Error, CustomStringConvertible, Equatable {
    /// One sentence: which command, what is wrong, what to do.
    public let description: String

    /// An error from its sentence.
    public init(_ description: String) { self.description = description }
}
