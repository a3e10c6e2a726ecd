import PostriderCluster
import PostriderNotifications
import PostriderStorage

/// Reads the registry's tables. Texts are ordered by their bytes, whatever the database's collation.
struct RegistryReader {
    let connection: PostgresConnection
    let address: DatabaseAddress

    func load() throws(StoreError) -> Registry {
        var registry = try loadShared()
        try loadChannels(into: &registry)
        try loadDevices(of: nil, into: &registry)
        registry.lastRun = try all("SELECT started_at, alive_at, is_stopped FROM run", RelayRun.init(row:))
            .first
        return registry
    }

    /// Returns what every node of a cluster has.
    func loadShared() throws(StoreError) -> Registry {
        var registry = Registry()
        registry.tokenSecrets = try all("SELECT secret FROM token_secret ORDER BY number") { $0.bytes(0) }
        registry.providerKeys = try all(
            """
            SELECT identifier, team, public_key, added_at, environment, topics, related_key,
                revoked_at, ends_at
            FROM provider_key ORDER BY convert_to(identifier, 'UTF8')
            """, ProviderKeyRecord.init(row:))
        registry.topics = try all(
            "SELECT topic, team, takes_broadcasts FROM topic ORDER BY convert_to(topic, 'UTF8')",
            TopicRecord.init(row:))
        registry.enrolmentKeys = try all(
            """
            SELECT name, digest, added_at, tags, ends_at, uses, used, name_pattern FROM enrolment_key
            ORDER BY convert_to(name, 'UTF8')
            """, EnrolmentKeyRecord.init(row:))
        registry.sendTokens = try all(
            "SELECT name, digest, topics, added_at FROM send_token ORDER BY convert_to(name, 'UTF8')",
            SendTokenRecord.init(row:))
        return registry
    }

    /// Returns the devices and the channels of partitions with all that belongs to them.
    func load(_ partitions: Set<Partition>) throws(StoreError) -> Registry {
        var registry = Registry()
        // The database does not know the hash by which channels are distributed.
        try loadChannels(into: &registry)
        registry.keepChannels(of: partitions)
        try loadDevices(of: partitions, into: &registry)
        return registry
    }

    private func loadChannels(into registry: inout Registry) throws(StoreError) {
        registry.channels = try all(
            "SELECT identity, topic, environment, storage, created_at FROM channel ORDER BY identity",
            ChannelRecord.init(row:))
        registry.broadcasts = try all(
            """
            SELECT channel, identity, topic, payload, priority, expires_at, push_type, accepted_at
            FROM broadcast ORDER BY channel
            """, Broadcast.init(row:))
    }

    /// Reads the tables of devices, whole or of these partitions.
    private func loadDevices(
        of partitions: Set<Partition>?, into registry: inout Registry
    ) throws(StoreError) {
        registry.devices = try all(
            "SELECT identity, secret_digest, name, enrolled_at, seen_at FROM device",
            of: partitions, by: "identity", DeviceRecord.init(row:))
        registry.registrations = try all(
            "SELECT device, number, topic, registered_at, unregistered_at FROM registration",
            of: partitions, by: "device, number", RegistrationRecord.init(row:))
        registry.presences = try all(
            "SELECT device, is_connected, since, address, agent, ending FROM presence",
            of: partitions, by: "device", PresenceRecord.init(row:))
        registry.labels = try all(
            "SELECT device, name, is_given, tags FROM label",
            of: partitions, by: "device", DeviceLabel.init(row:))
        registry.webSubscriptions = try all(
            "SELECT device, number, channel, sender_key FROM web_subscription",
            of: partitions, by: "device, number", WebSubscription.init(row:))
    }

    /// Visits the entries of the queue in the order of rows, of all devices or of those in partitions.
    func scan(
        _ partitions: Set<Partition>? = nil, _ visit: (QueueEntry) -> Void
    ) throws(StoreError) {
        let request = Self.request(QueueStatements.scan, of: partitions, by: "number", in: "device")
        try each(request) { row throws(StoreError) in
            guard let entry = QueueEntry(row: row) else { throw damage }
            visit(entry)
        }
    }

    /// Returns all receipts in the order of rows.
    func receipts() throws(StoreError) -> [Receipt] {
        try all("\(ReceiptStatements.load) ORDER BY number", Receipt.init(row:))
    }

    /// Returns the receipts of partitions in the order of rows.
    func receipts(of partitions: Set<Partition>) throws(StoreError) -> [Receipt] {
        let column = ReceiptStatements.placed
        return try all(
            Self.request(ReceiptStatements.load, of: partitions, by: "number", in: column),
            Receipt.init(row:))
    }

    private static func request(
        _ sql: String, of partitions: Set<Partition>?, by order: String, in column: String
    ) -> Request {
        guard let partitions else { return Request("\(sql) ORDER BY \(order)") }
        let place = PostgresSchema.partition(of: column)
        return Request("\(sql) WHERE \(place) = ANY($1::bigint[]) ORDER BY \(order)") {
            $0.add(partitions.map { Int64($0.number) })
        }
    }

    /// The first column of the order has the identity of the device.
    private func all<Record>(
        _ sql: String, of partitions: Set<Partition>?, by order: String, _ record: (PostgresRow) -> Record?
    ) throws(StoreError) -> [Record] {
        let column = String(order.prefix { $0 != "," })
        return try all(Self.request(sql, of: partitions, by: order, in: column), record)
    }

    private func all<Record>(
        _ sql: String, _ record: (PostgresRow) -> Record?
    ) throws(StoreError) -> [Record] {
        try all(Request(sql), record)
    }

    private func all<Record>(
        _ request: Request, _ record: (PostgresRow) -> Record?
    ) throws(StoreError) -> [Record] {
        var records: [Record] = []
        try each(request) { row throws(StoreError) in
            guard let record = record(row) else { throw damage }
            records.append(record)
        }
        return records
    }

    private func each(
        _ request: Request, _ visit: (PostgresRow) throws(StoreError) -> Void
    ) throws(StoreError) {
        try connection.query(request, fault: { StoreError($0, at: address) }, visit)
    }

    /// The error for a row that is no valid record.
    var damage: StoreError {
        StoreError(
            .unusable, "The database \(address) is damaged (a record cannot be read): restore a backup of it."
        )
    }
}
