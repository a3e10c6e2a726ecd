import PostriderCluster
import PostriderCourier
import PostriderCrypto
import PostriderEvidence
import PostriderNotifications
import RelayFixtures
import Testing

@testable import PostriderRelay

@Suite("The life of a push whose device moves to another node")
struct NodeTraceTests {
    private let fixture = NodesFixture(hasTraces: true)
    private let nodes: [FixtureNode]
    private let operators: [NodeOperator]
    /// A device that has its home at node b first.
    private let device: DeviceIdentity

    init() throws {
        let nodes = [try fixture.start("a"), try fixture.start("b", shards: 3), try fixture.start("c")]
        fixture.wait(milliseconds: 15_000)
        self.nodes = nodes
        operators = nodes.map(NodeOperator.init)
        device = try #require(fixture.devices.first { nodes[1].home(of: $0) != nil })
    }

    private static func path(_ push: UInt64) -> String { "\(NotificationIdentity(high: 1, low: push))" }

    /// Lets the device move from node b to another one. Returns the numbers of its new home, and of the third node.
    private func move() throws -> (home: Int, other: Int) {
        nodes[1].drain()
        fixture.wait(milliseconds: 15_000)
        let home = try #require(nodes.indices.first { nodes[$0].home(of: device) != nil })
        try #require(home != 1)
        return (home, 2 - home)
    }

    /// Lets the device connect at its home and acknowledge everything.
    private func deliver(at node: Int) throws {
        let session = try #require(nodes[node].connect(device))
        fixture.wait(milliseconds: 200)
        nodes[node].acknowledge(device, session)
        fixture.wait(milliseconds: 500)
    }

    private func report(_ kind: Report.Kind, _ push: UInt64, at node: Int) throws {
        let shard = try #require(nodes[node].home(of: device))
        let event = Report.Event(kind, of: NotificationIdentity(high: 1, low: push), at: Samples.now)
        shard.context.trace.note(event, by: device, at: shard.context.now)
        fixture.wait(milliseconds: 500)
    }

    private func trace(_ push: UInt64, at asked: Int) throws -> Control.TracedPush {
        let answer = try #require(operators[asked].ask("GET", "/v1/trace?id=\(Self.path(push))"))
        #expect(answer.gap == nil)
        let trace = try answer.decoded(Control.Trace.self)
        try #require(trace.pushes.count == 1)
        return trace.pushes[0]
    }

    private func state(_ answer: ControlAnswer?) throws -> Control.PushState {
        let answer = try #require(answer)
        let state = try answer.decoded(Control.PushState.self)
        #expect(answer.gap == nil && state.push == nil && state.latestAt == nil)
        return state
    }

    @Test("has the parts of all nodes, from any node, and each event names its node")
    func joined() throws {
        nodes[0].push(1, to: device)
        fixture.wait(milliseconds: 500)
        #expect(try trace(1, at: 2).events.map(\.node) == [nil])
        let (home, other) = try move()
        let name = nodes[home].name.text
        try deliver(at: home)
        try report(.done, 1, at: home)
        for asked in [0, 1, 2, other] {
            let push = try trace(1, at: asked)
            #expect(push.node == "b" && push.device == device.description && !push.isCut)
            #expect(push.events.map(\.what) == ["stored", "sent", "acknowledged", "done"])
            #expect(push.events.map(\.node) == ["b", name, name, name])
        }
        let list = try #require(operators[other].ask("GET", "/v1/trace?last=5")).decoded(Control.Trace.self)
        #expect(list.pushes.map { $0.events.map(\.what) } == [["stored", "sent", "acknowledged", "done"]])
        let state = try state(operators[other].ask("GET", "/v1/pushes/\(Self.path(1))?wait=done&timeout=0"))
        #expect(state.state == "reached" && state.stages == [.accepted, .delivered, .taken, .done])
    }

    @Test("is joined if the device has moved after it had the push, and reports of it then")
    func reported() throws {
        nodes[0].push(1, to: device)
        fixture.settle()
        try deliver(at: 1)
        let (home, other) = try move()
        _ = nodes[home].connect(device)
        try report(.done, 1, at: home)
        let push = try trace(1, at: other)
        #expect(push.events.map(\.what) == ["stored", "sent", "acknowledged", "done"])
        #expect(push.events.map(\.node) == ["b", "b", "b", nodes[home].name.text])
    }

