import Courier
import Crypto
import Endpoints
import Notifications
import Storage
import Testing
import Transport

@testable import Relay

/// A relay with its disk, its providers and its devices, in a time of their own: what happens next is drawn
/// from a seed.
final class World {
    static let enrolmentKey = "enrol-simulated"
    private static let shardCount = 3
    static let topics = ["app.one", "app.two"]
    private static let faults: [Push.Fault] = [
        .method, .forgedToken, .topic, .payload, .hugeBody, .reset,
    ]

    var chance: Chance
    let clock = SimulatedClock()
    let disk = MemoryStore.Disk()
    let memory = WatchedStore.Memory()
    let traceDisk = MemoryTrace.Disk()
    private(set) var relay: SimulatedRelay
    /// How much waits for an absent device: with every second seed the latest of each app, as at Apple.
    let storage: Fidelity.StorageDepth
    let devices: [SimulatedDevice]
    private(set) var providers: [SimulatedProvider] = []
    private var clients: [SimulatedWire] = []
    private(set) var isDraining = false
    private var lastWire = 0

    /// What the observer knows: every push by its number.
    var pushes: [Push] = []
    /// By device and priority: when the youngest push that it has received was sent.
    var youngest: [Int: Int] = [:]
    private(set) var events = 0
    var channels = SimulatedChannels()
    var deliveries = 0
    var welcomes = 0
    private(set) var lives = 1

    init(seed: UInt64) throws {
        chance = Chance(seed: seed)
        storage = seed.isMultiple(of: 2) ? .latest : .queue
        let store = WatchedStore(disk, memory)
        store.apply(Self.registry(chance)) { _ in }
        relay = try SimulatedRelay(
            shards: Self.shardCount, store: store, clock: clock, chance: chance, storage: storage,
            trace: traceDisk)
        devices = (0..<7).map { index in
            SimulatedDevice(
                index: index,
                wanted: ["app.one": .production, "app.two": index < 2 ? .development : .production])
        }
    }

    private static func registry(_ chance: Chance) -> [RegistryChange] {
        let now = Moment(milliseconds: SimulatedClock.beginning)
        let key = """
            -----BEGIN PUBLIC KEY-----
            MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE5q4xzZpr4grXnwel/hvpGFM995PH
            qAfd1Tbbbs2PeLsQ1gZBf+4ao3F75wO7y/ObM+DcI5DOnPOLtccn1x7wRw==
            -----END PUBLIC KEY-----
            """
        return [
            .addTokenSecret(chance.bytes(TokenSeal.secretByteCount)),
            .putProviderKey(
                ProviderKeyRecord(
                    identifier: "KEY0000001", team: "TEAM000001", publicKey: key, addedAt: now)),
            .putEnrolmentKey(
                EnrolmentKeyRecord(name: "all", digest: EnrolmentKey.digest(enrolmentKey), addedAt: now)),
        ] + topics.compactMap { Topic($0) }.map { .putTopic(TopicRecord(topic: $0, team: "TEAM000001")) }
    }

    var now: Moment { Moment(milliseconds: SimulatedClock.beginning + clock.milliseconds) }

    // MARK: What may happen

    func step() throws {
        switch chance.number(0...999) {
        case 0..<480: exchange()
        case 480..<640: push()
        case 640..<680:
            events += 1
            stepChannels()
        case 680..<790: acknowledge()
        case 790..<860: connectSomebody()
        case 860..<930: advance(byMilliseconds: Int64(chance.number(0...400)))
        case 930..<945: cutSomebody()
        case 945..<955: chance.pick(sessions)?.leave()
        case 955..<970: chance.pick(sessions)?.enrol()
        case 970..<985:
            chance.pick(sessions)?.register(
                chance.pick(["app.one", "app.two", "app.none", "not/a topic"]) ?? "",
                in: chance.once(in: 3) ? .development : .production)
        case 985..<992: memory.isFailing = chance.once(in: 2)
        case 992..<996: advance(byMilliseconds: 11_000)
        case 996 where chance.once(in: 2): try crash()
        case 997 where chance.once(in: 3): try restartInOrder()
        default: memory.isFailing = false
        }
        endClientTurns()
    }

    var sessions: [SimulatedDeviceSession] { devices.compactMap(\.session) }

    /// Bytes or letters arrive somewhere. False: there are none.
    @discardableResult
    private func exchange() -> Bool {
        events += 1
        let servers = relay.wires.filter(\.hasInput)
        let readers = clients.filter(\.hasInput)
        let addressees = relay.addressees
        let count = servers.count + readers.count + addressees.count
        guard count > 0 else { return false }
        let choice = chance.number(0...count - 1)
        let bytes = chance.once(in: 4) ? chance.number(1...40) : chance.number(1...20_000)
        if choice < servers.count {
            let wire = servers[choice]
            if let shard = wire.shard { relay.turn(shard) { wire.receive(upTo: bytes) } }
        } else if choice < servers.count + readers.count {
            readers[choice - servers.count].receive(upTo: bytes)
        } else {
            relay.deliver(to: addressees[choice - servers.count - readers.count])
        }
        return true
    }

