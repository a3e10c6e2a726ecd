import PostriderNotifications
import PostriderStorage
import Testing

/// The behaviour of every store, whatever its engine.
@Suite struct StoreConformanceTests {
    // The queue.

    @Test("A new store holds nothing and has used no row", arguments: Engine.allCases)
    func empty(_ engine: Engine) throws {
        let fixture = try StoreFixture(engine)
        let (entries, last) = try fixture.store.scan()
        #expect(entries.isEmpty && fixture.expectLast(0, last))
        #expect(try fixture.store.loadRegistry() == Registry())
        #expect(try fixture.store.read([1]).isEmpty)
    }

    @Test("What was enqueued is read back whole, before and after reopening", arguments: Engine.allCases)
    func roundTrip(_ engine: Engine) throws {
        let fixture = try StoreFixture(engine)
        var sent = [
            try sample(1, payloadBytes: 0), try sample(2, payloadBytes: 5120, collapse: "größe ✉️"),
            try sample(3, payloadBytes: 20_000, pushType: nil), try sample(4, collapse: ""),
        ]
        for (offset, type) in PushType.allCases.enumerated() {
            sent.append(try sample(Int64(5 + offset), pushType: type))
        }
        try fixture.store.commit(enqueue: sent)
        for _ in 1...2 {
            #expect(try fixture.store.read(sent.map(\.row.value)).map(fields) == sent.map(fields))
            let (entries, last) = try fixture.store.scan()
            #expect(entries == sent.map { QueueEntry(row: $0.row, notification: $0.notification) })
            #expect(fixture.expectLast(Int64(sent.count), last))
            try fixture.reopen()
        }
    }

    @Test(
        "Entries are visited in the order of rows, whatever the order of arrival", arguments: Engine.allCases)
    func scanOrder(_ engine: Engine) throws {
        let fixture = try StoreFixture(engine)
        try fixture.store.commit(enqueue: [sample(7), sample(2)])
        try fixture.store.commit(enqueue: [sample(300), sample(5)])
        #expect(try fixture.store.rows() == [2, 5, 7, 300])
        #expect(fixture.expectLast(300, try fixture.store.scan().last))
    }

    @Test("Rows are read in the order asked for, and missing ones are left out", arguments: Engine.allCases)
    func readOrder(_ engine: Engine) throws {
        let fixture = try StoreFixture(engine)
        try fixture.store.commit(enqueue: (1...5).map { try sample($0) }, settle: [])
        try fixture.store.commit(settle: [3])
        #expect(try fixture.store.read([5, 3, 1, 99, 4, 5]).map(\.row.value) == [5, 1, 4, 5])
        #expect(try fixture.store.read([]).isEmpty)
    }

    @Test("A batch settles before it enqueues", arguments: Engine.allCases)
    func settleFirst(_ engine: Engine) throws {
        let fixture = try StoreFixture(engine)
        try fixture.store.commit(enqueue: [sample(1, payloadBytes: 1)])
        try fixture.store.commit(enqueue: [sample(1, payloadBytes: 2)], settle: [1])
        #expect(try fixture.store.read([1]).map(\.notification.payload.count) == [2])
    }

    @Test("Settling a row that is not there is no error", arguments: Engine.allCases)
    func settleTwice(_ engine: Engine) throws {
        let fixture = try StoreFixture(engine)
        try fixture.store.commit(enqueue: [sample(1), sample(2)])
        try fixture.store.commit(settle: [1, 1, 77])
        try fixture.store.commit(settle: [1])
        #expect(try fixture.store.rows() == [2])
        #expect(fixture.expectLast(2, try fixture.store.scan().last))
    }

    @Test("An empty batch succeeds", arguments: Engine.allCases)
    func emptyBatch(_ engine: Engine) throws {
        let fixture = try StoreFixture(engine)
        try fixture.store.commit()
        try fixture.store.apply([])
        #expect(try fixture.store.rows().isEmpty)
    }

