package import PostriderNotifications

/// The table of the queue's file for receipts of Web Push. It is in this file so that a receipt is written in the
/// transaction that removes its message.
struct ReceiptTable {
    private let database: Database
    private let putReceipt: Statement
    private let removeReceipt: Statement

    /// The migration that creates the table.
    static let schemaStep = """
        CREATE TABLE receipt (
            row INTEGER PRIMARY KEY,
            device BLOB NOT NULL,
            registration INTEGER NOT NULL,
            subscription BLOB NOT NULL,
            expires_at INTEGER NOT NULL,
            outcome INTEGER
        ) STRICT;
        """

    init(_ database: Database) throws(StoreError) {
        self.database = database
        putReceipt = try database.prepare("REPLACE INTO receipt VALUES (?,?,?,?,?,?)")
        removeReceipt = try database.prepare("DELETE FROM receipt WHERE row = ?")
    }

    /// Makes a change in the current transaction.
    func apply(_ change: ReceiptChange) throws(StoreError) {
        switch change {
        case .put(let receipt):
            putReceipt.bind(receipt.row.value)
            putReceipt.bind(receipt.device.inlineBytes.span)
            putReceipt.bind(Int64(receipt.registration.value))
            putReceipt.bind(receipt.subscription.identity.inlineBytes.span)
            putReceipt.bind(receipt.expiresAt.milliseconds)
            putReceipt.bind(receipt.outcome?.rawValue)
            try putReceipt.run()
        case .remove(let row):
            removeReceipt.bind(row.value)
            try removeReceipt.run()
        }
    }

    /// Returns all receipts in the order of rows.
    func load() throws(StoreError) -> [Receipt] {
        let statement = try database.prepare("SELECT * FROM receipt ORDER BY row")
        defer { statement.reset() }
        var receipts: [Receipt] = []
        while try statement.step() {
            guard let receipt = Receipt(row: statement) else {
                throw StoreError(
                    .unusable,
                    "\(database.path) is damaged (receipt \(statement.integer(0)) cannot be read): "
                        + "put a backup in its place.")
            }
            receipts.append(receipt)
        }
        return receipts
    }
}

extension Receipt {
    /// Reads the receipt of the current row; nil if a column has an invalid value.
    package init?(row: some ColumnReader) {
        let outcome = row.isNull(5) ? nil : Outcome(rawValue: row.integer(5))
        guard let device = row.withBytes(1, { DeviceIdentity($0) }),
            let registration = UInt32(exactly: row.integer(2)),
            let subscription = row.withBytes(3, { DeviceIdentity($0) }),
            row.isNull(5) || outcome != nil
        else { return nil }
        self.init(
            row: QueueRow(row.integer(0)), device: device, registration: RegistrationNumber(registration),
            subscription: ReceiptSubscription(subscription), expiresAt: Moment(milliseconds: row.integer(4)),
            outcome: outcome)
    }
}
