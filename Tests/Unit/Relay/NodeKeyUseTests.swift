import PostriderCluster
import PostriderCrypto
import PostriderNotifications
import PostriderStorage
import RelayFixtures
import Testing

@testable import PostriderRelay

@Suite("Enrolments at several nodes")
struct NodeKeyUseTests {
    private let fixture = NodesFixture()
    private let nodes: [FixtureNode]
    private let operators: [NodeOperator]
    private static let digest = SHA256.digest(Array(Provider.enrolmentKey.utf8).span).bytes

    init() throws {
        nodes = [try fixture.start("a"), try fixture.start("b", shards: 3), try fixture.start("c")]
        operators = nodes.map(NodeOperator.init)
        fixture.wait(milliseconds: 15_000)
    }

    private var registry: Registry {
        get throws { try MemoryStore(disk: fixture.database.disk).loadRegistry() }
    }

    /// A device asks this node to enrol it.
    private func enrol(_ number: UInt64, at node: Int) throws -> DeviceIdentity {
        let shards = nodes[node].shards
        let shard = shards[0]
        let low = try #require(
            (0..<1024 as Range<UInt32>).first { low in
                let device = DeviceIdentity(high: number, low: low)
                return !shard.context.isElsewhere(device) && shard.context.home(of: device) == 0
            })
        let record = DeviceRecord(
            identity: DeviceIdentity(high: number, low: low), secretDigest: [UInt8](repeating: 7, count: 32),
            name: "phone-\(number)", enrolledAt: Samples.now)
        let address = ReplyAddress(shard: 0, stream: 1, connection: 999)
        shard.home.enrol(record, [], Self.digest, address)
        return record.identity
    }

    @Test("with the last use of a key at the same time have one winner, and every node knows the count then")
    func race() throws {
        let key = EnrolmentKeyRecord(
            name: "fleet", digest: Self.digest, addedAt: Samples.now, uses: 2, used: 1)
        MemoryStore(disk: fixture.database.disk).apply([.putEnrolmentKey(key)]) { _ in }
        let devices = try [enrol(2001, at: 0), enrol(2002, at: 1)]
        fixture.settle()
        let stored = Set(try registry.devices.map(\.identity))
        #expect(devices.count { stored.contains($0) } == 1)
        #expect(try registry.enrolmentKeys.map(\.used) == [2])
        #expect(devices.count { device in nodes.contains { $0.home(of: device) != nil } } == 1)
        // The thread of a node does this when a heartbeat shows a newer version.
        for node in nodes { node.shards[0].changes.whenSharedChanged?(2) }
        fixture.settle()
        for (node, asked) in zip(nodes, operators) {
            #expect(node.shards[0].context.enrolmentUses.count(of: Self.digest) == 2)
            let keys = try #require(asked.ask("GET", "/v1/enrolment-keys"))
                .decoded([Control.EnrolmentKey].self)
            #expect(keys.map(\.used) == [2])
        }
    }
}
