import PostriderEndpoints
import PostriderNotifications
import PostriderStorage
import PostriderTransport

@testable import PostriderDeviceQueue
@testable import PostriderProviderAPI
@testable import PostriderRelay

/// Everything that outlives a process of the relay.
struct SimulatedHouse {
    let clock: SimulatedClock
    let chance: Chance
    let findings: Findings
    let disk: SimulatedDisk
    let traceDisk = MemoryTrace.Disk()
    /// The number of fetches under way at which a shard still accepts one more device.
    let places: Int
    /// The deliberate fault of this run.
    let fault: DeliberateFault?
}

/// One process of a relay: real shards and a real ledger. Their messages wait until the world delivers them.
final class SimulatedRelay {
    private(set) var shards: [Shard] = []
    private(set) var drainedCount = 0
    private(set) var isClosed = false
    let house: SimulatedHouse
    /// The depth of storage for an absent device.
    let storage: APNsCompatibility.StorageDepth
    /// Quotas that refuse nothing: they count what the devices of all shards have.
    let quotas = QuotaSet(
        ["team=*", "topic=web-push"].compactMap { Quota("\($0) pending=1000000000 devices=1000000") })
    private let store: SimulatedStore
    private var ledger: Ledger?
    /// Fires when the ledger repeats a write that the disk has refused.
    private var owing: (any LoopTimer)?
    /// Fires when the ledger has waited long enough for others to share a commit.
    private var alarm: (any LoopTimer)?
    private var trace: TraceWriter?
    /// The records that the trace lost because its mailbox was full.
    let traceLosses = TraceLosses()
    private var mail: [[ShardMessage]]
    private var ledgerMail: [LedgerCommand] = []
    /// The server ends of connections that belong to this relay's loops.
    private(set) var wires: [SimulatedWire] = []
    private var turns = 0

    init(shards count: Int, storage: APNsCompatibility.StorageDepth, in house: SimulatedHouse) throws {
        self.house = house
        self.storage = storage
        mail = Array(repeating: [], count: count)
        let store = SimulatedStore(house.disk)
        self.store = store
        let loaded = try LoadedStore(store, shards: count)
        let policies = PolicyInForce(
            AccessPolicy(
                generation: 1, providerKeys: loaded.registry.providerKeys, topics: loaded.registry.topics,
                enrolmentKeys: loaded.registry.enrolmentKeys, log: .none))
        let rows = RowSequence(after: max(loaded.lastRow, MemoryTrace(disk: house.traceDisk).lastRow))
        ledger = Ledger(
            store: store, shardCount: count, log: .none,
            post: { [unowned self] message, shard in mail[shard].append(message) },
            copy: { _, _ in },
            rest: { [unowned self] in owing?.arm(afterMilliseconds: $0) },
            time: ledgerTime(),
            // Few pushes are under way here at a time.
            gather: GroupCommitPolicy(least: 2),
            onClosed: { [unowned self] in isClosed = true })
        owing = timer { $0.settleOwed() }
        alarm = timer { $0.goOn() }
        let trace = makeTrace()
        self.trace = trace
        let lag: Int64 = house.fault == .clockLags ? 5_000 : 0
        let keepsAll = house.fault == .relayKeepsAll
        for index in 0..<count {
            let context = ShardContext(
                index: index,
                scheduler: SimulatedScheduler(shard: index, clock: house.clock, lagMilliseconds: lag),
                outbox: outbox(of: index, among: count),
                rows: rows,
                codec: try DeviceTokenCodec(secrets: loaded.registry.tokenSecrets),
                policies: policies,
                random: house.chance,
                trace: TraceRecorder(ofShard: index, sample: 1, losses: traceLosses) { message in
                    trace.receive([message])
                    return true
                },
                log: .none)
            let settings = ShardSettings(
                deviceRules: DeviceRules(storage: keepsAll ? .queue : storage),
                throttle: ReconnectThrottle(places: house.places), quotas: quotas,
                webOrigin: SimulatedWeb.origin)
            let shard = Shard(
                context, settings, migrator: migrator(of: index),
                onDrained: { [unowned self] in drainedCount += 1 })
            shard.restore(loaded)
            shard.start()
            shards.append(shard)
        }
    }

    /// Whether the ledger is going to repeat a write that the disk has refused.
    var isOwing: Bool { owing?.isArmed == true }

    private func timer(_ ring: @escaping (Ledger) -> Void) -> any LoopTimer {
        SimulatedScheduler(shard: 0, clock: house.clock).makeTimer { [unowned self] in
            if let ledger { ring(ledger) }
        }
    }

    private func ledgerTime() -> LedgerTime {
        let clock = house.clock
        return LedgerTime(
            now: { UInt64(clock.milliseconds) * 1_000_000 },
            alarm: { [unowned self] moment in
                alarm?.arm(afterMilliseconds: Int(moment / 1_000_000) - Int(clock.milliseconds))
            },
            arrived: { [unowned self] in ledgerMail.count })
    }

