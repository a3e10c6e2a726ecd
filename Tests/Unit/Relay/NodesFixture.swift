import PostriderCluster
import PostriderCourier
import PostriderNotifications
import PostriderStorage
import RelayFixtures

@testable import PostriderDeviceQueue
@testable import PostriderProviderAPI
@testable import PostriderRelay

/// Some nodes of one cluster on a database in memory, without sockets and threads: real shards, ledgers, memberships
/// and switches. The test moves the clock.
final class NodesFixture {
    let clock = HandClock()
    let database: MemoryCluster
    /// A fault that somebody has built into the nodes.
    let fault: NodesFault?
    /// Whether the nodes keep a trace.
    let hasTraces: Bool
    private(set) var nodes: [NodeName: FixtureNode] = [:]
    /// What is wrong, as the nodes have found out themselves.
    var flaw: String?

    /// Devices, each of a partition of its own, whose app has registered.
    let devices: [DeviceIdentity]

    init(partitions: Int = Partition.count, fault: NodesFault? = nil, hasTraces: Bool = false) {
        self.hasTraces = hasTraces
        database = MemoryCluster(partitions: partitions)
        self.fault = fault
        devices = (0..<16).map {
            DeviceIdentity(high: UInt64($0) + 1, low: UInt32($0 * 61 % partitions))
        }
        let changes = devices.flatMap { device -> [RegistryChange] in
            let record = DeviceRecord(
                identity: device, secretDigest: [UInt8](repeating: 7, count: 32), name: "\(device)",
                enrolledAt: Samples.now)
            return [.putDevice(record), .putRegistration(Samples.registration(on: device))]
        }
        MemoryStore(disk: database.disk).apply(changes + [.addTokenSecret(Provider.secret)]) { _ in }
    }

    /// Starts a node with links to all others.
    @discardableResult
    func start(_ text: String, shards: Int = 2) throws -> FixtureNode {
        guard let name = NodeName(text) else { preconditionFailure("\(text) is a name") }
        let node = try startAlone(name, shards: shards)
        for other in nodes.values.sorted(by: { $0.name < $1.name }) where other.isAlive && other !== node {
            link(node, other)
            link(other, node)
        }
        return node
    }

    /// Starts a node without links, as the next process of its name if there was one.
    func startAlone(_ name: NodeName, shards: Int) throws -> FixtureNode {
        let node = try FixtureNode(name, shards: shards, in: self)
        nodes[name] = node
        return node
    }

    private var lastLink = 0

    /// Opens a link from one node to another.
    func link(_ from: FixtureNode, _ to: FixtureNode) {
        lastLink += 1
        from.begin(lastLink, to: to, isOutgoing: true)
        to.begin(lastLink, to: from, isOutgoing: false)
    }

    /// Lets everything happen that is under way.
    func settle() {
        let some = nodes.values.sorted { $0.name < $1.name }
        while some.map({ $0.turn() }).contains(true) {}
    }

    /// Lets time pass, in steps of less than a heartbeat.
    func wait(milliseconds: Int) {
        for _ in 0..<milliseconds / 50 {
            clock.advance(byMilliseconds: 50)
            for node in nodes.values.sorted(by: { $0.name < $1.name }) { node.lookAtClock() }
            settle()
        }
    }
}
