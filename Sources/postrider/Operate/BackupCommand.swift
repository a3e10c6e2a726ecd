import FoundationEssentials
import PostriderCommands
import PostriderOptions
import PostriderRelay

/// `postrider backup`: copies the store of a running relay.
enum BackupCommand: Command {
    static let name = "backup"
    static let summary = "Copy the store of a running relay."

    /// A limit that is far longer than copying any store takes.
    private static let timeoutSeconds = 6 * 3600

    static func run(_ arguments: [String]) async throws -> Int32 {
        guard let options = try table.parseOrHelp(arguments) else { return 0 }
        guard let named = options.operands.first, !named.isEmpty else {
            throw options.error("DIRECTORY is empty; name one that is not there yet")
        }
        let directory = URL(filePath: named, directoryHint: .notDirectory).standardizedFileURL.path
        let client = ControlClient(address: try ControlAddress.find(options))
        let body = try JSONEncoder().encode(Control.Backup(directory: directory))
        let answer = try await client.request(
            "PUT", "/v1/backup", body: Array(body), timeoutSeconds: timeoutSeconds)
        options.say(answer, "The store is copied to \(directory): a relay can be started with it.")
        return 0
    }

    static let table = OptionTable(
        command: "postrider backup",
        summary: """
            Copy the store of a running relay into a new directory on the relay's machine. The copy holds \
            everything that was answered with 200 and neither delivered nor given up when it was made: \
            devices, keys, topics and what waits for whom, all of one moment. To restore, start a relay with \
            the copy as its data directory.
            """,
        operands: [.required("DIRECTORY")],
        options: ControlAddress.folderOptions + [.flag("json", "Print the relay's answer, as JSON.")],
        examples: [
            .init(
                "Copy the store into a directory with the date of today",
                "postrider backup /var/backups/postrider-$(date +%F)"),
            .init(
                "Start a relay from the copy",
                "postrider serve --data-directory /var/backups/postrider-2026-11-21"),
        ]
    )
}
