import PostriderChannels
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
    func push(_ number: Int32, to device: DeviceIdentity) {
        let end = Samples.now.advanced(byMilliseconds: 600_000)
        push(
            Samples.notification(UInt64(number), expiration: .at(end), device: device), as: number, at: 0)
    }

    /// Posts a push to a shard of this node. The number is that of the result.
    func push(_ notification: Notification, as number: Int32, at shard: Int) {
        let address = ReplyAddress(shard: Int32(shard), stream: number, connection: 99)
        if let rejection = shards[shard].home.route(notification, address) {
            results[number] = .rejected(rejection)
        }
    }

    /// Posts an order about the channels of an app to a shard of this node. The number is that of the answer.
    func order(_ order: ChannelCommand, of owner: ChannelOwner, as number: Int32, at shard: Int) {
        let address = ReplyAddress(shard: Int32(shard), stream: number, connection: 98)
        let request = WaitingRequest(.order(order, owner), address)
        if let rejection = shards[shard].context.waiting.route(request) {
            answers[number] = .rejected(rejection)
        }
    }

    /// The number of partitions that the node serves.
    var servedCount: Int { work.servedCount(at: fixture.clock.now) }

    /// The shard that has a device; nil if none has.
    func home(of device: DeviceIdentity) -> Shard? { shards.first { $0.home.entries[device] != nil } }

    /// A device at its home; nil if that is not here.
    func entry(of device: DeviceIdentity) -> DeviceEntry? { home(of: device)?.home.entries[device] }

    /// The counters of all shards.
    var tally: Tally { shards.reduce(into: Tally()) { $0 += $1.home.tally } }

    /// Whether it accepts pushes for a device at this moment, as far as the membership is concerned.
    func serves(_ device: DeviceIdentity) -> Bool { shards.contains { !$0.context.isElsewhere(device) } }

    /// Lets a device connect at its home, and returns its connection.
    func connect(_ device: DeviceIdentity) -> FixtureSession? {
        guard let shard = home(of: device), let entry = shard.home.entries[device] else { return nil }
        let session = FixtureSession()
        entry.session = session
        shard.home.with(entry) { device, now, tally, effects in
            device.connected(now: now, &tally, &effects)
        }
        return session
    }

    /// The same, and tells those who follow what happens to devices.
    func welcome(_ device: DeviceIdentity) -> FixtureSession? {
        guard let session = connect(device), let home = home(of: device)?.home, let entry = entry(of: device)
        else { return nil }
        home.noteConnected(entry, at: "192.0.2.7", agent: "test/1", insteadOf: nil)
        return session
    }

    /// A device acknowledges everything that it has over a connection.
    func acknowledge(_ device: DeviceIdentity, _ session: FixtureSession) {
        guard let shard = home(of: device), let entry = shard.home.entries[device], entry.session === session
        else { return }
        let stranger = shard.home.acknowledged(session.takeDeliveries(), by: entry)
        precondition(stranger == nil, "what was delivered over a connection is under way")
    }

    /// The connection of a device is over.
    func disconnected(_ device: DeviceIdentity, _ session: FixtureSession) {
        guard let shard = home(of: device), let entry = shard.home.entries[device], entry.session === session
        else { return }
        shard.home.connectionEnded(of: entry, .cut)
    }

    /// The relay stops: the shards say goodbye to all connections.
    func stop() { for index in mail.indices { mail[index].append(.lifecycle(.drain)) } }
}
