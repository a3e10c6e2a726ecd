import FoundationEssentials
import PostriderCommands
import PostriderNotifications
import PostriderOptions
import PostriderPostgres
import PostriderStorage

/// `postrider move`: copies a store from files into a database, or back.
enum MoveCommand: Command {
    static let name = "move"
    static let summary = "Copy a relay's store from files into a database, or back."

    static func run(_ arguments: [String]) async throws -> Int32 {
        guard let options = try table.parseOrHelp(arguments) else { return 0 }
        let (from, to) = (try End("from", options), try End("to", options))
        guard from.text != to.text else { throw options.error("--from and --to are the same place") }
        try from.requireStore()
        let source = try from.open()
        let target = try to.open()
        defer {
            source.close()
            target.close()
        }
        let copied = try source.copy(to: target, named: to.name)
        options.say(
            Array("{}".utf8),
            "\(copied.registry.devices.count) devices and \(copied.notifications) notifications that wait, "
                + "with all keys and topics, are copied to \(to.name): start the relay with it, and keep "
                + "\(from.name) until that has worked.")
        return 0
    }

    /// One end of the move.
    private struct End {
        let text: String
        /// Nil for a directory.
        let database: DatabaseAddress?
        let acceptsLosses: Bool
        /// Its name without a password.
        var name: String { database?.description ?? text }

        init(_ option: String, _ options: ParsedOptions) throws {
            guard let text = options.string(option), !text.isEmpty else {
                throw options.error("--\(option) is missing: name a data directory or a database")
            }
            self.text = text
            acceptsLosses = options.isSet(Setting.acceptLosses.rawValue)
            database = DatabaseAddress(text)
            guard database != nil || !text.contains("://") else {
                throw options.error("--\(option) \(DatabaseAddress.form)")
            }
        }

        /// Refuses a directory without a store, because opening it would make an empty one.
        func requireStore() throws {
            guard database == nil, !FileManager.default.fileExists(atPath: text + "/registry.sqlite") else {
                return
            }
            throw CommandFailure("\(text) has no store: name the data directory of a relay.")
        }

        func open() throws(StoreError) -> any Store {
            guard let database else { return try SQLiteStore(directory: text, log: .none) }
            return try PostgresStore(database, acceptsLosses: acceptsLosses, log: .none)
        }
    }

    static let table = OptionTable(
        command: "postrider move",
        summary: """
            Copy everything in a relay's store (devices, keys, topics, channels, and what waits for whom) \
            from the files of a data directory into a PostgreSQL database, or back. End the relay first. \
            Tokens and devices stay valid, and nothing is removed where it was. The place to copy to must be \
            one in which no relay has run.
            """,
        options: [
            .value("from", "DIRECTORY|postgresql://…", "The data directory or the database to copy."),
            .value("to", "DIRECTORY|postgresql://…", "The new data directory, or the empty database."),
            .flag(
                Setting.acceptLosses.rawValue,
                "Use a database that may lose what it has committed."),
            .flag("json", "Print {} at the end, as JSON."),
        ],
        examples: [
            .init(
                "Copy the store of files into a database",
                "postrider move --from /var/lib/postrider --to postgresql://postrider@db.example/postrider"),
            .init(
                "Copy it back into new files",
                "postrider move --from postgresql://postrider@db.example/postrider --to /var/lib/postrider"
            ),
        ]
    )
}
