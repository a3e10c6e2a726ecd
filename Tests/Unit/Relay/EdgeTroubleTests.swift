import PostriderCluster
import PostriderCourier
import PostriderDeviceQueue
import PostriderEndpoints
import PostriderNotifications
import PostriderTransport
import RelayFixtures
import Testing

@testable import PostriderRelay

@Suite("When an edge and a home lose each other, a device", .eachProtocolCode)
struct EdgeTroubleTests {
    private let nodes: EdgeFixture

    init() throws { nodes = try EdgeFixture() }

    private var presence: DevicePresence? { nodes.entry()?.presence.value }

    /// Whether a device was asked to come back soon, at a time of its own.
    private func isPostponed(_ line: DeviceClientConnection, _ words: String) -> Bool {
        guard let goodbye = line.goodbye, line.status == .resourceExhausted else { return false }
        return goodbye.reason == .overloaded && (1_000..<3_000).contains(goodbye.retryAfterMilliseconds)
            && goodbye.detail.contains(words)
    }

    @Test("is asked to come back when the link ends, and its notifications are pending again")
    func linkEnds() throws {
        let lines = try (0..<2).map { try nodes.connect($0) }
        try nodes.push(1)
        try nodes.endLink()
        #expect(lines.allSatisfy { isPostponed($0, "cannot be reached") })
        #expect(lines[0].goodbye?.retryAfterMilliseconds != lines[1].goodbye?.retryAfterMilliseconds)
        #expect(presence?.isConnected == false && presence?.ending == .cut)
        #expect(nodes.home.shard.home.tally.pending == 1 && nodes.home.shard.devices.isEmpty)
        #expect(isPostponed(try nodes.connect(), "no room"), "the edge does not know the places yet")
    }

    @Test("is not concerned when another link ends")
    func otherLink() throws {
        let line = try nodes.connect()
        try nodes.edge.receive(.edge(.linkEnded(link: EdgeFixture.linkAtHome)))
        try nodes.home.receive(.edge(.linkEnded(link: EdgeFixture.link)))
        try nodes.push(1)
        #expect(line.delivered == [1] && line.goodbye == nil)
    }

    @Test(
        "is asked to come back when its home moves, and its old home hears of the end",
        arguments: [PartitionPlaces.Place.nowhere, .here, .node(link: 6)])
    func moves(to place: PartitionPlaces.Place) throws {
        let line = try nodes.connect()
        try nodes.place(.node(link: EdgeFixture.link))
        #expect(line.goodbye == nil)
        try nodes.place(place)
        #expect(isPostponed(line, "another node serves the device"))
        #expect(presence?.isConnected == false && nodes.home.shard.devices.isEmpty)
    }

    @Test("that no node serves is asked to come back, and never told that it is unknown")
    func nowhere() throws {
        try nodes.place(.nowhere)
        #expect(isPostponed(try nodes.connect(), "no node serves"))
    }

    @Test("whose edge is mistaken about its home is asked to come back")
    func mistaken() throws {
        let elsewhere = PartitionPlaces(Array(repeating: .node(link: 9), count: Partition.count))
        try nodes.home.receive(.registry(.placed(elsewhere)))
        #expect(isPostponed(try nodes.connect(), "another home"))
        #expect(nodes.home.shard.devices.isEmpty)
    }

    @Test("is asked to come back while too much waits for its home")
    func congested() throws {
        nodes.isCongested = true
        #expect(isPostponed(try nodes.connect(), "no room"))
        nodes.isCongested = false
        let line = try nodes.connect()
        nodes.isCongested = true
        line.say(.fetch)
        try nodes.run()
        #expect(isPostponed(line, "no room"))
        #expect(presence?.ending == .overloaded && nodes.home.shard.devices.isEmpty)
    }

    @Test("is asked to come back while its home's mailbox is full, and its session ends on both sides")
    func full() throws {
        nodes.hasRoom = false
        #expect(isPostponed(try nodes.connect(), "overloaded"))
        nodes.hasRoom = true
        let line = try nodes.connect()
        nodes.hasRoom = false
        line.say(.fetch)
        try nodes.run()
        #expect(isPostponed(line, "overloaded"))
        #expect(presence?.ending == .overloaded && nodes.home.shard.devices.isEmpty)
    }

    @Test("that sends without pause has its session ended, and others go on")
    func flood() throws {
        let (line, other) = (try nodes.connect(), try nodes.connect(1))
        let stream = try #require(line.session.linkStream)
        // A message of a later version, which a relay ignores.
        let message = [0, 0, 0, 0x3E, 0x84, 0xA2, 0x06, 0x80, 0x7D] + [UInt8](repeating: 1, count: 16_000)
        for _ in 0..<65 { line.session.data(stream, message.span) }
        #expect(line.goodbye == nil)
        try nodes.edge.advance(byMilliseconds: 1_000)
        for _ in 0..<17 { line.session.data(stream, message.span) }
        try nodes.run()
        #expect(isPostponed(line, "more than may be passed on") && other.goodbye == nil)
        #expect(presence?.isConnected == false && nodes.home.shard.devices.sessions.count == 1)
    }

