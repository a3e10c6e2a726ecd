package import PostriderNotifications

/// The file of the registry: provider credentials, enrolment keys, devices and registrations.
final class RegistryFile: DatabaseFile {
    let database: Database
    private let addTokenSecret: [Statement]
    private let putDevice: Statement
    private let noteSeen: Statement
    private let removeDevice: [Statement]
    private let putRegistration: Statement
    private let putProviderKey: Statement
    private let removeProviderKey: Statement
    private let topics: TopicTable
    private let enrolmentKeys: EnrolmentKeyTable
    private let channels: ChannelTables
    private let presences: PresenceTables
    private let labels: LabelTable
    private let webSubscriptions: WebSubscriptionTable
    private let sendTokens: SendTokenTable

    static let schema = Schema(
        applicationIdentifier: 0x5052_5247,  // "PRRG"
        steps: [
            """
            CREATE TABLE token_secret (
                number INTEGER PRIMARY KEY,
                secret BLOB NOT NULL
            ) STRICT;
            CREATE TABLE device (
                identity BLOB PRIMARY KEY,
                secret_digest BLOB NOT NULL,
                name TEXT NOT NULL,
                enrolled_at INTEGER NOT NULL
            ) STRICT, WITHOUT ROWID;
            CREATE TABLE registration (
                device BLOB NOT NULL,
                number INTEGER NOT NULL,
                topic TEXT NOT NULL,
                registered_at INTEGER NOT NULL,
                unregistered_at INTEGER,
                PRIMARY KEY (device, number)
            ) STRICT, WITHOUT ROWID;
            CREATE TABLE provider_key (
                identifier TEXT PRIMARY KEY,
                team TEXT NOT NULL,
                public_key TEXT NOT NULL,
                added_at INTEGER NOT NULL
            ) STRICT, WITHOUT ROWID;
            CREATE TABLE topic (
                topic TEXT PRIMARY KEY,
                team TEXT NOT NULL
            ) STRICT, WITHOUT ROWID;
            CREATE TABLE enrolment_key (
                name TEXT PRIMARY KEY,
                digest BLOB NOT NULL,
                added_at INTEGER NOT NULL
            ) STRICT, WITHOUT ROWID;
            """,
            // Adds what a key permits. Existing keys become legacy keys, which permit everything of their team, in
            // both environments.
            """
            ALTER TABLE provider_key ADD COLUMN environment TEXT;
            ALTER TABLE provider_key ADD COLUMN topics TEXT;
            ALTER TABLE provider_key ADD COLUMN related_key TEXT;
            ALTER TABLE provider_key ADD COLUMN revoked_at INTEGER;
            """,
            // Adds when devices were last seen. Existing devices count as seen now, so none of them expires at once.
            """
            ALTER TABLE device ADD COLUMN seen_at INTEGER NOT NULL DEFAULT 0;
            UPDATE device SET seen_at = unixepoch() * 1000;
            """,
            ChannelTables.schemaStep,
            PresenceTables.schemaStep,
            LabelTable.schemaStep,
            EnrolmentKeyTable.schemaStep,
            // Adds when a key ends. Existing keys have no end.
            "ALTER TABLE provider_key ADD COLUMN ends_at INTEGER;",
            WebSubscriptionTable.schemaStep,
            SendTokenTable.schemaStep,
        ]
    )

    init(path: String) throws(StoreError) {
        let database = try Database(path: path, schema: Self.schema)
        self.database = database
        // A secret that is added again becomes the newest, so applying a change twice has the effect of once.
        addTokenSecret = [
            try database.prepare("DELETE FROM token_secret WHERE secret = ?"),
            try database.prepare("INSERT INTO token_secret (secret) VALUES (?)"),
        ]
        putDevice = try database.prepare("REPLACE INTO device VALUES (?,?,?,?,?)")
        noteSeen = try database.prepare("UPDATE device SET seen_at = ? WHERE identity = ?")
        removeDevice = [
            try database.prepare("DELETE FROM registration WHERE device = ?"),
            try database.prepare("DELETE FROM device WHERE identity = ?"),
        ]
        putRegistration = try database.prepare(
            """
            REPLACE INTO registration SELECT ?1, ?2, ?3, ?4, ?5
            WHERE EXISTS (SELECT 1 FROM device WHERE identity = ?1)
            """)
        putProviderKey = try database.prepare("REPLACE INTO provider_key VALUES (?,?,?,?,?,?,?,?,?)")
        removeProviderKey = try database.prepare("DELETE FROM provider_key WHERE identifier = ?")
        topics = try TopicTable(database)
        enrolmentKeys = try EnrolmentKeyTable(database)
        channels = try ChannelTables(database)
        presences = try PresenceTables(database)
        labels = try LabelTable(database)
        webSubscriptions = try WebSubscriptionTable(database)
        sendTokens = try SendTokenTable(database)
    }

