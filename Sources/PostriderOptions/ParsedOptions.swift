/// A command line that was parsed by its ``OptionTable``. Reading an option that the table does not have traps.
public struct ParsedOptions: Sendable {
    /// The table that parsed it.
    public let table: OptionTable
    private let values: [String: [String]]
    /// The operands in order, as many as the table permits.
    public let operands: [String]

    init(table: OptionTable, values: [String: [String]], operands: [String]) {
        self.table = table
        self.values = values
        self.operands = operands
    }

    /// Whether the user asked for the help. Everything else is empty then.
    public var asksForHelp: Bool { isSet(Option.help.name) }

    /// Whether the option was given.
    public func isSet(_ name: String) -> Bool { !list(name).isEmpty }

    /// The values of an option that may be given several times, in order.
    public func list(_ name: String) -> [String] { values[table.option(named: name).name] ?? [] }

    /// The value of an option; nil if it was not given.
    public func string(_ name: String) -> String? { list(name).last }

    /// The value of a required option.
    public func requiredString(_ name: String) throws(UsageError) -> String {
        if let value = string(name) { return value }
        throw error("--\(name) is missing; '\(table.command) --help' says what it is")
    }

    /// The value of an option as a decimal integer within a range; nil if it was not given.
    public func integer(_ name: String, in range: ClosedRange<Int>) throws(UsageError) -> Int? {
        guard let text = string(name) else { return nil }
        if let value = Int(text), range.contains(value) { return value }
        throw error(
            "--\(name) must be a whole number from \(range.lowerBound) to \(range.upperBound), not '\(text)'")
    }

    /// The value of an option as a case of `Choice`, given by its raw value; nil if it was not given.
    public func choice<Choice: CaseIterable & RawRepresentable<String>>(
        _ name: String, of type: Choice.Type = Choice.self
    ) throws(UsageError) -> Choice? {
        guard let text = string(name) else { return nil }
        if let value = Choice(rawValue: text) { return value }
        let known = Choice.allCases.map(\.rawValue).joined(separator: ", ")
        throw error("--\(name) must be one of \(known), not '\(text)'")
    }

    /// Creates a usage error that only the command can detect: one sentence that begins with the command.
    public func error(_ sentence: String) -> UsageError { table.error(sentence) }
}
