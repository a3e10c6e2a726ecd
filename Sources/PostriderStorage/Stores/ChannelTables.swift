package import PostriderNotifications

/// The tables of the registry file for channels and their stored broadcasts.
struct ChannelTables {
    private let putChannel: Statement
    private let removeChannel: Statement
    private let putBroadcast: Statement
    private let removeBroadcast: Statement

    /// The migration that creates the tables. Topics that existed before it accept broadcasts.
    static let schemaStep = """
        ALTER TABLE topic ADD COLUMN takes_broadcasts INTEGER NOT NULL DEFAULT 1;
        CREATE TABLE channel (
            identity BLOB PRIMARY KEY,
            topic TEXT NOT NULL,
            environment TEXT NOT NULL,
            storage INTEGER NOT NULL,
            created_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE broadcast (
            channel BLOB PRIMARY KEY,
            identity BLOB NOT NULL,
            topic TEXT NOT NULL,
            payload BLOB NOT NULL,
            priority INTEGER NOT NULL,
            expires_at INTEGER NOT NULL,
            push_type TEXT NOT NULL,
            accepted_at INTEGER NOT NULL
        ) STRICT;
        """

    init(_ database: Database) throws(StoreError) {
        putChannel = try database.prepare("REPLACE INTO channel VALUES (?,?,?,?,?)")
        removeChannel = try database.prepare("DELETE FROM channel WHERE identity = ?")
        putBroadcast = try database.prepare(
            """
            REPLACE INTO broadcast SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8
            WHERE EXISTS (SELECT 1 FROM channel WHERE identity = ?1)
            """)
        removeBroadcast = try database.prepare("DELETE FROM broadcast WHERE channel = ?")
    }

    func put(_ record: ChannelRecord) throws(StoreError) {
        putChannel.bind(record.identity.inlineBytes.span)
        putChannel.bind(record.owner.topic.text)
        putChannel.bind(record.owner.environment.rawValue)
        putChannel.bind(Int64(record.storage.rawValue))
        putChannel.bind(record.createdAt.milliseconds)
        try putChannel.run()
    }

    func remove(_ channel: ChannelIdentity) throws(StoreError) {
        try removeBroadcast(of: channel)
        removeChannel.bind(channel.inlineBytes.span)
        try removeChannel.run()
    }

    func put(_ broadcast: Broadcast) throws(StoreError) {
        guard case .at(let moment) = broadcast.expiration else {
            preconditionFailure("a broadcast that is now or never is not kept")
        }
        putBroadcast.bind(broadcast.channel.inlineBytes.span)
        putBroadcast.bind(broadcast.identity.inlineBytes.span)
        putBroadcast.bind(broadcast.topic.text)
        putBroadcast.bind(broadcast.payload)
        putBroadcast.bind(Int64(broadcast.priority.rawValue))
        putBroadcast.bind(moment.milliseconds)
        putBroadcast.bind(broadcast.pushType.rawValue)
        putBroadcast.bind(broadcast.acceptedAt.milliseconds)
        try putBroadcast.run()
    }

    func removeBroadcast(of channel: ChannelIdentity) throws(StoreError) {
        removeBroadcast.bind(channel.inlineBytes.span)
        try removeBroadcast.run()
    }
}

extension ChannelRecord {
    /// Reads the channel of the current row; nil if a column has an invalid value.
    package init?(row: some ColumnReader) {
        guard let identity = row.withBytes(0, { ChannelIdentity($0) }),
            let topic = Topic(row.text(1)),
            let environment = Environment(rawValue: row.text(2)),
            let storage = ChannelStorage(rawValue: Int(row.integer(3)))
        else { return nil }
        self.init(
            identity: identity,
            owner: ChannelOwner(topic: topic, environment: environment),
            storage: storage,
            createdAt: Moment(milliseconds: row.integer(4))
        )
    }
}

extension Broadcast {
    /// Reads the broadcast of the current row; nil if a column has an invalid value.
    package convenience init?(row: some ColumnReader) {
        guard let channel = row.withBytes(0, { ChannelIdentity($0) }),
            let identity = row.withBytes(1, { NotificationIdentity($0) }),
            let topic = Topic(row.text(2)),
            let priority = UInt8(exactly: row.integer(4)).flatMap(Priority.init(rawValue:)),
            let pushType = PushType(rawValue: row.text(6))
        else { return nil }
        self.init(
            identity: identity,
            channel: channel,
            topic: topic,
            payload: row.bytes(3),
            priority: priority,
            expiration: .at(Moment(milliseconds: row.integer(5))),
            pushType: pushType,
            acceptedAt: Moment(milliseconds: row.integer(7))
        )
    }
}