    /// Does nothing, because nothing of the file is kept in memory.
    func reload() {}

    func load() throws(StoreError) -> Registry {
        var registry = Registry()
        registry.tokenSecrets = try all("SELECT secret FROM token_secret ORDER BY number") { $0.bytes(0) }
        registry.devices = try all("SELECT * FROM device ORDER BY identity", DeviceRecord.init(row:))
        registry.registrations = try all(
            "SELECT * FROM registration ORDER BY device, number",
            RegistrationRecord.init(row:)
        )
        registry.providerKeys = try all(
            "SELECT * FROM provider_key ORDER BY identifier", ProviderKeyRecord.init(row:))
        registry.topics = try all("SELECT * FROM topic ORDER BY topic", TopicRecord.init(row:))
        registry.enrolmentKeys = try all(
            "SELECT * FROM enrolment_key ORDER BY name", EnrolmentKeyRecord.init(row:))
        registry.channels = try all("SELECT * FROM channel ORDER BY identity", ChannelRecord.init(row:))
        registry.broadcasts = try all("SELECT * FROM broadcast ORDER BY channel", Broadcast.init(row:))
        registry.presences = try all("SELECT * FROM presence ORDER BY device", PresenceRecord.init(row:))
        registry.labels = try all("SELECT * FROM label ORDER BY device", DeviceLabel.init(row:))
        registry.webSubscriptions = try all(
            "SELECT * FROM web_subscription ORDER BY device, number", WebSubscription.init(row:))
        registry.sendTokens = try all("SELECT * FROM send_token ORDER BY name", SendTokenRecord.init(row:))
        registry.lastRun = try all("SELECT * FROM run", RelayRun.init(row:)).first
        return registry
    }

    /// The records of all rows. A row that is no valid record means that the file is damaged.
    private func all<Record>(
        _ sql: String, _ record: (Statement) -> Record?
    ) throws(StoreError) -> [Record] {
        let statement = try database.prepare(sql)
        defer { statement.reset() }
        var records: [Record] = []
        while try statement.step() {
            guard let record = record(statement) else {
                throw StoreError(
                    .unusable,
                    "\(database.path) is damaged (a record cannot be read): put a backup in its place."
                )
            }
            records.append(record)
        }
        return records
    }

    func apply(_ changes: [RegistryChange]) throws(StoreError) {
        guard !changes.isEmpty else { return }
        try database.transaction { () throws(StoreError) in
            for change in changes { try apply(change) }
        }
    }

    private func remove(_ device: DeviceIdentity) throws(StoreError) {
        try presences.remove(device)
        try labels.remove(device)
        try webSubscriptions.remove(device)
        for statement in removeDevice {
            statement.bind(device.inlineBytes.span)
            try statement.run()
        }
    }