    @Test("whose home does not answer is asked to come back, and a late welcome goes nowhere")
    func silentHome() throws {
        let line = try nodes.edge.connect()
        try nodes.edge.advance(byMilliseconds: Limits.helloMilliseconds)
        #expect(line.goodbye?.reason == .overloaded)
        try nodes.run()
        #expect(line.heard.count == 1 && presence?.isConnected == false)
        #expect(nodes.home.shard.devices.isEmpty)
    }

    @Test("is told when the edge or the home stops")
    func drains() throws {
        let line = try nodes.connect()
        try nodes.push(1)
        try nodes.home.receive(.lifecycle(.drain))
        try nodes.run()
        #expect(line.goodbye?.reason == .shutdown && line.status == nil)
        line.acknowledgeAll()
        try nodes.run()
        #expect(line.status == .unavailable && nodes.home.shard.home.tally.delivered == 1)
        #expect(try nodes.connect().goodbye?.reason == .shutdown)
    }

    @Test("is told when the edge stops, and its home hears of it")
    func edgeDrains() throws {
        let line = try nodes.connect()
        try nodes.edge.receive(.lifecycle(.drain))
        try nodes.run()
        #expect(line.goodbye?.reason == .shutdown && line.status == .unavailable)
        #expect(presence?.ending == .relayStopped && nodes.home.shard.devices.isEmpty)
    }

    @Test("is not heard without a hello, nor spoken to over another link than its own")
    func strangers() throws {
        let device = DeviceFixture.identity(0)
        let unknown = ReplyAddress(shard: 0, stream: 0, connection: 99).through(EdgeFixture.linkAtHome)
        for message in [EdgeMessage.said(device, [1], unknown), .ended(device, .cut, unknown)] {
            try nodes.home.receive(.edge(message))
        }
        #expect(nodes.home.shard.devices.isEmpty)
        let line = try nodes.connect()
        let count = line.heard.count
        let own = ReplyAddress(shard: 0, stream: 0, connection: line.session.number)
        for address in [own.through(6), ReplyAddress(shard: 0, stream: 0, connection: 99).through(5)] {
            for message in [
                EdgeMessage.say(address, [0, 0, 0, 0, 0], isBroadcast: false), .finish(address, .ok, ""),
                .refuse(address, "no"),
            ] {
                try nodes.edge.receive(.edge(message))
            }
        }
        try nodes.run()
        #expect(line.heard.count == count && line.status == nil)
    }

    @Test("is let in once if an edge opens the same session twice")
    func twice() throws {
        let line = try nodes.connect()
        let address = ReplyAddress(shard: 0, stream: 0, connection: line.session.number)
        let hello = Hello(
            deviceIdentity: DeviceFixture.identity(0), deviceSecret: DeviceFixture.secret,
            keepaliveSeconds: 60, agent: "test/2")
        try nodes.home.receive(
            .edge(.open(hello, host: "::1", address.through(EdgeFixture.linkAtHome))))
        #expect(nodes.home.shard.devices.sessions.count == 1 && presence?.address == "::1")
    }
}

@Suite("An enrolment at a node of a cluster")
struct NodeEnrolmentTests {
    private func enrol(_ places: [PartitionPlaces.Place]) throws -> (DeviceFixture, EnrolmentCall) {
        let fixture = try DeviceFixture()
        try fixture.receive(.registry(.placed(PartitionPlaces(places))))
        let call = try EnrolmentCall(fixture.shard)
        var bytes: [UInt8] = []
        MessageFraming.frame(EnrollRequest(enrolmentKey: Provider.enrolmentKey, name: "phone"), into: &bytes)
        try call.say(bytes)
        try call.end()
        try fixture.run()
        try call.exchange()
        return (fixture, call)
    }

    @Test("gives the device an identity whose home is there")
    func ownIdentity() throws {
        let places = (0..<Partition.count).map { $0 % 64 == 16 ? PartitionPlaces.Place.here : .node(link: 3) }
        let (fixture, _) = try enrol(places)
        let devices = fixture.ledger.changes.compactMap {
            if case .putDevice(let record) = $0 { Partition(of: record.identity).number % 64 } else { nil }
        }
        #expect(devices == [16])
    }

    @Test("is refused while the node serves no partition, and uses up nothing")
    func none() throws {
        let (fixture, call) = try enrol(Array(repeating: .nowhere, count: Partition.count))
        #expect(call.status == .unavailable && fixture.ledger.changes.isEmpty)
        #expect(fixture.logged.contains { $0.text.contains("the node serves no devices at the moment") })
    }
}
