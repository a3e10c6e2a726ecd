package import PostriderNotifications

/// The file of queued notifications: one table, to which rows are appended by number, without any other index, so
/// that a batch of appends changes one or two pages. The relay's memory has the index from devices to rows.
///
/// The last row ever used is the greater of the greatest existing row and the mark. The mark is written only by a
/// batch that removes the greatest row, so appending does not pay for it.
final class QueueFile: DatabaseFile {
    let database: Database
    private let insert: Statement
    private let delete: Statement
    private let select: Statement
    private let mark: Statement
    private let receipts: ReceiptTable
    private var traceContexts: TraceContextTable
    /// The last row ever used, as far as it is committed.
    private var lastRow: Int64

    private static let schema = Schema(
        applicationIdentifier: 0x5052_5155,  // "PRQU"
        steps: [
            """
            CREATE TABLE queue (
                row INTEGER PRIMARY KEY,
                device BLOB NOT NULL,
                registration INTEGER NOT NULL,
                priority INTEGER NOT NULL,
                expires_at INTEGER NOT NULL,
                identity BLOB NOT NULL,
                collapse_identifier TEXT,
                topic TEXT NOT NULL,
                push_type TEXT,
                accepted_at INTEGER NOT NULL,
                payload BLOB NOT NULL
            ) STRICT;
            CREATE TABLE mark (last_row INTEGER NOT NULL) STRICT;
            INSERT INTO mark VALUES (0);
            """,
            ReceiptTable.schemaStep,
            TraceContextTable.schemaStep,
        ]
    )

    /// The columns of a ``QueueEntry`` come before the payload, so the scan at start reads no payloads.
    private static let columns = """
        row, device, registration, priority, expires_at, identity, collapse_identifier, \
        topic, push_type, accepted_at, payload
        """

    init(path: String) throws(StoreError) {
        database = try Database(path: path, schema: Self.schema)
        insert = try database.prepare("INSERT INTO queue (\(Self.columns)) VALUES (?,?,?,?,?,?,?,?,?,?,?)")
        delete = try database.prepare("DELETE FROM queue WHERE row = ?")
        select = try database.prepare(
            "SELECT \(Self.columns), context FROM queue LEFT JOIN trace_context USING (row) WHERE row = ?")
        mark = try database.prepare("UPDATE mark SET last_row = ?")
        receipts = try ReceiptTable(database)
        traceContexts = try TraceContextTable(database)
        lastRow = try Self.lastRow(in: database)
    }

    /// Returns all receipts in the order of rows.
    func loadReceipts() throws(StoreError) -> [Receipt] { try receipts.load() }

    /// Reads the last row again, because rows of a failed commit may exist nevertheless, and then they count.
    func reload() throws(StoreError) {
        lastRow = try Self.lastRow(in: database)
        try traceContexts.reload()
    }

    private static func lastRow(in database: Database) throws(StoreError) -> Int64 {
        max(
            try database.number("SELECT max(row) FROM queue"),
            try database.number("SELECT last_row FROM mark")
        )
    }

    func scan(_ visit: (QueueEntry) -> Void) throws(StoreError) -> QueueRow {
        let statement = try database.prepare(
            """
            SELECT row, device, registration, priority, expires_at, identity, collapse_identifier, accepted_at
            FROM queue ORDER BY row
            """
        )
        defer { statement.reset() }
        while try statement.step() {
            guard let entry = QueueEntry(row: statement) else { throw damage(row: statement.integer(0)) }
            visit(entry)
        }
        return QueueRow(lastRow)
    }

    func commit(_ batch: QueueBatch) throws(StoreError) {
        guard !batch.isEmpty else { return }
        var last = lastRow
        for queued in batch.enqueued { last = max(last, queued.row.value) }
        let removesLast = last == lastRow && batch.settled.contains(QueueRow(lastRow))
        try database.transaction { () throws(StoreError) in
            for row in batch.settled {
                delete.bind(row.value)
                try delete.run()
            }
            try traceContexts.remove(batch.settled)
            for queued in batch.enqueued { try append(queued) }
            for change in batch.receipts { try receipts.apply(change) }
            if removesLast {
                mark.bind(lastRow)
                try mark.run()
            }
        }
        lastRow = last
    }