    private func apply(_ change: RegistryChange) throws(StoreError) {
        switch change {
        case .addTokenSecret(let secret):
            for statement in addTokenSecret {
                statement.bind(secret)
                try statement.run()
            }
        case .putDevice(let record):
            putDevice.bind(record.identity.inlineBytes.span)
            putDevice.bind(record.secretDigest)
            putDevice.bind(record.name)
            putDevice.bind(record.enrolledAt.milliseconds)
            putDevice.bind(record.seenAt.milliseconds)
            try putDevice.run()
        case .noteSeen(let identity, let moment):
            noteSeen.bind(moment.milliseconds)
            noteSeen.bind(identity.inlineBytes.span)
            try noteSeen.run()
        case .noteRun(let run): try presences.note(run)
        case .putPresence(let record): try presences.put(record)
        case .putLabel(let label): try labels.put(label)
        case .putWebSubscription(let subscription): try webSubscriptions.put(subscription)
        case .removeDevice(let identity): try remove(identity)
        case .putRegistration(let record):
            putRegistration.bind(record.device.inlineBytes.span)
            putRegistration.bind(Int64(record.number.value))
            putRegistration.bind(record.topic.text)
            putRegistration.bind(record.registeredAt.milliseconds)
            putRegistration.bind(record.unregisteredAt?.milliseconds)
            try putRegistration.run()
        case .putProviderKey(let record):
            putProviderKey.bind(record.identifier)
            putProviderKey.bind(record.team)
            putProviderKey.bind(record.publicKey)
            putProviderKey.bind(record.addedAt.milliseconds)
            putProviderKey.bind(record.environment?.rawValue)
            putProviderKey.bind(record.topics?.map(\.text).joined(separator: " "))
            putProviderKey.bind(record.relatedKey)
            putProviderKey.bind(record.revokedAt?.milliseconds)
            putProviderKey.bind(record.endsAt?.milliseconds)
            try putProviderKey.run()
        case .removeProviderKey(let identifier):
            removeProviderKey.bind(identifier)
            try removeProviderKey.run()
        case .putTopic(let record): try topics.put(record)
        case .removeTopic(let topic): try topics.remove(topic)
        case .putEnrolmentKey(let record): try enrolmentKeys.put(record)
        case .removeEnrolmentKey(let name): try enrolmentKeys.remove(name)
        case .putSendToken(let record): try sendTokens.put(record)
        case .removeSendToken(let name): try sendTokens.remove(name)
        case .useEnrolmentKey(let digest, let device): try enrolmentKeys.use(digest, by: device)
        case .putChannel(let record): try channels.put(record)
        case .removeChannel(let identity): try channels.remove(identity)
        case .putBroadcast(let broadcast): try channels.put(broadcast)
        case .removeBroadcast(let channel): try channels.removeBroadcast(of: channel)
        }
    }
}

extension DeviceRecord {
    /// Reads the device of the current row; nil if a column has an invalid value.
    package init?(row: some ColumnReader) {
        guard let identity = row.withBytes(0, { DeviceIdentity($0) }) else { return nil }
        self.init(
            identity: identity,
            secretDigest: row.bytes(1),
            name: row.text(2),
            enrolledAt: Moment(milliseconds: row.integer(3)),
            seenAt: Moment(milliseconds: row.integer(4))
        )
    }
}

extension RegistrationRecord {
    /// Reads the registration of the current row; nil if a column has an invalid value.
    package init?(row: some ColumnReader) {
        guard let device = row.withBytes(0, { DeviceIdentity($0) }),
            let number = UInt32(exactly: row.integer(1)),
            let topic = Topic(row.text(2))
        else { return nil }
        self.init(
            device: device,
            number: RegistrationNumber(number),
            topic: topic,
            registeredAt: Moment(milliseconds: row.integer(3)),
            unregisteredAt: row.isNull(4) ? nil : Moment(milliseconds: row.integer(4))
        )
    }
}

extension ProviderKeyRecord {
    /// Reads the key of the current row; nil if a column has an invalid value. Topics are separated by spaces, which
    /// a topic cannot contain.
    package init?(row: some ColumnReader) {
        let names = row.isNull(5) ? nil : row.text(5).split(separator: " ")
        let topics = names?.compactMap { Topic(String($0)) }
        let environment = row.isNull(4) ? nil : Environment(rawValue: row.text(4))
        guard topics?.count == names?.count, row.isNull(4) || environment != nil else { return nil }
        self.init(
            identifier: row.text(0),
            team: row.text(1),
            publicKey: row.text(2),
            addedAt: Moment(milliseconds: row.integer(3)),
            environment: environment,
            topics: topics,
            relatedKey: row.isNull(6) ? nil : row.text(6),
            revokedAt: row.isNull(7) ? nil : Moment(milliseconds: row.integer(7)),
            endsAt: row.isNull(8) ? nil : Moment(milliseconds: row.integer(8))
        )
    }
}
