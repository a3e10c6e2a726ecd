import PostriderCourier
import PostriderNotifications
import PostriderStorage

/// The local notifications of the device's apps: those that are pending, each with the moment at which it is due next,
/// and the last that were delivered or missed. An app has at most one of each kind with the same identifier.
final class NotificationSchedule {
    /// A notification that is pending.
    struct Entry {
        let row: Int64
        let app: Int64
        let notice: LocalNotice
    }

    private let database: Database
    private let insert: Statement
    private let countOthers: Statement
    private let move: Statement
    private let remove: Statement
    private let removeNamed: Statement
    private let removeAll: Statement
    private let removeOldest: Statement
    private let list: Statement
    private let first: Statement
    private let upTo: Statement
    private let after: Statement
    private let shift: Statement
    private let recall: Statement

    static let schemaStep = """
        ALTER TABLE inbox ADD COLUMN kind INTEGER NOT NULL DEFAULT 0;
        CREATE TABLE notices(
            row INTEGER PRIMARY KEY AUTOINCREMENT, app INTEGER NOT NULL, kind INTEGER NOT NULL,
            identifier TEXT NOT NULL, request BLOB NOT NULL, moment INTEGER NOT NULL,
            is_interval INTEGER NOT NULL
        ) STRICT;
        CREATE UNIQUE INDEX notice_identifiers ON notices(app, kind, identifier);
        CREATE INDEX notice_moments ON notices(kind, moment);
        CREATE TABLE centers(
            app INTEGER PRIMARY KEY, status INTEGER NOT NULL, asked INTEGER, categories BLOB NOT NULL
        ) STRICT;
        """

    private static let pendingKind = Int64(NoticeKind.pending.rawValue)

    init(_ database: Database) throws(StoreError) {
        self.database = database
        insert = try database.prepare(
            """
            INSERT OR REPLACE INTO notices(app, kind, identifier, request, moment, is_interval)
            VALUES (?, ?, ?, ?, ?, ?)
            """)
        countOthers = try database.prepare(
            "SELECT count(*) FROM notices WHERE app = ? AND kind = ? AND identifier <> ?")
        move = try database.prepare("UPDATE notices SET moment = ? WHERE row = ?")
        remove = try database.prepare("DELETE FROM notices WHERE row = ?")
        removeNamed = try database.prepare(
            "DELETE FROM notices WHERE app = ? AND kind = ? AND identifier = ?")
        removeAll = try database.prepare("DELETE FROM notices WHERE app = ? AND kind = ?")
        removeOldest = try database.prepare(
            """
            DELETE FROM notices WHERE row <= (
                SELECT row FROM notices WHERE app = ?1 AND kind = ?2 ORDER BY row DESC LIMIT 1 OFFSET ?3)
            AND app = ?1 AND kind = ?2
            """)
        list = try database.prepare(
            "SELECT row, app, request, moment FROM notices WHERE app = ? AND kind = ? ORDER BY moment, row")
        first = try database.prepare("SELECT min(moment) FROM notices WHERE kind = \(Self.pendingKind)")
        let entries = "SELECT row, app, request, moment FROM notices WHERE kind = \(Self.pendingKind)"
        upTo = try database.prepare(entries + " AND moment <= ? ORDER BY moment, row LIMIT ?")
        after = try database.prepare(entries + " AND moment > ?")
        let missed = NoticeKind.missed.rawValue
        shift = try database.prepare(
            """
            UPDATE notices SET moment = moment + ?
            WHERE kind IN (\(Self.pendingKind), \(missed)) AND is_interval = 1
            """)
        recall = try database.prepare(
            "UPDATE OR IGNORE notices SET kind = \(Self.pendingKind) WHERE kind = \(missed) AND moment > ?")
    }

    /// The moment at which the first notification is due; nil if none is pending.
    func firstMoment() throws(StoreError) -> Moment? {
        defer { first.reset() }
        guard try first.step(), !first.isNull(0) else { return nil }
        return Moment(milliseconds: first.integer(0))
    }

