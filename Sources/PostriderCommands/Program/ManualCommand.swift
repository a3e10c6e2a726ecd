import FoundationEssentials
package import PostriderOptions

/// `postrider manual`: the manual pages of a program.
package protocol ManualCommand: Command {
    /// The program that the pages describe.
    static var program: Program { get }
    /// The commands that have a page each.
    static var described: [any Command.Type] { get }
}

extension ManualCommand {
    package static var name: String { "manual" }
    package static var summary: String { "Write the manual pages of all commands." }
    package static var described: [any Command.Type] { program.commands }

    package static func run(_ arguments: [String]) async throws -> Int32 {
        guard let options = try table.parseOrHelp(arguments) else { return 0 }
        let folder = options.operands[0]
        do {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        } catch {
            throw CommandFailure("The directory \(folder) cannot be made: name another one.")
        }
        for (name, text) in pages { try FileText.write(text, to: "\(folder)/\(name).1", mode: 0o644) }
        Console.say("\(pages.count) manual pages are in \(folder).")
        return 0
    }

    /// The pages by their names: one for the program and one for each command, with its actions.
    package static var pages: [(name: String, text: String)] {
        let version = "postrider \(Program.version)"
        let program = program
        let names = described.map { "\(program.name)-\($0.name)" }
        let main = program.table.manualPage(version: version, actions: program.actions, others: names)
        return [(program.name, main)]
            + described.map { command in
                let page = command.table.manualPage(
                    version: version, actions: command.actionTables, others: [program.name])
                return ("\(program.name)-\(command.name)", page)
            }
    }

    package static var table: OptionTable {
        let program = program.name
        return OptionTable(
            command: "\(program) \(name)",
            summary: """
                Write a manual page for the program and for each command into a directory. The Debian \
                package installs them.
                """,
            operands: [.required("DIRECTORY")],
            examples: [
                .init(
                    "Read a page without installing it",
                    "\(program) manual pages && man pages/\(program)-completion.1")
            ]
        )
    }
}
