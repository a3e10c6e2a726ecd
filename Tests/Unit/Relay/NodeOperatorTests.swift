import PostriderCluster
import PostriderNotifications
import RelayFixtures
import Testing

@testable import PostriderRelay

@Suite("The operator of a cluster")
struct NodeOperatorTests {
    private let fixture = NodesFixture()
    private let nodes: [FixtureNode]
    private let operators: [NodeOperator]

    init() throws {
        nodes = [try fixture.start("a"), try fixture.start("b", shards: 3), try fixture.start("c")]
        operators = nodes.map(NodeOperator.init)
        fixture.wait(milliseconds: 15_000)
    }

    /// A device that this node has.
    private func device(of node: Int) throws -> DeviceIdentity {
        try #require(fixture.devices.first { nodes[node].home(of: $0) != nil })
    }

    private func devices(_ asked: Int, _ query: String = "") throws -> [Control.Device] {
        let answer = try #require(operators[asked].ask("GET", "/v1/devices\(query)"))
        #expect(answer.status == 200 && answer.gap == nil, "\(answer.sentence)")
        return try answer.decoded([Control.Device].self)
    }

    @Test("gets the sum of all nodes from any of them, and a part for each")
    func status() throws {
        for (number, device) in fixture.devices.enumerated() { nodes[0].push(Int32(number), to: device) }
        fixture.settle()
        for asked in operators {
            let answer = try #require(asked.ask("GET", "/v1/status"))
            let status = try answer.decoded(Control.Status.self)
            #expect(answer.gap == nil && status.devices == 16 && status.shards == 7)
            #expect(status.counters.accepted == 16 && status.counters.pending == 16)
            #expect(status.counters.isBalanced && status.countersOfShards.count == 7)
            let parts = try #require(status.nodes)
            #expect(parts.map(\.name) == ["a", "b", "c"])
            #expect(parts.compactMap(\.status).map(\.shards) == [2, 3, 2])
            #expect(parts.compactMap(\.status?.devices).allSatisfy { $0 > 0 && $0 < 16 })
        }
        let own = try #require(operators[1].ask("GET", "/v1/status?local")).decoded(Control.Status.self)
        #expect(own.shards == 3 && own.nodes == nil && own.devices < 16)
    }

    @Test("lists the devices of all nodes in one order, and finds one by its name wherever it is")
    func list() throws {
        for asked in operators.indices {
            let all = try devices(asked, "?sort=name")
            #expect(all.map(\.name) == all.map(\.name).sorted())
            #expect(Set(all.map(\.identity)) == Set(fixture.devices.map(\.description)))
            let first = try devices(asked, "?sort=name&limit=5")
            #expect(first.map(\.identity) == all.prefix(5).map(\.identity))
            for device in try [device(of: 0), device(of: 1), device(of: 2)] {
                #expect(try devices(asked, "?device=\(device)").map(\.identity) == [device.description])
            }
            let unknown = try #require(operators[asked].ask("GET", "/v1/devices?device=nobody"))
            #expect(unknown.status == 404 && unknown.sentence.contains("There is no device nobody"))
            #expect(operators[asked].ask("GET", "/v1/devices?sort=size")?.status == 400)
        }
    }

