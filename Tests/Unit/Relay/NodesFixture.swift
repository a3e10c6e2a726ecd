import PostriderCluster
import PostriderCrypto
import PostriderNotifications
import PostriderSeededRandom
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
    var flaw: NodesWorld.Finding?
    /// The access policy of all nodes.
    let authority: AccessPolicy

    /// Devices, each of a partition of its own, whose app has registered.
    let devices: [DeviceIdentity]
    /// From what the shards draw; nil if they count.
    private var random: SplitMix64?

    /// Nodes whose devices have these apps, with a subscription of Web Push for each topic of UnifiedPush. With a seed,
    /// each process of a node draws other numbers.
    init(
        partitions: Int = Partition.count, fault: NodesFault? = nil,
        authority: AccessPolicy = Provider.shared.authority, topics: [Topic] = [Samples.topic],
        seed: UInt64? = nil, hasTraces: Bool = false
    ) {
        self.hasTraces = hasTraces
        database = MemoryCluster(partitions: partitions)
        self.fault = fault
        self.authority = authority
        random = seed.map { SplitMix64(seed: $0) }
        let secret = DeviceFixture.secret
        let digest = SHA256.digest(secret.span).bytes
        devices = (0..<16).map {
            DeviceIdentity(high: UInt64($0) + 1, low: UInt32($0 * 61 % partitions))
        }
        let changes = devices.flatMap { device -> [RegistryChange] in
            let record = DeviceRecord(
                identity: device, secretDigest: digest, name: "\(device)", enrolledAt: Samples.now)
            let apps = topics.enumerated().flatMap { index, topic -> [RegistryChange] in
                let number = RegistrationNumber(UInt32(index + 1))
                let registration = RegistryChange.putRegistration(
                    Samples.registration(number, of: topic, on: device))
                guard topic.isOfUnifiedPush else { return [registration] }
                let subscription = WebSubscription(
                    device: device, number: number, channel: topic.text, senderKey: nil)
                return [registration, .putWebSubscription(subscription)]
            }
            return [.putDevice(record)] + apps
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

    /// Makes what a shard draws its numbers from.
    func makeRandom() -> any RandomSource {
        guard let seed = random?.next() else { return Numbers() }
        return SeededNumbers(seed)
    }

    /// The node that has a device's partition, as the database says.
    func owner(of device: DeviceIdentity) -> NodeName? {
        database.placement.owner(of: Partition(of: device))
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

/// Numbers that a seed decides, where the relay draws random ones.
final class SeededNumbers: RandomSource {
    private var generator: SplitMix64

    init(_ seed: UInt64) { generator = SplitMix64(seed: seed) }

    func next() -> UInt64 { generator.next() }

    func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) } }
}
