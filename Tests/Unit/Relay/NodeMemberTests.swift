import PostriderCluster
import PostriderCourier
import PostriderNotifications
import RelayFixtures
import Testing

@testable import PostriderDeviceQueue
@testable import PostriderRelay

@Suite("Nodes of a cluster")
struct NodeMemberTests {
    private let fixture = NodesFixture()

    private func expectBalance(_ nodes: FixtureNode..., at location: SourceLocation = #_sourceLocation) {
        for node in nodes {
            #expect(node.tally.isBalanced, "\(node.name): \(node.tally)", sourceLocation: location)
        }
    }

    /// Posts a push for each device, the pushes of even numbers to the first of these nodes.
    private func pushToAll(_ first: Int32, _ nodes: FixtureNode...) {
        for (index, device) in fixture.devices.enumerated() {
            nodes[index % nodes.count].push(first + Int32(index), to: device)
        }
        fixture.settle()
    }

    private func results(_ first: Int32, _ nodes: FixtureNode...) -> [PushResult?] {
        fixture.devices.indices.map { nodes[$0 % nodes.count].results[first + Int32($0)] }
    }

    @Test("A node serves nobody before it has read its partitions, and then every device")
    func alone() throws {
        let node = try fixture.start("a")
        for (index, device) in fixture.devices.enumerated() { node.push(100 + Int32(index), to: device) }
        #expect(node.servedCount == 0 && results(100, node).allSatisfy { $0 == nil })
        fixture.wait(milliseconds: 1_000)
        #expect(node.servedCount == Partition.count)
        pushToAll(200, node)
        #expect((results(100, node) + results(200, node)).allSatisfy { $0 == .accepted })
        #expect(node.tally.pending == 2 * UInt64(fixture.devices.count))
        expectBalance(node)
    }

    @Test("Two nodes share the partitions, and a push for any device may enter at either")
    func shared() throws {
        let first = try fixture.start("a")
        fixture.wait(milliseconds: 1_000)
        pushToAll(100, first)
        let second = try fixture.start("b", shards: 3)
        fixture.wait(milliseconds: 12_000)
        #expect(first.servedCount == 512 && second.servedCount == 512)
        pushToAll(200, first, second)
        #expect(results(200, first, second).allSatisfy { $0 == .accepted })
        for device in fixture.devices {
            #expect((first.home(of: device) == nil) != (second.home(of: device) == nil))
        }
        #expect(first.tally.pending + second.tally.pending == 2 * UInt64(fixture.devices.count))
        #expect(first.tally.moved > 0 && second.tally.moved == 0)
        expectBalance(first, second)
    }

