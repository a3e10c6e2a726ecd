import PostriderNotifications

/// The table of the queue's file for trace contexts. They are not in the table of notifications, where each row of a
/// push without one would be larger.
struct TraceContextTable {
    private let database: Database
    private let insert: Statement
    private let delete: Statement
    /// Whether there may be a row.
    private var hasRows = false

    /// The migration that creates the table.
    static let schemaStep =
        "CREATE TABLE trace_context (row INTEGER PRIMARY KEY, context TEXT NOT NULL) STRICT;"

    init(_ database: Database) throws(StoreError) {
        self.database = database
        insert = try database.prepare("REPLACE INTO trace_context VALUES (?,?)")
        delete = try database.prepare("DELETE FROM trace_context WHERE row = ?")
        try reload()
    }

    /// Looks again whether there is a row, because those of a failed commit may exist nevertheless.
    mutating func reload() throws(StoreError) {
        hasRows = try database.number("SELECT EXISTS (SELECT 1 FROM trace_context)") != 0
    }

    /// Adds the context of a notification in the current transaction.
    mutating func add(_ context: TraceContext, of row: QueueRow) throws(StoreError) {
        insert.bind(row.value)
        insert.bind(context.text)
        hasRows = true
        try insert.run()
    }

    /// Removes the contexts of these notifications in the current transaction. It costs nothing if there is none.
    mutating func remove(_ rows: some Collection<QueueRow>) throws(StoreError) {
        guard hasRows, !rows.isEmpty else { return }
        for row in rows {
            delete.bind(row.value)
            try delete.run()
        }
        try reload()
    }
}