    @Test("A batch that fails half-way leaves nothing, and the store goes on", arguments: Engine.allCases)
    func atomicity(_ engine: Engine) throws {
        let fixture = try StoreFixture(engine)
        try fixture.store.commit(enqueue: [sample(1), sample(2)])
        for enqueued in [[try sample(3), try sample(2)], [try sample(4), try sample(4)]] {
            let failure = #expect(throws: StoreError.self) {
                try fixture.store.commit(enqueue: enqueued, settle: [1])
            }
            #expect(failure?.kind == .conflict)
        }
        for _ in 1...2 {
            #expect(try fixture.store.rows() == [1, 2])
            #expect(fixture.expectLast(2, try fixture.store.scan().last))
            try fixture.reopen()
        }
        try fixture.store.commit(enqueue: [sample(3)], settle: [1])
        #expect(try fixture.store.rows() == [2, 3])
    }

    @Test("The last row ever used survives the removal of the last rows", arguments: Engine.allCases)
    func lastRow(_ engine: Engine) throws {
        let fixture = try StoreFixture(engine)
        try fixture.store.commit(enqueue: (1...4).map { try sample($0) })
        let steps: [(enqueue: [Int64], settle: [Int64], last: Int64)] = [
            ([], [4], 4), ([], [1, 2, 3], 4), ([9, 8], [4], 9), ([], [9], 9), ([7], [8], 9), ([10], [7], 10),
            ([], [10], 10), ([10], [10], 10), ([5], [10], 10), ([], [5], 10),
        ]
        for step in steps {
            try fixture.store.commit(enqueue: step.enqueue.map { try sample($0) }, settle: step.settle)
            #expect(fixture.expectLast(step.last, try fixture.store.scan().last))
            try fixture.reopen()
            #expect(fixture.expectLast(step.last, try fixture.store.scan().last))
        }
        #expect(try fixture.store.rows().isEmpty)
    }

    // The registry.

    @Test("Every change is applied, kept and idempotent", arguments: Engine.allCases)
    func registry(_ engine: Engine) throws {
        let fixture = try StoreFixture(engine)
        var seen: [Registry] = []
        for change in try changes() {
            try fixture.store.apply([change])
            let once = try fixture.store.loadRegistry()
            try fixture.store.apply([change])
            #expect(try fixture.store.loadRegistry() == once, "\(change)")
            try fixture.reopen()
            #expect(try fixture.store.loadRegistry() == once, "\(change)")
            seen.append(once)
        }
        #expect(seen.last == (try expectedRegistry()))
    }

    @Test("Changes of one call are applied in their order", arguments: Engine.allCases)
    func registryOrder(_ engine: Engine) throws {
        let fixture = try StoreFixture(engine)
        try fixture.store.apply(changes())
        #expect(try fixture.store.loadRegistry() == expectedRegistry())
    }

    func device(_ high: UInt64, name: String = "phone", seenAt: Int64? = nil) -> DeviceRecord {
        DeviceRecord(
            identity: DeviceIdentity(high: high, low: UInt32.max),
            secretDigest: [UInt8](repeating: UInt8(truncatingIfNeeded: high), count: 32),
            name: name,
            enrolledAt: Moment(milliseconds: 17),
            seenAt: seenAt.map(Moment.init(milliseconds:))
        )
    }

    private func registration(_ high: UInt64, _ number: UInt32, until: Int64? = nil) throws
        -> RegistrationRecord
    {
        RegistrationRecord(
            device: device(high).identity,
            number: RegistrationNumber(number),
            topic: try #require(Topic("com.example.a")),
            registeredAt: Moment(milliseconds: 1),
            unregisteredAt: until.map(Moment.init(milliseconds:))
        )
    }

    private func providerKey(_ identifier: String, team: String = "T") -> ProviderKeyRecord {
        ProviderKeyRecord(
            identifier: identifier, team: team, publicKey: "-----BEGIN", addedAt: Moment(milliseconds: -1)
        )
    }

    /// Makes a key that has a value in every field.
    private func topicKey(_ identifier: String) throws -> ProviderKeyRecord {
        ProviderKeyRecord(
            identifier: identifier, team: "T", publicKey: "-----BEGIN", addedAt: Moment(milliseconds: 4),
            environment: .development,
            topics: [try #require(Topic("com.example.a")), try #require(Topic("com.example.a.voip"))],
            relatedKey: "a", revokedAt: Moment(milliseconds: 9), endsAt: Moment(milliseconds: 10))
    }

    private func enrolmentKey(_ name: String, _ byte: UInt8) -> EnrolmentKeyRecord {
        EnrolmentKeyRecord(
            name: name, digest: [byte, 0, 255], addedAt: Moment(milliseconds: 5),
            tags: byte > 1 ? DeviceTag.list("lobby web_servers") ?? [] : [], endsAt: Moment(milliseconds: 8),
            uses: byte > 1 ? 9 : nil, used: byte == 4 ? 2 : 0, namePattern: byte > 1 ? "kiosk-*" : nil)
    }

    private func channel(_ low: UInt64, _ storage: ChannelStorage = .mostRecent) throws -> ChannelRecord {
        let topic = try #require(Topic("com.example.a"))
        return ChannelRecord(
            identity: ChannelIdentity(high: .max, low: low),
            owner: ChannelOwner(topic: topic, environment: low == 1 ? .development : .production),
            storage: storage, createdAt: Moment(milliseconds: 9))
    }

    private func broadcast(_ channel: UInt64, _ text: String) throws -> Broadcast {
        Broadcast(
            identity: NotificationIdentity(high: 1, low: .max),
            channel: ChannelIdentity(high: .max, low: channel),
            topic: try #require(Topic("com.example.a")), payload: Array(text.utf8), priority: .considerate,
            expiration: .at(Moment(milliseconds: 77)), pushType: .liveactivity,
            acceptedAt: Moment(milliseconds: -3))
    }

    private func channelChanges() throws -> [RegistryChange] {
        let identities = [1, 2, 3].map { ChannelIdentity(high: .max, low: $0) }
        return [
            .putChannel(try channel(2)), .putChannel(try channel(1)), .putChannel(try channel(3)),
            .putChannel(try channel(2, .nothing)), .putBroadcast(try broadcast(3, "{}")),
            .putBroadcast(try broadcast(1, "{}")), .putBroadcast(try broadcast(1, "{\"a\":\"ü\"}")),
            .putBroadcast(try broadcast(4, "{}")), .removeChannel(identities[2]),
            .removeChannel(identities[2]), .putBroadcast(try broadcast(2, "{}")),
            .removeBroadcast(of: identities[1]), .removeBroadcast(of: identities[1]),
        ]
    }

    func changes() throws -> [RegistryChange] {
        let topic = try #require(Topic("com.example.a"))
        let other = try #require(Topic("com.example.B"))
        return try [
            .addTokenSecret([1, 2, 3]), .addTokenSecret([4]), .addTokenSecret([1, 2, 3]),
            .putDevice(device(UInt64.max)), .putDevice(device(1)), .putDevice(device(1, name: "Telefon ☎")),
            .putDevice(device(2)), .noteSeen(device(2).identity, Moment(milliseconds: 99)),
            .noteSeen(device(77).identity, Moment(milliseconds: 99)),
        ] + sendTokenChanges() + presenceChanges() + labelChanges() + subscriptionChanges() + [
            .putRegistration(try registration(.max, 1)),
            .putRegistration(try registration(2, 300)), .putRegistration(try registration(2, 2)),
            .putRegistration(try registration(1, .max)), .putRegistration(try registration(1, 1)),
            .putRegistration(try registration(2, 2, until: 12)), .removeDevice(device(1).identity),
            .removeDevice(device(1).identity), .putRegistration(try registration(1, 2)),
            .putRegistration(try registration(77, 1)), .putProviderKey(providerKey("b")),
            .putProviderKey(providerKey("a")), .putProviderKey(providerKey("b", team: "U")),
            .putProviderKey(providerKey("c")), .removeProviderKey(identifier: "c"),
            .removeProviderKey(identifier: "c"), .putProviderKey(try topicKey("d")),
            .putProviderKey(providerKey("e")),
            .putProviderKey(providerKey("e").revoked(at: Moment(milliseconds: 8))),
            .putProviderKey(try topicKey("f")), .putProviderKey(providerKey("f")),
            .putTopic(TopicRecord(topic: topic, team: "T")),
            .putTopic(TopicRecord(topic: other, team: "T")),
            .putTopic(TopicRecord(topic: topic, team: "U", takesBroadcasts: false)),
            .removeTopic(other), .removeTopic(other), .putEnrolmentKey(enrolmentKey("e\u{301}", 1)),
            .putEnrolmentKey(enrolmentKey("\u{e9}", 2)), .putEnrolmentKey(enrolmentKey("z", 3)),
            .putEnrolmentKey(enrolmentKey("z", 4)), .putEnrolmentKey(enrolmentKey("y", 5)),
            .removeEnrolmentKey(name: "y"), .removeEnrolmentKey(name: "nobody"),
            .useEnrolmentKey(digest: [2, 0, 255], by: device(2).identity),
            .useEnrolmentKey(digest: [7], by: device(1).identity),
        ] + channelChanges()
    }

    /// Makes the registry that the changes must lead to.
    private func expectedRegistry() throws -> Registry {
        var registry = registryOfSendTokens()
        registry.tokenSecrets = [[4], [1, 2, 3]]
        registry.devices = [device(2, seenAt: 99), device(.max)]
        registry.presences = [presence(2, false, 60, .relayStopped), presence(.max, false, 90, .silent)]
        registry.labels = [label(2, "kiosk-7", "a b.c"), label(.max, "x", isGiven: true)]
        (registry.webSubscriptions, registry.lastRun) = (expectedSubscriptions(), run(3, 120))
        registry.registrations = [
            try registration(2, 2, until: 12), try registration(2, 300), try registration(.max, 1),
        ]
        registry.providerKeys = [
            providerKey("a"), providerKey("b", team: "U"), try topicKey("d"),
            providerKey("e").revoked(at: Moment(milliseconds: 8)), providerKey("f"),
        ]
        registry.topics = [
            TopicRecord(topic: try #require(Topic("com.example.a")), team: "U", takesBroadcasts: false)
        ]
        registry.enrolmentKeys = [("e\u{301}", 1), ("z", 4), ("\u{e9}", 2)].map(enrolmentKey)
        registry.channels = [try channel(1), try channel(2, .nothing)]
        registry.broadcasts = [try broadcast(1, "{\"a\":\"ü\"}")]
        return registry
    }
}

@Suite struct MemoryStoreTests {
    @Test("A disk with a fault fails everything and changes nothing")
    func fault() throws {
        let disk = MemoryStore.Disk()
        let store = MemoryStore(disk: disk)
        try store.commit(enqueue: [sample(1)])
        let fault = StoreError(.full, "No room is left.")
        disk.fault = fault
        #expect(throws: fault) { try store.commit(enqueue: [sample(2)], settle: [1]) }
        #expect(throws: fault) { try store.apply([.addTokenSecret([1])]) }
        #expect(throws: fault) { try store.read([1]) }
        #expect(throws: fault) { try store.scan() }
        #expect(throws: fault) { try store.loadRegistry() }
        disk.fault = nil
        #expect(try store.rows() == [1])
        #expect(try store.loadRegistry() == Registry())
    }

    @Test("A second store on the disk sees what was committed")
    func disk() throws {
        let disk = MemoryStore.Disk()
        try MemoryStore(disk: disk).commit(enqueue: [sample(1)])
        #expect(try MemoryStore(disk: disk).rows() == [1])
    }
}
