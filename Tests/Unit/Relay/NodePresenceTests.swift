import PostriderCluster
import PostriderNotifications
import RelayFixtures
import Testing

@testable import PostriderRelay

@Suite("The programs of on-presence of a cluster's nodes")
final class NodePresenceTests {
    /// What the program of one node is told.
    private final class Program {
        private var debounce = PresenceDebounce(before: [], now: 0)
        private let now: () -> Int64
        private var told: [Control.DeviceEvent] = []

        init(_ node: FixtureNode) {
            now = { [clock = node.fixture.clock] in Int64(clock.now / 1_000_000) }
            node.shards[0].directory.events.observe(
                DeviceEventFeed.Observer(
                    take: { [unowned self] in for event in $0 { debounce.take(event, now: now()) } },
                    expect: { [unowned self] in for event in $0 { debounce.expect(event, now: now()) } }))
        }

        /// What it was told since the last time, such as `away`, or `away moved`.
        func words(about device: DeviceIdentity) -> [String] {
            told += debounce.takeDue(now: now())
            let own = told.filter { $0.identity == device.description }
            told.removeAll { $0.identity == device.description }
            return own.map { [$0.what.rawValue, $0.ending].compactMap { $0 }.joined(separator: " ") }
        }
    }

    private let fixture = NodesFixture()
    private var nodes: [FixtureNode] = []
    private var operators: [NodeOperator] = []
    private var programs: [Program] = []
    /// The connections of devices, in their order.
    private var sessions: [(device: DeviceIdentity, session: FixtureSession)] = []

    init() throws {
        nodes = [try fixture.start("a"), try fixture.start("b", shards: 3), try fixture.start("c")]
        operators = nodes.map(NodeOperator.init)
        programs = nodes.map(Program.init)
        fixture.wait(milliseconds: 15_000)
    }

    private func device(of node: Int, _ number: Int = 0) throws -> DeviceIdentity {
        let own = fixture.devices.filter { nodes[node].home(of: $0) != nil }
        try #require(own.count > number)
        return own[number]
    }

    @discardableResult
    private func connect(_ device: DeviceIdentity) throws -> Int {
        let number = try #require(
            nodes.indices.first { nodes[$0].isAlive && nodes[$0].home(of: device) != nil })
        let session = try #require(nodes[number].welcome(device))
        sessions.append((device, session))
        fixture.settle()
        return number
    }

    /// What each program was told of a device since the last time.
    private func told(_ device: DeviceIdentity) -> [[String]] { programs.map { $0.words(about: device) } }

    @Test("are not told of a device that moves in a drain and comes back")
    func moved() throws {
        let device = try device(of: 1)
        try connect(device)
        fixture.wait(milliseconds: 6_000)
        #expect(told(device) == [[], ["connected"], []])
        nodes[1].drain()
        fixture.wait(milliseconds: 15_000)
        #expect(try connect(device) != 1)
        fixture.wait(milliseconds: 150_000)
        #expect(told(device) == [[], [], []])
    }

    @Test("are told by its new home if it does not come back, and once if it comes later")
    func lost() throws {
        let device = try device(of: 1)
        try connect(device)
        fixture.wait(milliseconds: 6_000)
        #expect(told(device) == [[], ["connected"], []])
        nodes[1].drain()
        fixture.wait(milliseconds: 150_000)
        let home = try #require(nodes.indices.first { nodes[$0].home(of: device) != nil })
        #expect(told(device) == nodes.indices.map { $0 == home ? ["away moved"] : [] })
        try connect(device)
        fixture.wait(milliseconds: 6_000)
        #expect(told(device) == nodes.indices.map { $0 == home ? ["connected"] : [] })
    }

    @Test("are told by its old home if it had connected just before it moves")
    func early() throws {
        let device = try device(of: 1)
        try connect(device)
        nodes[1].drain()
        fixture.wait(milliseconds: 15_000)
        try connect(device)
        fixture.wait(milliseconds: 150_000)
        #expect(told(device) == [[], ["connected"], []])
    }

    @Test("are told of a device that is away when it moves by neither, and by its new home when it comes")
    func absent() throws {
        let device = try device(of: 1)
        try connect(device)
        fixture.wait(milliseconds: 6_000)
        #expect(told(device) == [[], ["connected"], []])
        nodes[1].disconnected(device, sessions[0].session)
        fixture.wait(milliseconds: 6_000)
        #expect(told(device) == [[], ["away cut"], []])
        nodes[1].drain()
        fixture.wait(milliseconds: 150_000)
        #expect(told(device) == [[], [], []])
        let home = try connect(device)
        fixture.wait(milliseconds: 6_000)
        #expect(told(device) == nodes.indices.map { $0 == home ? ["connected"] : [] })
    }

    @Test("are told of a dead node's devices by those that have them then, unless they come back")
    func killed() throws {
        let (back, gone) = try (device(of: 2, 0), device(of: 2, 1))
        try connect(back)
        try connect(gone)
        fixture.wait(milliseconds: 6_000)
        #expect(told(back) == [[], [], ["connected"]] && told(gone) == [[], [], ["connected"]])
        nodes[2].kill()
        fixture.wait(milliseconds: 5_000)
        try connect(back)
        fixture.wait(milliseconds: 150_000)
        #expect(told(back) == [[], [], []])
        let home = try #require(nodes[..<2].indices.first { nodes[$0].home(of: gone) != nil })
        #expect(told(gone) == nodes.indices.map { $0 == home ? ["away moved"] : [] })
    }
}
