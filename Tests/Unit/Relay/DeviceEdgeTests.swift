import PostriderCluster
import PostriderCourier
import PostriderDeviceQueue
import PostriderEndpoints
import PostriderNotifications
import PostriderTransport
import RelayFixtures
import Testing

@testable import PostriderRelay

@Suite("A device at an edge", .eachProtocolCode)
struct DeviceEdgeTests {
    private let nodes: EdgeFixture

    init() throws { nodes = try EdgeFixture() }

    private var presence: DevicePresence? { nodes.entry()?.presence.value }

    @Test("gets its pushes from its home, and acknowledges them there")
    func pushes() throws {
        try nodes.home.push(1)
        let line = try nodes.connect()
        guard case .welcome(let welcome) = line.heard.first else {
            Issue.record("the first message is the welcome")
            return
        }
        #expect(welcome.registrations.count == 2 && welcome.pending == 1)
        #expect(presence?.isConnected == true && presence?.agent == "test/1")
        try nodes.push(2)
        #expect(line.delivered == [1, 2])
        line.acknowledgeAll()
        try nodes.run()
        #expect(nodes.home.shard.home.tally.delivered == 2 && nodes.home.shard.home.tally.pending == 0)
        #expect(nodes.edge.shard.home.tally.delivered == 0)
        #expect(nodes.home.shard.report.deviceConnections == 0)
        #expect(nodes.edge.shard.report.deviceConnections == 1)
    }

    @Test("registers, subscribes and gets broadcasts as any other")
    func requests() throws {
        nodes.home.makeChannel(of: Samples.otherTopic)
        let line = try nodes.connect()
        line.say(.unregister(topic: Samples.topic.text))
        try nodes.run()
        try nodes.home.commit()
        try nodes.run()
        line.say(.register(topic: Samples.topic.text))
        try nodes.run()
        try nodes.home.commit()
        line.say(.subscribe(Subscribe(topic: Samples.otherTopic.text, channel: DeviceFixture.channel)))
        try nodes.run()
        try nodes.home.broadcast(1)
        try nodes.run()
        #expect(line.news.first == .unregistered(topic: Samples.topic.text))
        #expect(
            line.news.map { message in
                switch message {
                case .registered(let registered): registered.topic
                case .subscribed: "subscribed"
                case .broadcast: "broadcast"
                default: ""
                }
            } == ["", Samples.topic.text, "subscribed", "broadcast"])
        #expect(nodes.home.shard.devices.subscriptions.tally.sent == 1)
    }

    @Test("hears its home's goodbye, after which its acknowledgements still count")
    func goodbye() throws {
        let line = try nodes.connect()
        try nodes.push(1)
        nodes.entry()?.session?.leave(.overloaded, retryAfterMilliseconds: 7, "enough")
        try nodes.run()
        #expect(line.goodbye?.retryAfterMilliseconds == 7 && line.status == nil)
        line.acknowledgeAll()
        try nodes.run()
        #expect(line.status == .resourceExhausted)
        #expect(nodes.home.shard.home.tally.delivered == 1 && presence?.ending == .overloaded)
        #expect(nodes.home.shard.devices.isEmpty)
        try nodes.edge.advance(byMilliseconds: 5_000)
        #expect(line.closed != nil)
    }

    @Test("that does not acknowledge after its home's goodbye is told the end by the home")
    func slowGoodbye() throws {
        let line = try nodes.connect()
        try nodes.push(1)
        nodes.entry()?.session?.leave(.overloaded, retryAfterMilliseconds: 7, "enough")
        try nodes.home.advance(byMilliseconds: 2_000)
        try nodes.run()
        #expect(line.status == .resourceExhausted && nodes.home.shard.home.tally.pending == 1)
    }

    @Test("is replaced by its newer connection, wherever that is")
    func replaced() throws {
        let first = try nodes.connect()
        let second = try nodes.home.connect()
        try nodes.run()
        #expect(first.goodbye?.reason == .replaced && first.status == .aborted)
        let third = try nodes.connect()
        #expect(second.goodbye?.reason == .replaced && third.goodbye == nil)
        try nodes.push(1)
        #expect(third.delivered == [1] && second.delivered.isEmpty)
    }

    @Test("that is not enrolled, or whose clone returns, is turned away by its home")
    func turnedAway() throws {
        #expect(try nodes.connect(7).goodbye?.reason == .removed)
        _ = try nodes.connect(instance: 1)
        _ = try nodes.connect(instance: 2)
        #expect(try nodes.connect(instance: 1).goodbye?.reason == .duplicated)
        #expect(nodes.home.shard.devices.sessions.count == 1)
    }

    @Test("says goodbye to its home, or ends its stream")
    func leaves() throws {
        let line = try nodes.connect()
        line.say(.goodbye(Goodbye(reason: .asleep, retryAfterMilliseconds: 0, detail: "")))
        try nodes.run()
        #expect(line.status == .ok && presence?.ending == .asleep)
        let next = try nodes.connect()
        next.session.ended(try #require(next.session.linkStream))
        try nodes.run()
        #expect(next.status == .ok && presence?.ending == .closed)
        #expect(nodes.home.shard.devices.isEmpty)
    }

    @Test("whose connection ends has its notifications pending again")
    func connectionEnds() throws {
        let line = try nodes.connect()
        try nodes.push(1)
        line.session.endpoint.closed(.peerReset)
        try nodes.run()
        #expect(presence?.isConnected == false && presence?.ending == .cut)
        #expect(nodes.home.shard.devices.isEmpty && nodes.edge.shard.devices.isEmpty)
        #expect(try nodes.connect().delivered == [1])
    }

    @Test("is asked for signs of life by the edge alone")
    func keepalive() throws {
        let line = try nodes.connect()
        try nodes.home.advance(byMilliseconds: 24 * 3_600_000)
        #expect(presence?.isConnected == true)
        try nodes.edge.advance(byMilliseconds: 1_800_000)
        #expect(line.closed == nil)
        line.isDeaf = true
        for _ in 1...2 { try nodes.edge.advance(byMilliseconds: 1_800_000) }
        try nodes.edge.advance(byMilliseconds: 20_000)
        try nodes.run()
        #expect(line.closed == .idleTimeout && presence?.ending == .silent)
    }

    @Test("that says something wrong is told what by its home")
    func mistakes() throws {
        let line = try nodes.connect()
        line.say(.acknowledge([4]))
        try nodes.run()
        #expect(line.goodbye?.reason == .protocolError && line.status == .failedPrecondition)
        #expect(line.goodbye?.detail.contains("is not under way") == true)
        let next = try nodes.connect()
        let device = DeviceFixture.identity(0)
        let address = try #require((nodes.entry()?.session as? DeviceSession)?.carrier.edge?.address)
        try nodes.home.receive(.edge(.said(device, [0x0B], address)))
        try nodes.run()
        #expect(next.goodbye?.reason == .protocolError && presence?.ending == .protocolError)
    }

    @Test("that breaks the framing is told so by the edge, and its home hears of it")
    func framing() throws {
        let line = try nodes.connect()
        let stream = try #require(line.session.linkStream)
        line.session.data(stream, ([1, 0, 0, 0, 0] as [UInt8]).span)
        try nodes.run()
        #expect(line.goodbye?.reason == .protocolError && presence?.ending == .protocolError)
        #expect(nodes.home.shard.devices.isEmpty)
    }
}