    /// The notifications that are due, the earliest first, at most this many.
    func due(at now: Moment, limit: Int) throws(StoreError) -> [Entry] {
        upTo.bind(now.milliseconds)
        upTo.bind(Int64(limit))
        return try entries(of: upTo)
    }

    /// The notifications that become due after a moment.
    func pending(after now: Moment) throws(StoreError) -> [Entry] {
        after.bind(now.milliseconds)
        return try entries(of: after)
    }

    /// The notifications of an app, ordered by their moments.
    func notices(of app: Int64, _ kind: NoticeKind) throws(StoreError) -> [LocalNotice] {
        list.bind(app)
        list.bind(Int64(kind.rawValue))
        return try entries(of: list).map(\.notice)
    }

    /// Whether an app has as many pending as allowed. One with this identifier is not counted, because it would be
    /// replaced.
    func isFull(_ app: Int64, for identifier: String) throws(StoreError) -> Bool {
        countOthers.bind(app)
        countOthers.bind(Self.pendingKind)
        countOthers.bind(identifier)
        var others: Int64 = 0
        while try countOthers.step() { others = countOthers.integer(0) }
        return others >= Int64(Limits.pendingPerTopic)
    }

    /// Adds a notification, in place of one of its kind with its identifier. If there are too many delivered or missed
    /// ones, the oldest are removed.
    func put(_ notice: LocalNotice, of app: Int64, as kind: NoticeKind) throws(StoreError) {
        var request: [UInt8] = []
        notice.request.encode(into: &request)
        var isInterval = false
        if case .interval = notice.request.trigger { isInterval = true }
        insert.bind(app)
        insert.bind(Int64(kind.rawValue))
        insert.bind(notice.request.identifier)
        insert.bind(request)
        insert.bind(notice.at.milliseconds)
        insert.bind(isInterval ? 1 : 0)
        try insert.run()
        guard kind != .pending else { return }
        removeOldest.bind(app)
        removeOldest.bind(Int64(kind.rawValue))
        removeOldest.bind(Int64(Limits.noticesPerTopic))
        try removeOldest.run()
    }

    /// Sets when a pending notification is due next; nil removes it.
    func move(_ entry: Entry, to moment: Moment?) throws(StoreError) {
        if let moment {
            move.bind(moment.milliseconds)
            move.bind(entry.row)
            try move.run()
        } else {
            remove.bind(entry.row)
            try remove.run()
        }
    }

    /// Moves interval triggers, pending or missed, along with a clock that was set.
    func shiftIntervals(byMilliseconds milliseconds: Int64) throws(StoreError) {
        shift.bind(milliseconds)
        try shift.run()
    }

    /// Makes missed notifications pending again that are not due by the corrected clock; unless their app has another
    /// pending one with the identifier.
    func recallMissed(after now: Moment) throws(StoreError) {
        recall.bind(now.milliseconds)
        try recall.run()
    }

    /// Removes notifications of an app.
    func remove(
        _ identifiers: CenterOrder.Identifiers, of app: Int64, _ kind: NoticeKind
    ) throws(StoreError) {
        switch identifiers {
        case .all:
            removeAll.bind(app)
            removeAll.bind(Int64(kind.rawValue))
            try removeAll.run()
        case .some(let identifiers):
            for identifier in identifiers {
                removeNamed.bind(app)
                removeNamed.bind(Int64(kind.rawValue))
                removeNamed.bind(identifier)
                try removeNamed.run()
            }
        }
    }

    private func entries(of statement: Statement) throws(StoreError) -> [Entry] {
        var entries: [Entry] = []
        defer { statement.reset() }
        while try statement.step() {
            let request = statement.withBytes(2) { bytes in try? LocalRequest(decoding: bytes) }
            guard let request else {
                throw StoreError(
                    .unusable,
                    "\(database.path) is damaged (notice \(statement.integer(0))): put a backup in its place."
                )
            }
            entries.append(
                Entry(
                    row: statement.integer(0), app: statement.integer(1),
                    notice: LocalNotice(
                        request: request, at: Moment(milliseconds: statement.integer(3)))))
        }
        return entries
    }
}
