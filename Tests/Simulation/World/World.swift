import PostriderEndpoints
import PostriderNotifications
import PostriderStorage
import PostriderTransport

@testable import PostriderProviderAPI
@testable import PostriderRelay

/// A relay with its disk, its providers and its devices, in simulated time: a seed decides what happens next.
final class World {
    static let enrolmentKey = "enrol-simulated"
    static let topics = ["app.one", "app.two"]

    var chance: Chance
    let clock = SimulatedClock()
    let findings = Findings()
    let house: SimulatedHouse
    let fault: DeliberateFault?
    var relay: SimulatedRelay
    let devices: [SimulatedDevice]
    var providers: [SimulatedProvider] = []
    var clients: [SimulatedWire] = []
    var isDraining = false
    var isEnding = false
    private var lastWire = 0
    private var lastProvider = 0

    /// The observer's knowledge: every push.
    var pushes: Pushes
    /// For each device and priority, the event in which the latest received push was sent.
    var youngest: [Lane: Int] = [:]
    /// The same for each connection: the number of the last push that arrived.
    var last: [Lane: Int] = [:]
    /// For each dead token, the end of its registration as a provider was told.
    var ends: [String: Int] = [:]
    /// Pushes to repeat, because their result is unknown or was 503.
    var resendable: [Int] = []
    /// The events in which a relay was killed.
    var crashes: [Int] = []
    var channels = SimulatedChannels()
    let web: SimulatedWeb
    var deliveries = 0
    private(set) var welcomes = 0
    /// The number of devices that earlier processes of the relay asked to come back later.
    var formerDeferrals = 0
    var lives = 1
    var steps = 0
    /// Whether one device stays away while more pushes than the limit are made to it.
    let isFlooded: Bool
    /// Whether a restarted relay sometimes finds the clock a year ahead for a while.
    let isMistaken: Bool
    /// Whether each process of the relay has another number of shards.
    let isResized: Bool
    /// The possible depths of storage for an absent device; each process of the relay draws one.
    let storages: [APNsCompatibility.StorageDepth]
    /// The number of pushes that are left for the flood.
    var floodsLeft = 1_150

    /// The scope in which notifications keep their order.
    struct Lane: Hashable {
        let device: Int
        let priority: String
        var connection = 0
        /// For a device whose reception holds back some notifications: their app and whether they can wait.
        var like = ""
    }

    /// Creates a world, perhaps with a deliberate fault. With every second seed only the latest notification of each
    /// app is stored, as at Apple. With every fourth, each process of the relay has another number of shards. With
    /// every eighth, each draws its depth of storage. With every third, a shard fetches for one device at a time.
    /// With every fifth, the clock is sometimes wrong. With every tenth, one device is flooded.
    init(seed: UInt64, fault: DeliberateFault? = nil) throws {
        let chance = Chance(seed: seed)
        let findings = findings
        web = SimulatedWeb(findings)
        self.chance = chance
        self.fault = fault
        isFlooded = seed % 10 == 7
        isMistaken = seed % 5 == 3
        isResized = seed % 4 == 1
        storages = seed % 8 == 4 ? [.latest, .queue] : seed.isMultiple(of: 2) ? [.latest] : [.queue]
        pushes = Pushes(storages)
        house = SimulatedHouse(
            clock: clock, chance: chance, findings: findings, disk: SimulatedDisk(chance, fault),
            places: seed.isMultiple(of: 3) ? 1 : Limits.fetches.usual, fault: fault)
        MemoryStore(disk: house.disk.disk).apply(Self.registry(chance)) { _ in }
        relay = try SimulatedRelay(shards: 3, storage: storages[0], in: house)
        devices = (0..<7).map { index in
            SimulatedDevice(
                index: index,
                wanted: ["app.one": .production, "app.two": index < 2 ? .development : .production],
                findings: findings)
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
            .addTokenSecret(chance.bytes(DeviceTokenCodec.secretByteCount)),
            .putProviderKey(
                ProviderKeyRecord(
                    identifier: "KEY0000001", team: "TEAM000001", publicKey: key, addedAt: now)),
            .putEnrolmentKey(
                EnrolmentKeyRecord(name: "all", digest: EnrolmentKey.digest(enrolmentKey), addedAt: now)),
        ] + topics.compactMap { Topic($0) }.map { .putTopic(TopicRecord(topic: $0, team: "TEAM000001")) }
    }

