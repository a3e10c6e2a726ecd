import PostriderNotifications
import PostriderStorage

/// The processes of apps that the agent has started and that have not ended: a table on the disk, so that the next
/// agent can take over what a killed one left running.
final class ProcessRegister {
    /// A process, identified by its number and its start time.
    struct Record: Equatable {
        let identifier: Int32
        let startedAt: UInt64
        /// Whether its app is in the foreground.
        var isActive: Bool
    }

    /// All processes by topic.
    private(set) var records: [String: Record] = [:]
    private let database: Database
    private let insert: Statement
    private let delete: Statement

    static let schemaStep = """
        CREATE TABLE processes(
            topic TEXT PRIMARY KEY, process INTEGER NOT NULL, started_at INTEGER NOT NULL,
            is_active INTEGER NOT NULL
        ) STRICT;
        """

    init(_ database: Database) throws(StoreError) {
        self.database = database
        insert = try database.prepare("INSERT OR REPLACE INTO processes VALUES (?, ?, ?, ?)")
        delete = try database.prepare("DELETE FROM processes WHERE topic = ?")
        try load()
    }

    /// Reads the table.
    func load() throws(StoreError) {
        records = [:]
        let all = try database.prepare("SELECT topic, process, started_at, is_active FROM processes")
        while try all.step() {
            records[all.text(0)] = Record(
                identifier: Int32(truncatingIfNeeded: all.integer(1)),
                startedAt: UInt64(bitPattern: all.integer(2)), isActive: all.integer(3) != 0)
        }
    }

    /// Sets the process of an app; nil if it has none.
    func put(_ record: Record?, of topic: String) throws(StoreError) {
        guard records[topic] != record else { return }
        if let record {
            insert.bind(topic)
            insert.bind(Int64(record.identifier))
            insert.bind(Int64(bitPattern: record.startedAt))
            insert.bind(record.isActive ? 1 : 0)
            try insert.run()
        } else {
            delete.bind(topic)
            try delete.run()
        }
        records[topic] = record
    }
}
