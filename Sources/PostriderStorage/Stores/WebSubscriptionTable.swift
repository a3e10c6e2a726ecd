package import PostriderNotifications

/// The table of the registry file for subscriptions of Web Push.
struct WebSubscriptionTable {
    private let putSubscription: Statement
    private let removeSubscriptions: Statement

    /// The migration that creates the table.
    static let schemaStep = """
        CREATE TABLE web_subscription (
            device BLOB NOT NULL,
            number INTEGER NOT NULL,
            channel TEXT NOT NULL,
            sender_key BLOB,
            PRIMARY KEY (device, number)
        ) STRICT, WITHOUT ROWID;
        """

    init(_ database: Database) throws(StoreError) {
        putSubscription = try database.prepare(
            """
            REPLACE INTO web_subscription SELECT ?1, ?2, ?3, ?4
            WHERE EXISTS (SELECT 1 FROM device WHERE identity = ?1)
            """)
        removeSubscriptions = try database.prepare("DELETE FROM web_subscription WHERE device = ?")
    }

    func put(_ subscription: WebSubscription) throws(StoreError) {
        putSubscription.bind(subscription.device.inlineBytes.span)
        putSubscription.bind(Int64(subscription.number.value))
        putSubscription.bind(subscription.channel)
        if let key = subscription.senderKey { putSubscription.bind(key) } else { putSubscription.bindNull() }
        try putSubscription.run()
    }

    func remove(_ device: DeviceIdentity) throws(StoreError) {
        removeSubscriptions.bind(device.inlineBytes.span)
        try removeSubscriptions.run()
    }
}

extension WebSubscription {
    /// Reads the subscription of the current row; nil if a column has an invalid value.
    package init?(row: some ColumnReader) {
        guard let device = row.withBytes(0, { DeviceIdentity($0) }),
            let number = UInt32(exactly: row.integer(1))
        else { return nil }
        self.init(
            device: device, number: RegistrationNumber(number), channel: row.text(2),
            senderKey: row.isNull(3) ? nil : row.bytes(3))
    }
}
