import PostriderCluster
import PostriderCourier
import PostriderNotifications
import RelayFixtures

@testable import PostriderRelay

/// A device of a ``NodesWorld``. It connects to any node; if another one is its home, that node is its edge.
final class NodesWorldDevice {
    let identity: DeviceIdentity
    /// What it got, in the order of first arrivals.
    private(set) var arrived: [NotificationIdentity] = []
    private var known: Set<NotificationIdentity> = []
    private(set) var link: NodesWorldLink?
    /// The last goodbye of a node on this link.
    private(set) var goodbye: Goodbye?
    /// When the device comes back, or gives up waiting for the end of a link after a goodbye.
    private var waitsUntil: UInt64 = 0
    /// How often it was welcomed, and told goodbye.
    private(set) var welcomes = 0
    private(set) var goodbyes = 0
    /// What it has of channels.
    var channels = NodesWorldSubscriptions()
    /// Hears of everything.
    var onEvent: (DeviceLink.Event) -> Void = { _ in }

    init(_ identity: DeviceIdentity) { self.identity = identity }

    /// Whether it is away, and may come back.
    func isReady(at now: UInt64) -> Bool { link == nil && now >= waitsUntil }

    /// Connects to a shard of a node, which need not be its home.
    func connect(to node: FixtureNode, at shard: Int) throws {
        let hello = Hello(
            deviceIdentity: identity, deviceSecret: DeviceFixture.secret, keepaliveSeconds: 1800,
            agent: "test/1", processInstance: 1)
        goodbye = nil
        channels.confirmed = []
        link = try NodesWorldLink(to: node, at: shard, hello) { [unowned self] in hear($0) }
    }

    private func hear(_ event: DeviceLink.Event) {
        switch event {
        case .deliver(let deliver):
            let identity = NodesWorld.identity(ofWebPush: deliver.payload) ?? deliver.identity
            if known.insert(identity).inserted { arrived.append(identity) }
        case .welcomed: welcomes += 1
        case .goodbye(let goodbye):
            self.goodbye = goodbye
            goodbyes += 1
        default: break
        }
        onEvent(event)
    }

    /// Hears some of what has arrived. Returns how a node has broken the protocol.
    func listen(at now: UInt64, _ portion: (Int) -> Int) -> String? {
        guard let link else { return nil }
        let wasWarned = goodbye != nil
        link.receive(portion)
        if !wasWarned, goodbye != nil { waitsUntil = now + Self.patience }
        if let complaint = link.complaint { return complaint }
        guard let goodbye, !Self.goodbyes.contains(goodbye.reason) else { return nil }
        return "goodbye \(goodbye.reason): \(goodbye.detail)"
    }

    /// What a relay may say although nobody has made a mistake.
    private static let goodbyes: [Goodbye.Reason] = [.shutdown, .overloaded, .replaced]
    /// For how long a device acknowledges after a goodbye, in nanoseconds.
    private static let patience: UInt64 = 3_000_000_000

    /// Acknowledges the first deliveries.
    func acknowledge(_ portion: (Int) -> Int) { link?.acknowledge(portion) }

    /// Closes the connection if it is over, and comes back when it was asked to, or at once.
    func lookAround(at now: UInt64, isPatient: Bool) {
        guard let link, link.isOver || goodbye != nil && now >= waitsUntil else { return }
        let pause = isPatient ? UInt64(goodbye?.retryAfterMilliseconds ?? 0) : 0
        leave(isAbrupt: false)
        waitsUntil = now + pause * 1_000_000
    }

    /// Closes the connection. The node hears of that when it runs.
    func leave(isAbrupt: Bool) {
        link?.hangUp(isAbrupt: isAbrupt)
        link = nil
        waitsUntil = 0
    }

    func has(_ identity: NotificationIdentity) -> Bool { known.contains(identity) }
}
