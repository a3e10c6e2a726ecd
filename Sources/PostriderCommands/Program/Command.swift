package import PostriderOptions

/// A command of a program (``Program/commands``). Its file has the same name.
package protocol Command: SendableMetatype {
    /// The name that the user types, such as `enrolment-keys`.
    static var name: String { get }
    /// One sentence for the list of commands that says what the command does.
    static var summary: String { get }
    /// The options of the command. Its help, its manual page and the completion of shells are made from them.
    static var table: OptionTable { get }
    /// The options of each of its actions, such as `list` of `postrider keys list`; empty if it has none.
    static var actionTables: [OptionTable] { get }
    /// Whether SIGTERM and SIGINT are blocked so that the command can end in order when it receives them
    /// (``Termination``, or a loop's `onSignal`). Otherwise they end the process at once.
    static var endsInGoodOrder: Bool { get }
    /// Whether the command with these arguments ends in order. The default is the property above; a command with
    /// several actions can distinguish them.
    static func endsInGoodOrder(_ arguments: [String]) -> Bool
    /// Whether SIGHUP is blocked, too, and makes the command read its files again. This is only for commands that end
    /// in order; otherwise SIGHUP ends the process at once.
    static var reloads: Bool { get }
    /// Runs the command and returns the exit code.
    ///
    /// - Throws: `UsageError` if the arguments are wrong (exit code 2), ``CommandFailure``, or any error that
    ///   describes itself with one sentence (exit code 1).
    static func run(_ arguments: [String]) async throws -> Int32
}

extension Command {
    package static var actionTables: [OptionTable] { [] }
    package static var endsInGoodOrder: Bool { false }
    package static func endsInGoodOrder(_ arguments: [String]) -> Bool { endsInGoodOrder }
    package static var reloads: Bool { false }
}

extension OptionTable {
    /// Parses the arguments of a command. If they ask for help, prints it and returns nil: the command has succeeded.
    package func parseOrHelp(_ arguments: [String]) throws(UsageError) -> ParsedOptions? {
        let options = try parse(arguments)
        guard options.asksForHelp else { return options }
        Console.say(helpText)
        return nil
    }
}

/// The error of a command that could not do what was asked.
package struct CommandFailure: Error, CustomStringConvertible, Equatable {
    /// One sentence: what is wrong, where, and what to do.
    package let sentence: String
    /// 1 for a runtime error, 2 for a mistake in the user's arguments or files.
    package let exitCode: Int32

    package init(_ sentence: String, exitCode: Int32 = 1) {
        self.sentence = sentence
        self.exitCode = exitCode
    }

    package var description: String { sentence }
}
