import PostriderCluster
import PostriderNotifications
import PostriderStorage
import Testing

/// The behaviour of every database of a cluster, whatever its engine.
@Suite struct ClusterConformanceTests {
    private func failure(_ kind: StoreError.Kind, _ body: () throws -> Void) {
        let error = #expect(throws: StoreError.self) { try body() }
        #expect(
            error?.kind == kind && error?.description.hasSuffix(".") == true, "\(String(describing: error))")
    }

    // Members.

    @Test("A new cluster has no members, and all of its partitions are free", arguments: Engine.fenced)
    func empty(_ engine: Engine) throws {
        let view = try ClusterFixture(engine).access("a").look()
        #expect(view.nodes.isEmpty && view.placement.free.count == 1024 && view.registryVersion == 0)
    }

    @Test("A name belongs to the process that has joined with it, until it leaves", arguments: Engine.fenced)
    func names(_ engine: Engine) throws {
        let fixture = try ClusterFixture(engine)
        let (first, second) = (try fixture.member("a"), try fixture.access("a"))
        #expect(try first.join(replacing: nil))
        #expect(try !second.join(replacing: nil))
        failure(.fenced) { _ = try second.beat(1, isDraining: false) }
        failure(.fenced) { try second.claim([1]) }
        try second.leave()
        let view = try first.beat(1, isDraining: true)
        let own = try #require(view.nodes.values.first)
        #expect(view.nodes.count == 1 && own.beat == 1 && own.isDraining && own.generation > 0)
        try first.leave()
        #expect(try second.join(replacing: nil))
        let next = try #require(try second.node("a"))
        #expect(next.generation > own.generation)
    }

    @Test("Every node sees where the others are reached", arguments: Engine.fenced)
    func addresses(_ engine: Engine) throws {
        let fixture = try ClusterFixture(engine)
        let (a, b) = (try fixture.access("a", at: "a.example:2195"), try fixture.access("b", at: "[::1]:9"))
        #expect(try a.join(replacing: nil) && b.join(replacing: nil))
        try a.claim([1])
        let view = try a.beat(1, isDraining: true)
        #expect(Set(view.nodes.values.map(\.address)) == ["a.example:2195", "[::1]:9"])
        // A process that takes the place of another one may be elsewhere.
        let moved = try fixture.access("a", at: "192.0.2.7:2195")
        #expect(try moved.join(replacing: b.node("a")))
        #expect(try b.node("a")?.address == "192.0.2.7:2195")
    }

    @Test("A cluster has an identifier of its own, the same for every node", arguments: Engine.fenced)
    func identifier(_ engine: Engine) throws {
        let fixture = try ClusterFixture(engine)
        let first = try fixture.access("a").look().cluster
        #expect(try !first.isEmpty && fixture.member("b").beat(1, isDraining: false).cluster == first)
        guard engine == .postgres else { return }
        #expect(try ClusterFixture(engine).access("a").look().cluster != first)
    }

    @Test("Each membership has a claim of its own", arguments: Engine.fenced)
    func claims(_ engine: Engine) throws {
        let fixture = try ClusterFixture(engine)
        let (a, b) = (try fixture.member("a"), try fixture.member("b"))
        let first = a.claim
        #expect(first.name.text == "a" && a.claim == first && b.claim.holder != first.holder)
        try a.leave()
        #expect(try a.join(replacing: nil))
        #expect(a.claim.holder != first.holder)
    }

    @Test("Nodes that draw the first token secret come to the same one", arguments: Engine.fenced)
    func firstSecret(_ engine: Engine) throws {
        let fixture = try ClusterFixture(engine)
        let (a, b) = (try fixture.member("a"), try fixture.member("b"))
        let ledgers = [try fixture.ledger(of: a), try fixture.ledger(of: b)]
        for (ledger, drawn) in zip(ledgers, [1, 2] as [UInt8]) {
            #expect(try ledger.firstTokenSecrets([drawn]) == [[1]])
        }
        let version = try a.look().registryVersion
        #expect(version > 0)
    }

    @Test("The numbers of heartbeats rise, or nothing is recorded", arguments: Engine.fenced)
    func beats(_ engine: Engine) throws {
        let node = try ClusterFixture(engine).member("a")
        for number in [1, 2, 7] as [Int64] {
            #expect(try node.beat(number, isDraining: false).nodes.values.map(\.beat) == [number])
        }
        failure(.conflict) { _ = try node.beat(7, isDraining: true) }
        #expect(try node.node("a").map { $0.beat == 7 && !$0.isDraining } == true)
    }

    @Test("A cluster has at most 64 nodes", arguments: Engine.fenced)
    func bound(_ engine: Engine) throws {
        let fixture = try ClusterFixture(engine)
        for number in 1...64 {
            let node = try fixture.member("n\(number)")
            if number < 64 { node.close() }
        }
        let last = try fixture.access("last")
        failure(.conflict) { _ = try last.join(replacing: nil) }
        #expect(try last.look().nodes.count == 64)
    }

    // Partitions.

    @Test(
        "A node gets what is free, frees what is its own, and changes nothing else", arguments: Engine.fenced)
    func placement(_ engine: Engine) throws {
        let fixture = try ClusterFixture(engine)
        let (a, b) = (try fixture.member("a", claiming: [0, 1, 2, 1023]), try fixture.member("b"))
        let before = try #require(try b.node("b")).generation
        try b.claim([2, 3, 4])
        #expect(try a.partitions(of: "a") == [0, 1, 2, 1023] && a.partitions(of: "b") == [3, 4])
        let after = try #require(try b.node("b")).generation
        #expect(after > before)
        // Without a new partition there is no new generation.
        try b.claim([0, 3])
        #expect(try b.node("b")?.generation == after)
        try b.release([4, 0])
        #expect(try a.partitions(of: "a") == [0, 1, 2, 1023] && a.partitions(of: "b") == [3])
        try a.leave()
        #expect(try b.look().placement.free.count == 1023 && b.look().nodes.count == 1)
    }

    @Test(
        "A node is declared dead only if it still has the heartbeat that was watched",
        arguments: Engine.fenced)
    func death(_ engine: Engine) throws {
        let fixture = try ClusterFixture(engine)
        let (a, b) = (try fixture.member("a", claiming: [5, 6, 7]), try fixture.member("b"))
        let ledger = try fixture.ledger(of: a)
        let watched = try #require(try b.node("a"))
        _ = try a.beat(1, isDraining: false)
        try b.declareDead(watched, claiming: [5])
        #expect(try b.partitions(of: "a") == [5, 6, 7])
        try ledger.commit(enqueue: [sample(1, in: 5)])
        try b.declareDead(b.node("a"), claiming: [5, 6])
        #expect(try b.node("a") == nil && b.partitions(of: "b") == [5, 6])
        #expect(try b.look().placement.free.contains(Partition(7)))
        let refused: [() throws -> Void] = [
            { _ = try a.beat(2, isDraining: false) }, { try a.claim([7]) }, { try a.release([5]) },
            { try ledger.commit(enqueue: [sample(2, in: 7)]) }, { try ledger.commit(settle: [1]) },
            { try ledger.apply([.addTokenSecret([1])]) },
        ]
        for call in refused { failure(.fenced, call) }
        var entries: [QueueEntry] = []
        _ = try fixture.ledger(of: b).load([Partition(5)]) { entries.append($0) }
        #expect(entries.map(\.row.value) == [1])
        // It may come back as a node without partitions.
        #expect(try a.join(replacing: nil) && a.partitions(of: "a").isEmpty)
        try a.claim([7])
        failure(.fenced) { try ledger.commit(enqueue: [sample(3, in: 7)]) }
        try fixture.ledger(of: a).commit(enqueue: [sample(3, in: 7)])
    }

    @Test(
        "A process takes over the name of one that is dead, without its partitions", arguments: Engine.fenced)
    func replacement(_ engine: Engine) throws {
        let fixture = try ClusterFixture(engine)
        let (first, second) = (try fixture.member("a", claiming: [9]), try fixture.access("a"))
        let watched = try #require(try second.node("a"))
        _ = try first.beat(3, isDraining: false)
        #expect(try !second.join(replacing: watched))
        #expect(try second.join(replacing: second.node("a")))
        #expect(try second.partitions(of: "a").isEmpty && second.node("a")?.beat == 0)
        failure(.fenced) { _ = try first.beat(4, isDraining: false) }
        _ = try second.beat(1, isDraining: false)
    }

    // What a member's ledger may change.

    @Test(
        "A batch with a row of a partition that the node does not have fails whole", arguments: Engine.fenced)
    func misplacedRows(_ engine: Engine) throws {
        let fixture = try ClusterFixture(engine)
        let (a, b) = (try fixture.member("a", claiming: [1, 2]), try fixture.member("b", claiming: [3]))
        let (own, other) = (try fixture.ledger(of: a), try fixture.ledger(of: b))
        try own.commit(enqueue: [sample(1, in: 1), sample(2, in: 2)])
        try other.commit(enqueue: [sample(3, in: 3)])
        failure(.misplaced) { try own.commit(enqueue: [sample(4, in: 1), sample(5, in: 3)], settle: [1]) }
        failure(.misplaced) { try own.commit(enqueue: [sample(5, in: 4)]) }
        #expect(try own.read([1, 2, 3, 4, 5]).map(\.row.value) == [1, 2, 3])
        // Rows of others are left alone, and the rest of the batch counts.
        try own.commit(enqueue: [sample(6, in: 2)], settle: [1, 3])
        #expect(try own.read([1, 2, 3, 6]).map(\.row.value) == [2, 3, 6])
        // A partition that was released is not the node's any more, at once.
        try a.release([2])
        failure(.misplaced) { try own.commit(enqueue: [sample(7, in: 2)]) }
        try own.commit(settle: [2, 6])
        try own.commit(enqueue: [sample(8, in: 1)])
        #expect(try own.read([2, 6, 8]).map(\.row.value) == [2, 6, 8])
    }

    @Test(
        "Changes of devices are for the node that has them, all others for every node",
        arguments: Engine.fenced)
    func misplacedDevices(_ engine: Engine) throws {
        let fixture = try ClusterFixture(engine)
        let node = try fixture.member("a", claiming: [1])
        let ledger = try fixture.ledger(of: node)
        func record(_ partition: Int) -> DeviceRecord {
            DeviceRecord(
                identity: device(in: partition), secretDigest: [1], name: "d",
                enrolledAt: Moment(milliseconds: 1), seenAt: Moment(milliseconds: 2))
        }
        failure(.misplaced) { try ledger.apply([.addTokenSecret([7]), .putDevice(record(2))]) }
        failure(.misplaced) { try ledger.apply([.removeDevice(device(in: 2))]) }
        #expect(try ledger.loadRegistry() == Registry() && node.look().registryVersion == 0)
        try ledger.apply([.putDevice(record(1))])
        #expect(try node.look().registryVersion == 0)
        try ledger.apply([.addTokenSecret([7]), .noteSeen(device(in: 1), Moment(milliseconds: 9))])
        #expect(try node.look().registryVersion == 1)
        var shared = Registry()
        shared.tokenSecrets = [[7]]
        #expect(try ledger.loadRegistry() == shared)
        try ledger.apply([
            .noteRun(
                RelayRun(
                    startedAt: Moment(milliseconds: 1), aliveAt: Moment(milliseconds: 1), isStopped: false))
        ])
        let loaded = try ledger.load([Partition(1)]) { _ in }
        #expect(loaded.devices.map(\.seenAt.milliseconds) == [9] && loaded.lastRun == nil)
    }

    @Test("A node loads the partitions that it has, and no others", arguments: Engine.fenced)
    func loading(_ engine: Engine) throws {
        let fixture = try ClusterFixture(engine)
        let (a, b) = (try fixture.member("a", claiming: [1, 2, 3]), try fixture.member("b"))
        let (first, second) = (try fixture.ledger(of: a), try fixture.ledger(of: b))
        try first.commit(enqueue: [sample(5, in: 2), sample(4, in: 1), sample(3, in: 3), sample(2, in: 2)])
        for partition in 1...3 {
            let identity = device(in: partition)
            try first.apply([
                .putDevice(
                    DeviceRecord(
                        identity: identity, secretDigest: [], name: "d\(partition)",
                        enrolledAt: Moment(milliseconds: 1), seenAt: Moment(milliseconds: 1))),
                .putRegistration(
                    RegistrationRecord(
                        device: identity, number: RegistrationNumber(1),
                        topic: try #require(Topic("com.example.app")),
                        registeredAt: Moment(milliseconds: 1), unregisteredAt: nil)),
            ])
        }
        failure(.misplaced) { _ = try second.load([Partition(1)]) { _ in } }
        try a.release([1, 2])
        try b.claim([1, 2])
        failure(.misplaced) { _ = try second.load([Partition(1), Partition(3)]) { _ in } }
        var entries: [QueueEntry] = []
        let registry = try second.load([Partition(1), Partition(2)]) { entries.append($0) }
        #expect(entries.map(\.row.value) == [2, 4, 5])
        #expect(registry.devices.map(\.name) == ["d1", "d2"] && registry.registrations.count == 2)
        // The rows of the new owner are above those of the earlier one.
        #expect(try second.scan().entries.isEmpty)
        let (older, newer) = (try #require(try a.node("a")), try #require(try b.node("b")))
        #expect(newer.generation > older.generation)
    }

    @Test("A node that takes a partition over gets its receipts", arguments: Engine.fenced)
    func receipts(_ engine: Engine) throws {
        let fixture = try ClusterFixture(engine)
        let (a, b) = (try fixture.member("a", claiming: [1, 2]), try fixture.member("b"))
        let (first, second) = (try fixture.ledger(of: a), try fixture.ledger(of: b))
        func receipt(_ row: Int64, _ outcome: Receipt.Outcome?) -> Receipt {
            Receipt(
                row: QueueRow(row), device: device(in: 1), registration: RegistrationNumber(1),
                subscription: ReceiptSubscription(device(in: 2)), expiresAt: Moment(milliseconds: 9),
                outcome: outcome)
        }
        var batch = QueueBatch()
        batch.receipts = [.put(receipt(2, nil)), .put(receipt(1, nil)), .put(receipt(3, .delivered))]
        first.commit(batch) { result in #expect(throws: Never.self) { try result.get() } }
        #expect(try first.loadReceipts().isEmpty, "they are loaded by partition")
        failure(.misplaced) { _ = try second.loadReceipts(of: [Partition(1)]) }
        try a.release([1, 2])
        try b.claim([1, 2])
        // A promise is kept at the device's home, and a receipt with its outcome where its sender reads it.
        #expect(try second.loadReceipts(of: [Partition(1)]) == [receipt(1, nil), receipt(2, nil)])
        #expect(try second.loadReceipts(of: [Partition(2)]) == [receipt(3, .delivered)])
        #expect(try second.loadReceipts(of: [Partition(1), Partition(2)]).map(\.row.value) == [1, 2, 3])
        // What the former home says too late changes nothing.
        batch.receipts = [.put(receipt(4, nil)), .put(receipt(1, .ended)), .remove(QueueRow(3))]
        first.commit(batch) { result in #expect(throws: Never.self) { try result.get() } }
        #expect(try second.loadReceipts(of: [Partition(1)]) == [receipt(1, nil), receipt(2, nil)])
        #expect(try second.loadReceipts(of: [Partition(2)]) == [receipt(3, .delivered)])
        batch.receipts = [.put(receipt(1, .ended)), .remove(QueueRow(3)), .remove(QueueRow(9))]
        second.commit(batch) { result in #expect(throws: Never.self) { try result.get() } }
        #expect(try second.loadReceipts(of: [Partition(1)]) == [receipt(2, nil)])
        #expect(try second.loadReceipts(of: [Partition(2)]) == [receipt(1, .ended)])
    }
}