    var events: Int { findings.events }
    var now: Moment { Moment(milliseconds: clock.wallMilliseconds) }
    var sessions: [SimulatedDeviceSession] { devices.compactMap(\.session) }
    var disk: SimulatedDisk { house.disk }

    func noteWelcome() { welcomes += 1 }

    // MARK: What goes on by itself

    /// Delivers bytes or messages, or ends a commit, a few times. Returns false if nothing is under way.
    @discardableResult
    func exchange() -> Bool {
        var readers: [SimulatedWire] = []
        for wire in relay.wires where wire.hasInput { readers.append(wire) }
        for wire in clients where wire.hasInput { readers.append(wire) }
        guard !readers.isEmpty || relay.isCommitting || !relay.addressees.isEmpty else { return false }
        for _ in 0..<chance.number(1...4) { exchange(among: readers) }
        return true
    }

    /// Lets one of these ends receive bytes, or one loop its messages, or ends a commit.
    private func exchange(among readers: [SimulatedWire]) {
        let addressees = relay.addressees
        let count = readers.count + addressees.count + (relay.isCommitting ? 1 : 0)
        guard count > 0 else { return }
        let choice = chance.number(0...count - 1)
        if choice < readers.count {
            let wire = readers[choice]
            guard wire.hasInput else { return }
            let bytes = chance.once(in: 4) ? chance.number(1...40) : chance.number(1...20_000)
            if let shard = wire.shard {
                relay.turn(shard) { wire.receive(upTo: bytes) }
            } else {
                wire.receive(upTo: bytes)
                wire.endTurn()
            }
        } else if choice < readers.count + addressees.count {
            relay.deliver(to: addressees[choice - readers.count])
        } else {
            relay.endCommit()
        }
        findings.count()
    }

    func endClientTurns() {
        var hasLost = false
        for wire in clients {
            wire.endTurn()
            hasLost = hasLost || wire.hasEnded
        }
        if hasLost {
            clients.removeAll(where: \.hasEnded)
            providers.removeAll { !$0.isOpen }
            web.senders.removeAll { !$0.isOpen }
        }
    }

    func advance(byMilliseconds interval: Int64) {
        clock.advance(byMilliseconds: interval) { timer in
            guard fault != .timersFail else { return }
            findings.count()
            relay.turn(timer.shard, timer.fire)
        }
        lookAtWaiting()
        missDeadLinks()
    }

    /// Delivers everything that is under way.
    func rest() {
        endClientTurns()
        while exchange() { endClientTurns() }
    }

    /// The same, including messages that wait for a timer because a mailbox was full.
    func restFully() {
        rest()
        advance(byMilliseconds: 10)
        rest()
    }

    // MARK: Connections

    func connectSomebody() {
        if providers.count < 4, chance.once(in: 3) {
            connectProvider(chance.once(in: 3) ? .development : .production)
        } else if let device = chance.pick(devices),
            mayReturn(device) || chance.once(in: 6) && !isAway(device)
        {
            connect(device)
        }
    }

    func connectProvider(_ environment: PostriderNotifications.Environment) {
        lastProvider += 1
        let provider = SimulatedProvider(self, lastProvider, environment)
        let isConnected = connect(provider.endpoint) {
            ProviderSession(environment: environment, among: $0.providers).endpoint
        }
        if isConnected { providers.append(provider) }
    }

    func connect(_ device: SimulatedDevice) {
        let session = SimulatedDeviceSession(
            self, device, keepaliveSeconds: chance.pick(Self.keepaliveSeconds) ?? 30)
        if connect(session.endpoint, { DeviceSession(among: $0.devices).endpoint }) {
            device.session = session
        }
    }

    /// Connects a client to a shard, unless the shard no longer listens.
    func connect(_ client: any ConnectionHandler, _ accept: (Shard) -> any ConnectionHandler) -> Bool {
        guard let shard = chance.pick(relay.shards), !shard.context.isDraining else { return false }
        findings.count()
        lastWire += 1
        let ends = SimulatedWire.pair(
            lastWire, shard: shard.index, server: accept(shard), client: client,
            trickle: chance.once(in: 12) ? chance.number(1...500) : 0,
            reorders: fault == .wireReorders && client is HTTP2Handler)
        relay.turn(shard.index) { relay.accept(ends.server) }
        clients.append(ends.client)
        ends.client.opened()
        return true
    }

    /// Ends the world and releases all connections and their owners.
    func end() {
        relay.die()
        for wire in clients { wire.cut() }
        endClientTurns()
    }
}