    private func append(_ queued: QueuedNotification) throws(StoreError) {
        let notification = queued.notification
        guard case .at(let expiresAt) = notification.expiration else {
            preconditionFailure("a notification that is never stored has no row")
        }
        precondition(queued.row.value > 0, "rows are counted from 1")
        insert.bind(queued.row.value)
        insert.bind(notification.device.inlineBytes.span)
        insert.bind(Int64(notification.registration.value))
        insert.bind(Int64(notification.priority.rawValue))
        insert.bind(expiresAt.milliseconds)
        insert.bind(notification.identity.inlineBytes.span)
        insert.bind(notification.collapseIdentifier)
        insert.bind(notification.topic.text)
        insert.bind(notification.pushType?.rawValue)
        insert.bind(notification.acceptedAt.milliseconds)
        insert.bind(notification.payload)
        try insert.run()
        if let context = notification.traceContext { try traceContexts.add(context, of: queued.row) }
    }

    func read(_ rows: [QueueRow]) throws(StoreError) -> [QueuedNotification] {
        defer { select.reset() }
        var found: [QueuedNotification] = []
        found.reserveCapacity(rows.count)
        for row in rows {
            select.bind(row.value)
            guard try select.step() else { continue }
            guard let notification = Notification(row: select) else { throw damage(row: row.value) }
            found.append(QueuedNotification(row: row, notification: notification))
            select.reset()
        }
        return found
    }

    /// Returns those of these rows that exist.
    func present(_ rows: [QueueRow]) throws(StoreError) -> [QueueRow] {
        guard !rows.isEmpty else { return [] }
        let statement = try database.prepare("SELECT 1 FROM queue WHERE row = ?")
        var present: [QueueRow] = []
        for row in rows {
            statement.bind(row.value)
            if try statement.step() { present.append(row) }
            statement.reset()
        }
        return present
    }

    private func damage(row: Int64) -> StoreError {
        StoreError(
            .unusable, "\(database.path) is damaged (row \(row) cannot be read): put a backup in its place.")
    }
}

extension QueueEntry {
    /// Reads the entry of the current row; nil if a column has an invalid value.
    package init?(row: some ColumnReader) {
        guard let device = row.withBytes(1, { DeviceIdentity($0) }),
            let registration = UInt32(exactly: row.integer(2)),
            let priority = UInt8(exactly: row.integer(3)).flatMap(Priority.init(rawValue:)),
            let identity = row.withBytes(5, { NotificationIdentity($0) })
        else { return nil }
        let number = RegistrationNumber(registration)
        self.init(
            row: QueueRow(row.integer(0)),
            device: device,
            registration: number,
            slot: row.isNull(6) ? .identity(number, identity) : .collapse(number, row.bytes(6)),
            priority: priority,
            acceptedAt: Moment(milliseconds: row.integer(7)),
            expiresAt: Moment(milliseconds: row.integer(4))
        )
    }
}

extension Notification {
    /// Reads the notification of the current row; nil if a column has an invalid value.
    package convenience init?(row: some ColumnReader) {
        let pushType = row.isNull(8) ? nil : PushType(rawValue: row.text(8))
        guard let device = row.withBytes(1, { DeviceIdentity($0) }),
            let registration = UInt32(exactly: row.integer(2)),
            let priority = UInt8(exactly: row.integer(3)).flatMap(Priority.init(rawValue:)),
            let identity = row.withBytes(5, { NotificationIdentity($0) }),
            let topic = Topic(row.text(7)),
            row.isNull(8) || pushType != nil
        else { return nil }
        self.init(
            identity: identity,
            device: device,
            registration: RegistrationNumber(registration),
            topic: topic,
            pushType: pushType,
            priority: priority,
            expiration: .at(Moment(milliseconds: row.integer(4))),
            collapseIdentifier: row.isNull(6) ? nil : row.text(6),
            payload: row.bytes(10),
            acceptedAt: Moment(milliseconds: row.integer(9)),
            traceContext: row.isNull(11) ? nil : TraceContext(text: row.text(11))
        )
    }
}