    @Test("is waited for over the move, and at the new home")
    func waited() throws {
        nodes[0].push(1, to: device)
        fixture.wait(milliseconds: 500)
        let path = "/v1/pushes/\(Self.path(1))"
        #expect(operators[0].ask("GET", "\(path)?wait=delivered&timeout=60") == nil)
        let (home, other) = try move()
        #expect(operators[0].answers.isEmpty)
        #expect(operators[other].ask("GET", "\(path)?wait=done&timeout=60") == nil)
        try deliver(at: home)
        let state = try state(operators[0].answers.first)
        #expect(state.state == "reached" && state.stages == [.accepted, .delivered])
        try report(.done, 1, at: home)
        #expect(try self.state(operators[other].answers.last).state == "reached")
        let told = try self.state(operators[1].ask("GET", "\(path)?wait=shown&timeout=0"))
        #expect(told.state == "underWay" && told.position == "its handler is done")
    }

    @Test("is waited for from before the push was accepted, and its time is over in time")
    func early() throws {
        let path = "/v1/pushes/\(Self.path(7))"
        #expect(operators[0].ask("GET", "\(path)?wait=delivered&timeout=30") == nil)
        #expect(operators[2].ask("GET", "\(path)?wait=done&timeout=3") == nil)
        nodes[0].push(7, to: device)
        fixture.wait(milliseconds: 500)
        #expect(operators[0].answers.isEmpty)
        fixture.wait(milliseconds: 3_000)
        let late = try state(operators[2].answers.last)
        #expect(late.state == "underWay" && late.wait == .done && late.stages == [.accepted])
        try deliver(at: 1)
        let state = try state(operators[0].answers.last)
        #expect(state.state == "reached" && state.wait == .delivered)
        let unknown = try self.state(operators[0].ask("GET", "/v1/pushes/\(Self.path(8))"))
        #expect(unknown.state == "underWay" && unknown.stages.isEmpty)
    }

    @Test("is stated by any node with its own key, and what is missing is remarked")
    func stated() throws {
        operators[2].ask("PATCH", "/v1/devices/\(device)", #"{"name":"kiosk"}"#)
        nodes[0].push(1, to: device)
        fixture.wait(milliseconds: 500)
        let (home, other) = try move()
        try deliver(at: home)
        let path = "/v1/pushes/\(Self.path(1))/evidence"
        for asked in operators {
            let answer = try #require(asked.ask("GET", path))
            let text = try answer.decoded(Control.SignedEvidence.self).evidence
            let statement = try Evidence(text, verifiedWith: asked.key.publicKey).statement
            let push = try #require(statement.pushes.first)
            #expect(push.node == "b" && push.device?.name == "kiosk" && statement.remarks.isEmpty)
            #expect(push.steps.map(\.what) == ["stored", "sent", "acknowledged"])
            #expect(push.steps.map(\.node) == ["b", nodes[home].name.text, nodes[home].name.text])
        }
        nodes[home].kill()
        let partial = try #require(operators[other].ask("GET", path))
        let text = try partial.decoded(Control.SignedEvidence.self).evidence
        let statement = try Evidence(text, verifiedWith: operators[other].key.publicKey).statement
        #expect(statement.remarks == [try #require(partial.gap)])
        let unknown = operators[other].ask("GET", "/v1/pushes/\(Self.path(9))/evidence")
        #expect(unknown?.status == 503 && unknown?.sentence.contains("has not answered") == true)
    }

    @Test("is what the nodes know that answer, and the others are named")
    func missing() throws {
        nodes[0].push(1, to: device)
        fixture.wait(milliseconds: 500)
        let (home, other) = try move()
        try deliver(at: home)
        nodes[home].kill()
        let answer = try #require(operators[other].ask("GET", "/v1/trace?id=\(Self.path(1))"))
        #expect(answer.gap?.hasPrefix("Node \(nodes[home].name) has not answered") == true)
        let push = try #require(try answer.decoded(Control.Trace.self).pushes.first)
        #expect(push.events.map(\.what) == ["stored"])
        let told = try #require(operators[other].ask("GET", "/v1/pushes/\(Self.path(1))"))
        #expect(told.gap?.hasPrefix("Node \(nodes[home].name) has not answered") == true)
    }
}