    private func endClientTurns() {
        for wire in clients { wire.endTurn() }
        clients.removeAll(where: \.hasEnded)
        providers.removeAll { !$0.isOpen }
    }

    private func advance(byMilliseconds interval: Int64) {
        clock.advance(byMilliseconds: interval) { timer in
            events += 1
            relay.turn(timer.shard, timer.fire)
        }
    }

    private func push() {
        events += 1
        guard let device = chance.pick(devices),
            let topic = chance.pick(device.registrations.keys.sorted()),
            let registration = device.registrations[topic],
            let provider = chance.pick(
                providers.filter { chance.once(in: 12) || $0.environment == registration.environment })
        else { return }
        let isNowOrNever = chance.once(in: 6)
        let isAstray = provider.environment != registration.environment
        let push = Push(
            number: pushes.count, device: device.index, topic: topic, token: registration.deviceToken.hex,
            fault: isAstray ? .environment : chance.once(in: 8) ? chance.pick(Self.faults) ?? .none : .none,
            priority: chance.pick(["10", "5", "1"]) ?? "10",
            expiresAt: !isNowOrNever && chance.once(in: 4)
                ? now.advanced(byMilliseconds: Int64(chance.number(0...20_000))) : nil,
            isNowOrNever: isNowOrNever,
            collapse: chance.once(in: 3) ? "c\(pushes.count / 60)" : nil,
            sentAt: events)
        if provider.send(push) { pushes.append(push) }
    }

    private func acknowledge() {
        events += 1
        guard let session = chance.pick(sessions) else { return }
        session.acknowledge(chance.number(1...12))
    }

    private func connectSomebody() {
        events += 1
        if providers.count < 4, chance.once(in: 3) {
            let provider = SimulatedProvider(self, chance.once(in: 3) ? .development : .production)
            if connect(
                provider.endpoint,
                {
                    ProviderSession(
                        number: $0.drawNumber(), environment: provider.environment, shard: $0
                    ).endpoint
                })
            {
                providers.append(provider)
            }
        } else if let device = chance.pick(devices), device.session == nil || chance.once(in: 10) {
            connect(device)
        }
    }

    private func connect(_ device: SimulatedDevice) {
        let session = SimulatedDeviceSession(self, device)
        if connect(session.endpoint, { DeviceSession(number: $0.drawNumber(), shard: $0).endpoint }) {
            device.session = session
        }
    }

    /// Connects a client to a shard, unless it has stopped listening.
    private func connect(_ client: Endpoint, _ accept: (Shard) -> Endpoint) -> Bool {
        guard let shard = chance.pick(relay.shards), !shard.isDraining else { return false }
        lastWire += 1
        let ends = SimulatedWire.pair(lastWire, shard: shard.index, server: accept(shard), client: client)
        relay.turn(shard.index) { relay.accept(ends.server) }
        clients.append(ends.client)
        ends.client.opened()
        return true
    }

    /// Both ends of a connection are cut, wherever it is.
    private func cutSomebody() {
        guard let client = chance.pick(clients) else { return }
        let server = client.other
        client.cut()
        server?.cut()
        if let shard = server?.shard { relay.turn(shard) }
    }

    // MARK: The end of a relay, and the next one

    private func crash() throws {
        relay.die()
        for wire in clients { wire.cut() }
        try startAgain()
    }

    private func startAgain() throws {
        endClientTurns()
        memory.isFailing = false
        lives += 1
        relay = try SimulatedRelay(
            shards: Self.shardCount, store: WatchedStore(disk, memory), clock: clock, chance: chance,
            storage: storage, trace: traceDisk)
    }

    private func restartInOrder() throws {
        memory.isFailing = false
        isDraining = true
        relay.post(.drain)
        for _ in 0..<200 where relay.drainedCount < Self.shardCount {
            rest()
            advance(byMilliseconds: 100)
        }
        #expect(relay.drainedCount == Self.shardCount, "every shard is drained in time")
        relay.closeLedger()
        rest()
        #expect(relay.isClosed, "the ledger is closed")
        isDraining = false
        try crash()
    }

    /// Everything that is on its way arrives.
    private func rest() {
        endClientTurns()
        while exchange() { endClientTurns() }
    }

    /// The world is over: connections and those who hold them are let go.
    func end() {
        relay.die()
        for wire in clients { wire.cut() }
        endClientTurns()
    }

    func restForChannels() { rest() }

    /// No more pushes and no more faults: everybody connects and takes what there is.
    func finish() {
        memory.isFailing = false
        for _ in 0..<3000 {
            rest()
            for device in devices where device.session == nil { connect(device) }
            for session in sessions {
                session.acknowledge(.max)
                if session.isWelcome { session.say(.fetch) }
            }
            rest()
            let pending = relay.shards.reduce(0) { $0 + $1.tally.pending }
            if pending == 0, sessions.count == devices.count,
                sessions.allSatisfy({ $0.isWelcome && $0.isIdle }),
                providers.allSatisfy({ $0.openCount == 0 })
            {
                // The last letters to the ledger may have met a full mailbox, and wait for a timer.
                advance(byMilliseconds: 10)
                rest()
                check()
                return checkChannels()
            }
            advance(byMilliseconds: 200)
        }
        Issue.record("the world does not come to rest")
    }
}