    private func makeTrace() -> TraceWriter {
        TraceWriter(
            MemoryTrace(disk: house.traceDisk, segmentRecords: 500, mostSegments: .max), sample: 1,
            losses: traceLosses, log: .none, now: Moment(milliseconds: house.clock.wallMilliseconds),
            readClock: { [clock = house.clock] in UInt64(clock.milliseconds) * 1_000_000 },
            post: { [unowned self] message, shard in mail[shard].append(message) }, onClosed: {})
    }

    /// Makes an outbox; sometimes a mailbox has no room for all messages.
    private func outbox(of index: Int, among count: Int) -> Outbox {
        Outbox(
            ownIndex: index,
            shards: (0..<count).map { other in
                { [unowned self] messages in post(&messages, to: \.mail[other]) }
            },
            ledger: { [unowned self] messages in post(&messages, to: \.ledgerMail) })
    }

    private func post<ShardMessage>(
        _ messages: inout [ShardMessage], to box: ReferenceWritableKeyPath<SimulatedRelay, [ShardMessage]>
    ) -> Bool {
        let chance = house.chance
        let count = chance.once(in: 20) ? chance.number(0...messages.count) : messages.count
        self[keyPath: box] += messages[..<count]
        messages.removeFirst(count)
        return messages.isEmpty
    }

    private func migrator(of index: Int) -> ConnectionMigrator {
        ConnectionMigrator(
            detach: { ($0 as? SimulatedWire)?.detach().map { UInt64($0) } },
            adopt: { [unowned self] number in
                guard let wire = wires.first(where: { $0.number == Int(number) }) else { return nil }
                wire.adopt(by: index)
                return wire.session
            })
    }

    // MARK: Turns

    /// Runs the work of a loop before and after an event.
    func turn(_ index: Int, _ event: () -> Void = {}) {
        event()
        shards[index].turnEnded()
        var hasLost = false
        for wire in wires where wire.shard == index {
            wire.endTurn()
            hasLost = hasLost || wire.hasEnded
        }
        shards[index].turnEnded()
        if hasLost { wires.removeAll { $0.hasEnded } }
        turns += 1
        inspect(shards[index], thoroughly: turns.isMultiple(of: 16))
    }

    /// Whether the ledger has begun a batch that waits for the disk.
    var isCommitting: Bool { house.disk.writing != nil }

    /// Ends the commit; the disk has written it or failed.
    func endCommit() { store.endCommit() }

    /// The shards with messages, and the number of shards for the ledger if it has some.
    var addressees: [Int] {
        var some: [Int] = []
        for index in mail.indices where !mail[index].isEmpty { some.append(index) }
        return ledgerMail.isEmpty ? some : some + [mail.count]
    }

    /// Delivers some messages to one of them, in order.
    func deliver(to addressee: Int) {
        if addressee == mail.count {
            let some = Array(ledgerMail.prefix(house.chance.number(1...ledgerMail.count)))
            ledgerMail.removeFirst(some.count)
            ledger?.receive(some)
        } else {
            var some = Array(mail[addressee].prefix(house.chance.number(1...mail[addressee].count)))
            mail[addressee].removeFirst(some.count)
            spoil(&some)
            turn(addressee) { shards[addressee].receive(&some) }
        }
    }

    /// Applies the deliberate fault to messages.
    private func spoil(_ messages: inout [ShardMessage]) {
        switch house.fault {
        case .mailReorders: reversePushes(of: &messages)
        case .mailLoses: messages.removeAll { if case .push(.answer) = $0 { true } else { false } }
        default: break
        }
    }

    /// Reverses the order of pushes. That of other messages must be kept: a home tells the row of a message of Web Push
    /// before it accepts it.
    private func reversePushes(of messages: inout [ShardMessage]) {
        let places = messages.indices.filter {
            if case .push(.deliver) = messages[$0] { true } else { false }
        }
        let pushes = places.map { messages[$0] }
        for (place, push) in zip(places, pushes.reversed()) { messages[place] = push }
    }

    /// Connects a client to one of the shards.
    func accept(_ wire: SimulatedWire) {
        wires.append(wire)
        wire.opened()
    }

    func post(_ message: ShardMessage) { for index in mail.indices { mail[index].append(message) } }
    func closeLedger() { ledgerMail.append(.close) }

    /// The number of devices that were asked to come back later during reconnect storms.
    var deferrals: Int { shards.reduce(0) { $0 + Int($1.home.throttle.deferred) } }

    /// Ends the process; only the clients notice it, by the ends of their connections.
    func die() {
        for wire in wires { wire.cut() }
        for wire in wires {
            if wire.isMoving { wire.adopt(by: 0) }
            wire.endTurn()
        }
        wires = []
    }
}