    @Test("A node takes no partitions before it has links to and from each one that serves devices")
    func unreached() throws {
        let first = try fixture.start("a")
        fixture.wait(milliseconds: 1_000)
        let second = try fixture.startAlone(try #require(NodeName("b")), shards: 2)
        fixture.wait(milliseconds: 2_000)
        #expect(second.servedCount == 0 && second.work.awaited.map(\.text) == ["a"])
        fixture.link(second, first)
        fixture.wait(milliseconds: 2_000)
        #expect(second.servedCount == 0 && second.work.awaited.map(\.text) == ["a"])
        pushToAll(100, first)
        #expect(results(100, first).allSatisfy { $0 == .accepted })
        fixture.link(first, second)
        #expect(second.work.awaited.isEmpty)
        fixture.wait(milliseconds: 12_000)
        #expect(first.servedCount == 512 && second.servedCount == 512)
    }

    @Test("The devices of a node that is killed are served by the other with everything that was accepted")
    func killed() throws {
        let nodes = (try fixture.start("a"), try fixture.start("b"))
        fixture.wait(milliseconds: 12_000)
        pushToAll(100, nodes.0, nodes.1)
        #expect(results(100, nodes.0, nodes.1).allSatisfy { $0 == .accepted })
        nodes.1.kill()
        pushToAll(200, nodes.0)
        let answers = results(200, nodes.0)
        #expect(answers.contains(.accepted) && answers.contains(nil))
        fixture.wait(milliseconds: 2_500)
        #expect(nodes.0.servedCount == Partition.count)
        pushToAll(300, nodes.0)
        #expect((results(200, nodes.0) + results(300, nodes.0)).allSatisfy { $0 == .accepted })
        #expect(nodes.0.tally.pending == 3 * UInt64(fixture.devices.count))
        expectBalance(nodes.0)
    }

    @Test("A device hears from its old node that it has moved, and gets what waits at its new one in order")
    func moved() throws {
        let first = try fixture.start("a")
        fixture.wait(milliseconds: 1_000)
        pushToAll(100, first)
        var before: [DeviceIdentity: FixtureSession] = [:]
        for device in fixture.devices { before[device] = first.connect(device) }
        let second = try fixture.start("b")
        fixture.wait(milliseconds: 12_000)
        pushToAll(200, second, first)
        let moved = fixture.devices.enumerated().filter { second.home(of: $1) != nil }
        #expect(!moved.isEmpty && moved.count < fixture.devices.count)
        for (index, device) in fixture.devices.enumerated() {
            let hasMoved = moved.contains { $0.offset == index }
            #expect(before[device]?.goodbyes.contains(.shutdown) == hasMoved)
            guard hasMoved else { continue }
            let session = try #require(second.connect(device))
            fixture.settle()
            let numbers = [100, 200].map { NotificationIdentity(high: 1, low: $0 + UInt64(index)) }
            #expect(session.delivered == numbers)
        }
        expectBalance(first, second)
    }

    @Test(
        "A node that the database does not answer stops in time, and goes on if nobody has its partitions"
    )
    func cut() throws {
        let node = try fixture.start("a")
        fixture.wait(milliseconds: 1_000)
        node.isCut = true
        fixture.wait(milliseconds: 1_500)
        pushToAll(100, node)
        fixture.wait(milliseconds: 2_500)
        pushToAll(150, node)
        fixture.wait(milliseconds: 1_000)
        let answers = results(100, node) + results(150, node)
        #expect(answers.allSatisfy { $0 == .rejected(.serviceUnavailable) })
        node.isCut = false
        fixture.wait(milliseconds: 1_000)
        pushToAll(200, node)
        #expect(results(200, node).allSatisfy { $0 == .accepted } && node.end == nil)
        expectBalance(node)
    }

    @Test("A node that was cut off for longer than its lease finds that it is lost, and accepts nothing")
    func lost() throws {
        let (first, second) = (try fixture.start("a"), try fixture.start("b"))
        fixture.wait(milliseconds: 12_000)
        first.isCut = true
        fixture.wait(milliseconds: 3_000)
        #expect(second.servedCount == Partition.count)
        pushToAll(100, second)
        #expect(results(100, second).allSatisfy { $0 == .accepted })
        let own = fixture.devices.filter { first.home(of: $0) != nil }
        for (index, device) in own.enumerated() {
            // As if it were under way since before the end of the lease.
            first.push(200 + Int32(index), to: device)
        }
        first.isCut = false
        fixture.wait(milliseconds: 500)
        guard case .lost? = first.end else {
            Issue.record("the node has not found out that it is lost")
            return
        }
        #expect(!own.isEmpty && first.results.allSatisfy { $0.key < 200 || $0.value != .accepted })
    }

    @Test("A node that leaves gives its partitions away first, so that no push for them is lost")
    func leaving() throws {
        let (first, second) = (try fixture.start("a"), try fixture.start("b"))
        fixture.wait(milliseconds: 12_000)
        pushToAll(100, first, second)
        first.leave()
        fixture.wait(milliseconds: 12_000)
        guard case .left? = first.end else {
            Issue.record("the node has not left")
            return
        }
        #expect(second.servedCount == Partition.count && first.servedCount == 0)
        pushToAll(200, first, second)
        #expect(results(200, first, second).allSatisfy { $0 == .accepted })
        #expect(second.tally.pending == 2 * UInt64(fixture.devices.count) && first.tally.pending == 0)
        expectBalance(first, second)
    }
}
