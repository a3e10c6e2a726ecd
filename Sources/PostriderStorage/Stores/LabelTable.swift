package import PostriderNotifications

/// The table of the registry file for names and tags of devices.
struct LabelTable {
    private let putLabel: Statement
    private let removeLabel: Statement

    /// The migration that creates the table, and adds tags to enrolment keys. Tags are separated by spaces, which a
    /// tag cannot contain.
    static let schemaStep = """
        CREATE TABLE label (
            device BLOB PRIMARY KEY,
            name TEXT,
            is_given INTEGER NOT NULL,
            tags TEXT NOT NULL
        ) STRICT, WITHOUT ROWID;
        ALTER TABLE enrolment_key ADD COLUMN tags TEXT NOT NULL DEFAULT '';
        """

    init(_ database: Database) throws(StoreError) {
        putLabel = try database.prepare(
            """
            REPLACE INTO label SELECT ?1, ?2, ?3, ?4
            WHERE EXISTS (SELECT 1 FROM device WHERE identity = ?1)
            """)
        removeLabel = try database.prepare("DELETE FROM label WHERE device = ?")
    }

    func put(_ label: DeviceLabel) throws(StoreError) {
        putLabel.bind(label.device.inlineBytes.span)
        putLabel.bind(label.name?.text)
        putLabel.bind(label.isGiven ? 1 : 0)
        putLabel.bind(label.tags.map(\.text).joined(separator: " "))
        try putLabel.run()
    }

    func remove(_ device: DeviceIdentity) throws(StoreError) {
        removeLabel.bind(device.inlineBytes.span)
        try removeLabel.run()
    }
}

extension DeviceLabel {
    /// Reads the label of the current row; nil if a column has an invalid value.
    package init?(row: some ColumnReader) {
        let name = row.isNull(1) ? nil : DeviceName(row.text(1))
        guard let device = row.withBytes(0, { DeviceIdentity($0) }), row.isNull(1) || name != nil,
            let tags = DeviceTag.list(row.text(3))
        else { return nil }
        self.init(device: device, name: name, isGiven: row.integer(2) != 0, tags: tags)
    }
}