    @Test("changes and removes a device of another node, by its name or its identity")
    func change() throws {
        let (near, far) = try (device(of: 0), device(of: 1))
        let answer = operators[0].ask("PATCH", "/v1/devices/\(far)", #"{"name":"kiosk","addTags":["lobby"]}"#)
        let changed = try #require(answer).decoded(Control.LabelledDevice.self)
        #expect(changed.identity == far.description && changed.name == "kiosk" && changed.tags == ["lobby"])
        #expect(try devices(2, "?tag=lobby").map(\.name) == ["kiosk"])
        let taken = try #require(operators[2].ask("PATCH", "/v1/devices/\(near)", #"{"name":"Kiosk"}"#))
        #expect(taken.status == 409 && taken.sentence.contains("\(far) is named Kiosk already"))
        #expect(operators[2].ask("PATCH", "/v1/devices/KIOSK", #"{"name":"kiosk-2"}"#)?.status == 200)
        #expect(operators[2].ask("PATCH", "/v1/devices/nobody", "{}")?.status == 404)
        #expect(operators[2].ask("PATCH", "/v1/devices/kiosk-2", "no JSON")?.status == 400)
        let removed = try #require(operators[0].ask("DELETE", "/v1/devices/kiosk-2"))
        #expect(try removed.decoded(Control.RemovedDevice.self).identity == far.description)
        #expect(try devices(1).count == 15)
        #expect(operators[0].ask("DELETE", "/v1/devices/kiosk-2")?.status == 404)
    }

    @Test("is told the identities of two devices of one name, and neither is chosen")
    func namesakes() throws {
        let pair = try [device(of: 1), device(of: 2)]
        for (asked, device) in zip(operators[1...], pair) {
            #expect(asked.askAlone(.change(device, Array(#"{"name":"kiosk"}"#.utf8)))?.status == 200)
        }
        for (method, path) in [("GET", "/v1/devices?device=kiosk"), ("DELETE", "/v1/devices/kiosk")] {
            let answer = try #require(operators[0].ask(method, path))
            #expect(answer.status == 409)
            for device in pair { #expect(answer.sentence.contains("\(device) of node")) }
        }
        #expect(try devices(0, "?device=\(pair[0])").map(\.name) == ["kiosk"])
    }

    @Test("is told which node has not answered, until others have its devices")
    func killed() throws {
        let lost = try device(of: 2)
        nodes[2].kill()
        let answer = try #require(operators[0].ask("GET", "/v1/status"))
        #expect(answer.gap == "Node c has not answered: what only it knows is missing.")
        let status = try answer.decoded(Control.Status.self)
        #expect(status.devices < 16 && status.nodes?.map(\.name) == ["a", "b", "c"])
        #expect(status.nodes?.map { $0.status != nil } == [true, true, false])
        #expect(operators[1].ask("GET", "/v1/devices")?.gap?.hasPrefix("Node c") == true)
        let refusal = try #require(operators[1].ask("DELETE", "/v1/devices/\(lost)"))
        #expect(refusal.status == 503 && refusal.sentence.contains("Node c has not answered"))
        fixture.wait(milliseconds: 3_000)
        #expect(try devices(0).count == 16)
        #expect(operators[0].ask("GET", "/v1/status")?.gap == nil)
    }

    @Test("waits for a node that is silent for three seconds at most")
    func silent() throws {
        nodes[1].pause()
        #expect(operators[0].ask("GET", "/v1/status") == nil)
        fixture.wait(milliseconds: 2_900)
        #expect(operators[0].answers.isEmpty)
        fixture.wait(milliseconds: 300)
        #expect(operators[0].answers.map { $0.gap?.hasPrefix("Node b") } == [true])
        nodes[1].wake()
        fixture.wait(milliseconds: 500)
        #expect(operators[0].answers.count == 1)
    }

    @Test("gets an answer of any length in pieces")
    func pieces() throws {
        let own = nodes[1].shards[0].queries.nodes.own
        let queries = nodes[0].shards[0].queries.nodes
        let lengths = [0, 1, -1, 2_000_000].map { max(0, $0 + Limits.nodeAnswerPieceBytes) } + [2]
        for length in lengths + [Limits.controlAnswerBytes] {
            own.source = { $1(ControlAnswer(200, [UInt8](repeating: 7, count: length))) }
            var told: ControlAnswer?
            queries.ask(nodes[1].name, .status) { told = $0 }
            fixture.settle()
            #expect(told?.status == 200 && told?.body.count == length)
        }
        own.source = { $1(ControlAnswer(200, [UInt8](repeating: 7, count: Limits.controlAnswerBytes + 1))) }
        var told: ControlAnswer?
        queries.ask(nodes[1].name, .status) { told = $0 }
        fixture.settle()
        #expect(told?.status == 503 && told?.sentence.contains("more than the 64 MiB") == true)
    }

    @Test("need not wait for other nodes once one has said enough")
    func enough() {
        let queries = nodes.map { $0.shards[0].queries.nodes }
        queries[0].own.source = { $1(ControlAnswer(200, [0])) }
        queries[1].own.source = { $1(ControlAnswer(200, [1])) }
        queries[2].own.source = { _, _ in }
        var told: NodeAnswers?
        queries[0].askAll(.status, until: { $0.body == [1] }, then: { told = $0 })
        fixture.settle()
        #expect(told?.answers.map(\.answer.body) == [[0], [1]] && told?.missing == [])
    }

    @Test("changes keys at one node, which answers when all others have them, or says which have not")
    func access() throws {
        let answer = try #require(operators[0].ask("PUT", "/v1/topics/com.example.a", #"{"team":"T"}"#))
        #expect(answer.status == 200 && answer.gap == nil)
        for asked in operators {
            let topics = try #require(asked.ask("GET", "/v1/topics")).decoded([Control.Topic].self)
            #expect(topics.map(\.topic).contains("com.example.a"))
        }
        nodes[2].kill()
        let late = try #require(operators[1].ask("DELETE", "/v1/topics/com.example.a"))
        #expect(late.status == 200 && late.gap?.contains("have not confirmed that they have it: c.") == true)
    }

    @Test("lists the channels of all nodes")
    func channels() throws {
        let answer = try #require(operators[2].ask("GET", "/v1/channels"))
        #expect(try answer.decoded(Control.ChannelList.self).count == 0 && answer.gap == nil)
        #expect(operators[2].ask("GET", "/v1/channels?team=a")?.status == 400)
    }

    @Test("gives a device that enrols a number if a device of another node has its name")
    func enrolled() throws {
        let directory = nodes[0].shards[0].directory
        #expect(
            operators[2].ask("PATCH", "/v1/devices/\(try device(of: 1))", #"{"name":"Kiosk"}"#)?.status == 200
        )
        for (high, name) in [(1001, "kiosk"), (1002, "kiosk"), (1003, "desk")] as [(UInt64, String)] {
            let record = DeviceRecord(
                identity: DeviceIdentity(high: high, low: 0), secretDigest: [UInt8](repeating: 7, count: 32),
                name: name, enrolledAt: Samples.now)
            directory.enrolled(record, [])
            fixture.settle()
        }
        let names = (1001...1003).map { directory[DeviceIdentity(high: $0, low: 0)]?.name.text }
        #expect(names == ["kiosk-2", "kiosk-3", "desk"])
    }

    /// Enrols a device that calls itself kiosk at a node.
    private func enrol(_ high: UInt64, at node: Int, seconds: Int64) throws -> DeviceIdentity {
        let low = try #require(
            (0..<1024 as Range<UInt32>).first { nodes[node].serves(DeviceIdentity(high: high, low: $0)) })
        let identity = DeviceIdentity(high: high, low: low)
        let shard = try #require(nodes[node].shards.first { $0.context.home(of: identity) == $0.index })
        let record = DeviceRecord(
            identity: identity, secretDigest: [UInt8](repeating: 7, count: 32), name: "kiosk",
            enrolledAt: Samples.now.advanced(byMilliseconds: 1_000 * seconds))
        shard.home.enrol(record, [], [1], ReplyAddress(shard: 0, stream: 1, connection: 999))
        fixture.settle()
        return identity
    }

    @Test("is told which device seems to be one of another node, installed anew")
    func installedAnew() throws {
        _ = try enrol(1001, at: 1, seconds: -30)
        let old = try enrol(1002, at: 0, seconds: 0)
        _ = try enrol(1003, at: 0, seconds: 90)
        let new = try enrol(1004, at: 1, seconds: 30)
        _ = try enrol(1005, at: 2, seconds: 60)
        for asked in operators.indices {
            #expect(try devices(asked, "?device=\(old)").map(\.successor) == [new.description])
            let all = try devices(asked)
            #expect(all.first { $0.identity == old.description }?.successor == new.description)
            #expect(all.filter { fixture.devices.map(\.description).contains($0.identity) }.count == 16)
        }
    }

    @Test("gives the name of a removed device to the oldest that calls itself so, on any node")
    func heirs() throws {
        let old = try enrol(1001, at: 0, seconds: 0)
        _ = try enrol(1002, at: 1, seconds: 60)
        let heir = try enrol(1003, at: 2, seconds: 30)
        let named = try enrol(1004, at: 1, seconds: 10)
        #expect(operators[0].ask("PATCH", "/v1/devices/\(named)", #"{"name":"mine"}"#)?.status == 200)
        for (device, next) in [(old, heir.description), (named, nil)] as [(DeviceIdentity, String?)] {
            let answer = try #require(operators[1].ask("DELETE", "/v1/devices/\(device)"))
            let removed = try answer.decoded(Control.RemovedDevice.self)
            #expect(removed.identity == device.description && removed.heir?.identity == next)
        }
        for asked in operators.indices {
            #expect(try devices(asked, "?device=kiosk").map(\.identity) == [heir.description])
        }
    }

    @Test("sees the figures of all nodes together in the plots of any console, from when each began")
    func history() throws {
        operators[0].history.start()
        operators[2].history.start()
        fixture.wait(milliseconds: 10_000)
        operators[1].history.start()
        for (number, device) in fixture.devices.enumerated() { nodes[0].push(Int32(number), to: device) }
        fixture.wait(milliseconds: 10_000)
        let counts = try operators.map { asked in
            let answer = try #require(asked.ask("GET", "/v1/history"))
            #expect(answer.gap == nil)
            return try answer.decoded(Control.History.self).points.map { [$0.accepted, $0.pending] }
        }
        #expect(
            counts == [[[0, 0], [0, 0], [16, 16]], [[0, 0], [16, 16]], [[0, 0], [0, 0], [16, 16]]])
    }
}
