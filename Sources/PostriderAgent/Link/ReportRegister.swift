import PostriderCourier
import PostriderNotifications
import PostriderStorage

/// The reports that say what became of notifications in the end, until the relay has confirmed them: a table on the
/// disk, so that neither a lost link nor a restart of the agent loses them.
final class ReportRegister {
    /// A report and its row. Rows only grow, also after all of them were removed.
    struct Entry {
        let row: Int64
        let event: Report.Event
    }

    private let database: Database
    private let insert: Statement
    private let list: Statement
    private let delete: Statement

    static let schemaStep = """
        CREATE TABLE reports(
            row INTEGER PRIMARY KEY AUTOINCREMENT, push BLOB NOT NULL, kind INTEGER NOT NULL,
            other INTEGER NOT NULL, at INTEGER NOT NULL, text TEXT NOT NULL
        ) STRICT;
        """

    /// The migration that adds for how long the app had it, which is not known of earlier reports.
    static let tookStep = "ALTER TABLE reports ADD COLUMN took INTEGER NOT NULL DEFAULT 0"

    init(_ database: Database) throws(StoreError) {
        self.database = database
        insert = try database.prepare(
            "INSERT INTO reports(push, kind, other, at, text, took) VALUES (?, ?, ?, ?, ?, ?) RETURNING row")
        list = try database.prepare(
            "SELECT row, push, kind, other, at, text, took FROM reports WHERE row > ? ORDER BY row LIMIT ?")
        delete = try database.prepare("DELETE FROM reports WHERE row <= ?")
    }

    /// Stores reports, within a transaction of the caller. Above ``Limits/reportsKept`` the oldest are removed.
    func keep(_ events: [Report.Event]) throws(StoreError) {
        var last: Int64 = 0
        for event in events {
            insert.bind(ReportedPush(identity: event.identity, push: event.push).bytes)
            insert.bind(Int64(event.kind.rawValue))
            insert.bind(Int64(bitPattern: event.other))
            insert.bind(event.moment.milliseconds)
            insert.bind(event.text)
            insert.bind(Int64(clamping: event.tookMilliseconds))
            while try insert.step() { last = insert.integer(0) }
        }
        if last > Int64(Limits.reportsKept) { try remove(upTo: last - Int64(Limits.reportsKept)) }
    }

    /// The reports after a row, in order.
    func entries(after row: Int64, atMost count: Int) throws(StoreError) -> [Entry] {
        list.bind(row)
        list.bind(Int64(count))
        defer { list.reset() }
        var entries: [Entry] = []
        while try list.step() {
            guard let push = ReportedPush(bytes: list.bytes(1)),
                let kind = Report.Kind(rawValue: UInt32(truncatingIfNeeded: list.integer(2)))
            else {
                throw StoreError(
                    .unusable,
                    "\(database.path) is damaged (report \(list.integer(0))): put a backup in its place.")
            }
            let event = Report.Event(
                kind, of: push.identity, push: push.push, other: UInt64(bitPattern: list.integer(3)),
                at: Moment(milliseconds: list.integer(4)),
                tookMilliseconds: UInt64(clamping: list.integer(6)), text: list.text(5))
            entries.append(Entry(row: list.integer(0), event: event))
        }
        return entries
    }

    /// Removes the reports up to a row, within a transaction of the caller or as one.
    func remove(upTo row: Int64) throws(StoreError) {
        delete.bind(row)
        try delete.run()
    }
}
