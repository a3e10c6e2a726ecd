import PostriderEndpoints
import PostriderNotifications
import PostriderStorage
import PostriderTransport

@testable import PostriderRelay

/// A relay with its disk, its providers and its devices, in a time of their own: what happens next is drawn
/// from a seed.
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
    private var lastWire = 0
    private var lastProvider = 0

    /// What the observer knows: every push.
    var pushes: Pushes
    /// By device and priority: when the youngest push that it has received was sent.
    var youngest: [Lane: Int] = [:]
    /// By connection as well: the number of the last push that came.
    var last: [Lane: Int] = [:]
    /// By dead token: since when, as a provider was told.
    var ends: [String: Int] = [:]
    /// Pushes to be sent again, since nobody knows what became of them or the answer was 503.
    var resendable: [Int] = []
    /// The events at which a relay was killed.
    var crashes: [Int] = []
    var channels = SimulatedChannels()
    var deliveries = 0
    private(set) var welcomes = 0
    /// How many devices the relay did not let in at once, in lives before this one.
    var formerDeferrals = 0
    var lives = 1
    var steps = 0
    /// One device stays away while more is pushed to it than is kept.
    let isFlooded: Bool
    /// Whether a relay that is started again finds the clock a year ahead for a while.
    let isMistaken: Bool
    /// Whether each life of the relay has another number of shards.
    let isResized: Bool
    /// How much waits for an absent device, of which each life of the relay has one; of several it is drawn.
    let storages: [APNsCompatibility.StorageDepth]
    /// How many pushes the flood still has.
    var floodsLeft = 1_150

    /// Where notifications keep their order.
    struct Lane: Hashable {
        let device: Int
        let priority: String
        var connection = 0
        /// Of a device with wishes, which hold back some of what waits: what it is for, and whether it can wait.
        var like = ""
    }

    /// A world, perhaps with a fault that somebody built in. With every second seed only the latest of each app
    /// waits, as at Apple; with every fourth, each life of the relay has another number of shards, with every eighth it
    /// is drawn how much waits in each; with every third, a shard fetches for one device at a time; with every fifth,
    /// the clock is mistaken now and then; with every tenth, one device is flooded.
    init(seed: UInt64, fault: DeliberateFault? = nil) throws {
        let chance = Chance(seed: seed)
        let findings = findings
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

    /// Bytes or letters arrive somewhere, or the disk has done its work; a few times. False: there is nothing on its
    /// way.
    @discardableResult
    func exchange() -> Bool {
        var readers: [SimulatedWire] = []
        for wire in relay.wires where wire.hasInput { readers.append(wire) }
        for wire in clients where wire.hasInput { readers.append(wire) }
        guard !readers.isEmpty || relay.isCommitting || !relay.addressees.isEmpty else { return false }
        for _ in 0..<chance.number(1...4) { exchange(among: readers) }
        return true
    }

    /// One of these ends receives what is there for it, or one loop its letters, or the disk has done its work.
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
        }
    }

    func advance(byMilliseconds interval: Int64) {
        clock.advance(byMilliseconds: interval) { timer in
            guard fault != .timersFail else { return }
            findings.count()
            relay.turn(timer.shard, timer.fire)
        }
        missDeadLinks()
    }

    /// Everything that is on its way arrives.
    func rest() {
        endClientTurns()
        while exchange() { endClientTurns() }
    }

    /// The same, with letters that have met a full mailbox and wait for a timer.
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

    /// Connects a client to a shard, unless it has stopped listening.
    private func connect(_ client: HTTP2Handler, _ accept: (Shard) -> HTTP2Handler) -> Bool {
        guard let shard = chance.pick(relay.shards), !shard.context.isDraining else { return false }
        findings.count()
        lastWire += 1
        let ends = SimulatedWire.pair(
            lastWire, shard: shard.index, server: accept(shard), client: client,
            trickle: chance.once(in: 12) ? chance.number(1...500) : 0, reorders: fault == .wireReorders)
        relay.turn(shard.index) { relay.accept(ends.server) }
        clients.append(ends.client)
        ends.client.opened()
        return true
    }

    /// The world is over: connections and those who hold them are let go.
    func end() {
        relay.die()
        for wire in clients { wire.cut() }
        endClientTurns()
    }
}
