import PostriderCluster
import PostriderNotifications
import RelayFixtures

@testable import PostriderDeviceQueue
@testable import PostriderRelay

// What tests do with a node, and look at.
extension FixtureNode {
    /// Stops the process. Its clock goes on.
    func pause() {
        isPaused = true
        clock.isStopped = true
    }

    func wake() {
        isPaused = false
        if isAlive { clock.goOn() }
    }

    /// Whether the process runs.
    var isAwake: Bool { isAlive && !isPaused }

    /// Lets something happen to the node: now, or when it runs again.
    func whenAwake(_ happening: @escaping () -> Void) { later.append(happening) }

    func leave() {
        isLeaving = true
        events.append(.leave)
    }

    func drain() {
        isLeaving = true
        events.append(.drain)
    }

    /// Posts a push to this node.
    ///
    /// - Parameter attempt: the number of the result, if the push is posted several times.
    func push(_ number: Int32, to device: DeviceIdentity, as attempt: Int32? = nil, at shard: Int = 0) {
        let stream = attempt ?? number
        let address = ReplyAddress(shard: Int32(shard), stream: stream, connection: 99)
        let notification = Samples.notification(
            UInt64(number), expiration: .at(Samples.now.advanced(byMilliseconds: 600_000)), device: device)
        if let rejection = shards[shard].home.route(notification, address) {
            results[stream] = .rejected(rejection)
        }
    }

    /// The number of partitions that the node serves.
    var servedCount: Int { work.servedCount(at: fixture.clock.now) }

    /// The shard that has a device; nil if none has.
    func home(of device: DeviceIdentity) -> Shard? { shards.first { $0.home.entries[device] != nil } }

    /// The counters of all shards.
    var tally: Tally { shards.reduce(into: Tally()) { $0 += $1.home.tally } }

    /// Whether it accepts pushes for a device at this moment, as far as the membership is concerned.
    func serves(_ device: DeviceIdentity) -> Bool { shards.contains { !$0.context.isElsewhere(device) } }

    /// Lets a device connect at its home, and returns its connection.
    func connect(_ device: DeviceIdentity) -> FixtureSession? {
        let session = FixtureSession()
        return connect(device, session) ? session : nil
    }

    /// Lets a device connect at its home. Returns false if that is not here.
    func connect(_ device: DeviceIdentity, _ session: FixtureSession) -> Bool {
        guard let shard = home(of: device), let entry = shard.home.entries[device] else { return false }
        entry.session = session
        shard.home.with(entry) { device, now, tally, effects in
            device.connected(now: now, &tally, &effects)
        }
        return true
    }

    /// A device acknowledges deliveries, which are ignored if its connection is over here.
    func acknowledge(_ deliveries: [UInt64], _ device: DeviceIdentity, _ session: FixtureSession) {
        guard let shard = home(of: device), let entry = shard.home.entries[device], entry.session === session
        else { return }
        let stranger = shard.home.acknowledged(deliveries, by: entry)
        precondition(stranger == nil, "what was delivered over a connection is under way")
    }

    /// The connection of a device is over.
    func disconnected(_ device: DeviceIdentity, _ session: FixtureSession) {
        guard let shard = home(of: device), let entry = shard.home.entries[device], entry.session === session
        else { return }
        shard.home.connectionEnded(of: entry, .cut)
    }
}
