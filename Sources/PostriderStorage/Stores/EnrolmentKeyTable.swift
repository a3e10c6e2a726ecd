package import PostriderNotifications

/// The table of the registry file for the keys with which devices enrol.
struct EnrolmentKeyTable {
    private let putKey: Statement
    private let removeKey: Statement
    private let isUsedUp: Statement
    private let countUse: Statement

    /// The migration that adds the bounds of a key. Existing keys have none.
    static let schemaStep = """
        ALTER TABLE enrolment_key ADD COLUMN ends_at INTEGER;
        ALTER TABLE enrolment_key ADD COLUMN uses INTEGER;
        ALTER TABLE enrolment_key ADD COLUMN used INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE enrolment_key ADD COLUMN name_pattern TEXT;
        """

    init(_ database: Database) throws(StoreError) {
        putKey = try database.prepare("REPLACE INTO enrolment_key VALUES (?,?,?,?,?,?,?,?)")
        removeKey = try database.prepare("DELETE FROM enrolment_key WHERE name = ?")
        // A device that exists was counted when it was added.
        let ofNewDevice = "digest = ?1 AND NOT EXISTS (SELECT 1 FROM device WHERE identity = ?2)"
        isUsedUp = try database.prepare("SELECT 1 FROM enrolment_key WHERE used >= uses AND \(ofNewDevice)")
        countUse = try database.prepare("UPDATE enrolment_key SET used = used + 1 WHERE \(ofNewDevice)")
    }

    func put(_ record: EnrolmentKeyRecord) throws(StoreError) {
        putKey.bind(record.name)
        putKey.bind(record.digest)
        putKey.bind(record.addedAt.milliseconds)
        putKey.bind(record.tags.map(\.text).joined(separator: " "))
        putKey.bind(record.endsAt?.milliseconds)
        putKey.bind(record.uses.map(Int64.init))
        putKey.bind(Int64(record.used))
        putKey.bind(record.namePattern)
        try putKey.run()
    }

    func remove(_ name: String) throws(StoreError) {
        removeKey.bind(name)
        try removeKey.run()
    }

    func use(_ digest: [UInt8], by device: DeviceIdentity) throws(StoreError) {
        isUsedUp.bind(digest)
        isUsedUp.bind(device.inlineBytes.span)
        let hasNone = try isUsedUp.step()
        isUsedUp.reset()
        guard !hasNone else { throw .usedUp }
        countUse.bind(digest)
        countUse.bind(device.inlineBytes.span)
        try countUse.run()
    }
}

extension EnrolmentKeyRecord {
    /// Reads the key of the current row; nil if a column has an invalid value.
    package init?(row: some ColumnReader) {
        guard let tags = DeviceTag.list(row.text(3)) else { return nil }
        self.init(
            name: row.text(0), digest: row.bytes(1), addedAt: Moment(milliseconds: row.integer(2)),
            tags: tags, endsAt: row.isNull(4) ? nil : Moment(milliseconds: row.integer(4)),
            uses: row.isNull(5) ? nil : Int(row.integer(5)), used: Int(row.integer(6)),
            namePattern: row.isNull(7) ? nil : row.text(7))
    }
}
