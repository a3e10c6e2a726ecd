import PostriderNotifications
import PostriderStorage

/// Notifications that were handed over as often as allowed and never handled. The owner of the device sees them, and
/// has them tried again or dropped.
final class DeadLetters {
    /// One of them.
    struct Entry {
        /// Its row, which is the one that it had in the inbox.
        let row: Int64
        let app: Int64
        let parcel: InboxContent
        let attempts: Int
        /// Why the last attempt failed.
        let reason: String
        let diedAt: Moment
    }

    private let database: Database
    private let count: Statement
    private let bury: Statement
    private let removeFromInbox: Statement
    private let bound: Statement
    private let list: Statement
    private let find: Statement
    private let look: Statement
    private let revive: Statement
    private let remove: Statement

    static let schemaStep = """
        ALTER TABLE inbox ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;
        CREATE TABLE dead_letters(
            row INTEGER PRIMARY KEY, app INTEGER NOT NULL, priority INTEGER NOT NULL, message BLOB NOT NULL,
            kind INTEGER NOT NULL, attempts INTEGER NOT NULL, reason TEXT NOT NULL, died_at INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX dead_letter_apps ON dead_letters(app);
        """

    init(_ database: Database) throws(StoreError) {
        self.database = database
        count = try database.prepare(
            "UPDATE inbox SET attempts = attempts + 1 WHERE row = ? RETURNING attempts, app")
        bury = try database.prepare(
            """
            INSERT INTO dead_letters(row, app, priority, message, kind, collapse, attempts, reason, died_at)
            SELECT row, app, priority, message, kind, collapse, attempts, ?2, ?3 FROM inbox WHERE row = ?1
            """)
        removeFromInbox = try database.prepare("DELETE FROM inbox WHERE row = ?")
        bound = try database.prepare(
            """
            DELETE FROM dead_letters WHERE app = ?1 AND row IN (
                SELECT row FROM dead_letters WHERE app = ?1
                ORDER BY died_at DESC, row DESC LIMIT -1 OFFSET ?2)
            """)
        list = try database.prepare(
            "SELECT row, app, message, kind, attempts, reason, died_at FROM dead_letters ORDER BY row")
        find = try database.prepare("SELECT app FROM dead_letters WHERE row = ?")
        revive = try database.prepare(
            """
            INSERT INTO inbox(row, app, priority, message, kind, collapse)
            SELECT row, app, priority, message, kind, collapse FROM dead_letters WHERE row = ?
            """)
        remove = try database.prepare("DELETE FROM dead_letters WHERE row = ?")
        look = try database.prepare("SELECT attempts FROM inbox WHERE row = ?")
    }

    /// How often the notification in a row has failed.
    func attempts(at row: Int64) throws(StoreError) -> Int {
        look.bind(row)
        var attempts = 0
        while try look.step() { attempts = Int(look.integer(0)) }
        return attempts
    }

    /// Counts a failure, within a transaction of the caller. Returns how often the row's notification has failed, and
    /// whether it became a dead letter; nil if there is no such row.
    func fail(
        _ row: Int64, reason: String, mostAttempts: Int, now: Moment
    ) throws(StoreError) -> (attempts: Int, isDead: Bool)? {
        count.bind(row)
        var found: (attempts: Int, app: Int64)?
        while try count.step() { found = (Int(count.integer(0)), count.integer(1)) }
        guard let found else { return nil }
        guard found.attempts >= mostAttempts else { return (found.attempts, false) }
        bury.bind(row)
        bury.bind(String(decoding: reason.utf8.prefix(Limits.reasonBytes), as: UTF8.self))
        bury.bind(now.milliseconds)
        try bury.run()
        removeFromInbox.bind(row)
        try removeFromInbox.run()
        bound.bind(found.app)
        bound.bind(Int64(Limits.deadLettersPerTopic))
        try bound.run()
        return (found.attempts, true)
    }

    /// All dead letters, in the order in which the notifications arrived.
    func entries() throws(StoreError) -> [Entry] {
        var entries: [Entry] = []
        defer { list.reset() }
        while try list.step() {
            let kind = list.integer(3)
            let parcel = list.withBytes(2) { bytes in try? InboxContent(kind: kind, decoding: bytes) }
            guard let parcel else {
                throw StoreError(
                    .unusable,
                    "\(database.path) is damaged (dead letter \(list.integer(0))): put a backup in its place."
                )
            }
            entries.append(
                Entry(
                    row: list.integer(0), app: list.integer(1), parcel: parcel,
                    attempts: Int(list.integer(4)), reason: list.text(5),
                    diedAt: Moment(milliseconds: list.integer(6))))
        }
        return entries
    }

    /// Moves a dead letter back to its place in the inbox, as if it had never failed. Returns its app's number; nil if
    /// there is none of this row.
    func retry(_ row: Int64) throws(StoreError) -> Int64? {
        guard let app = try app(of: row) else { return nil }
        try database.transaction { () throws(StoreError) in
            revive.bind(row)
            try revive.run()
            remove.bind(row)
            try remove.run()
        }
        return app
    }

    /// Drops a dead letter. Returns false if there is none of this row.
    func drop(_ row: Int64) throws(StoreError) -> Bool {
        guard try app(of: row) != nil else { return false }
        remove.bind(row)
        try remove.run()
        return true
    }

    private func app(of row: Int64) throws(StoreError) -> Int64? {
        find.bind(row)
        var app: Int64?
        while try find.step() { app = find.integer(0) }
        return app
    }
}
