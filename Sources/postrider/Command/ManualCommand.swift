import FoundationEssentials
import PostriderOptions

/// `postrider manual`: the manual pages of this program.
enum ManualCommand: Command {
    static let name = "manual"
    static let summary = "Write the manual pages of all commands."

    static func run(_ arguments: [String]) async throws -> Int32 {
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
    static var pages: [(name: String, text: String)] {
        let version = "postrider \(Commands.version)"
        let names = Commands.all.map { "postrider-\($0.name)" }
        let main = Commands.table.manualPage(version: version, others: names)
        return [("postrider", main)]
            + Commands.all.map { command in
                let page = command.table.manualPage(
                    version: version, actions: command.actionTables, others: ["postrider"])
                return ("postrider-\(command.name)", page)
            }
    }

    static let table = OptionTable(
        command: "postrider manual",
        summary: """
            Write a manual page for the program and for each command into a directory. The Debian package \
            installs them; 'man postrider-send' shows one.
            """,
        operands: [.required("DIRECTORY")],
        examples: [
            .init("Read a page without installing it", "postrider manual pages && man pages/postrider-send.1")
        ]
    )
}
