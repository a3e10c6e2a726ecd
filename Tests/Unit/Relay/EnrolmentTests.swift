import PostriderCourier
import PostriderEndpoints
import PostriderHTTP2
import PostriderNotifications
import PostriderTransport
import RelayFixtures
import Testing

@testable import PostriderRelay

@Suite("An enrolment")
struct EnrolmentTests {
    /// The limit of the device port applies before a peer has said who it is.
    @Test("that is longer than any message is refused before it ends, and not kept")
    func endless() throws {
        let fixture = try DeviceFixture()
        let call = try EnrolmentCall(fixture.shard)
        for _ in 0..<8 where call.status == nil {
            let piece = [0, 0, 0, 0, 1, 0] as [UInt8]
            try call.say((0..<500).flatMap { _ in piece })
        }
        #expect(call.status == .resourceExhausted && call.session.enrolments.isEmpty)
    }

    @Test("that has not ended in time is told so before its connection is closed", .bug(id: "R24"))
    func late() throws {
        let fixture = try DeviceFixture()
        let call = try EnrolmentCall(fixture.shard)
        try call.say([0, 0])
        try fixture.advance(byMilliseconds: Limits.helloMilliseconds)
        try call.exchange()
        #expect(call.status == .deadlineExceeded)
        #expect(call.closed == .idleTimeout)
    }

    @Test("of the usual size is taken, in pieces of one byte each")
    func pieces() throws {
        let fixture = try DeviceFixture()
        let call = try EnrolmentCall(fixture.shard)
        var bytes: [UInt8] = []
        MessageFraming.frame(EnrollRequest(enrolmentKey: "none", name: "phone"), into: &bytes)
        for byte in bytes { try call.say([byte]) }
        #expect(call.status == nil)
        try call.end()
        #expect(call.status == .unauthenticated)
    }

    private func enrol(_ fixture: DeviceFixture, tags: [String]) throws -> EnrolmentCall {
        let call = try EnrolmentCall(fixture.shard)
        var bytes: [UInt8] = []
        let request = EnrollRequest(enrolmentKey: Provider.enrolmentKey, name: "phone", tags: tags)
        MessageFraming.frame(request, into: &bytes)
        try call.say(bytes)
        try call.end()
        try fixture.run()
        return call
    }

    @Test("gives the device the tags of its key and those that it names, together with the device itself")
    func tags() throws {
        let fixture = try DeviceFixture()
        let call = try enrol(fixture, tags: ["lobby", "fleet"])
        let kept = fixture.ledger.changes.compactMap {
            if case .putLabel(let label) = $0 { label.tags } else { nil }
        }
        #expect(kept.map { $0.map(\.text) } == [["fleet", "lobby"]])
        try fixture.commit()
        try call.exchange()
        #expect(call.status == .ok)
        try fixture.run()
        let named = try #require(fixture.shard.directory.find("phone"))
        #expect(fixture.shard.directory[named]?.label.tags.map(\.text) == ["fleet", "lobby"])
    }

    @Test("with a key whose last use another node has had meanwhile is refused, and the next one at once")
    func usedUpElsewhere() throws {
        let fixture = try DeviceFixture()
        let call = try enrol(fixture, tags: [])
        fixture.ledger.refusal = StoreError(.usedUp, "The key has no uses left.")
        try fixture.commit(isDurable: false)
        try call.exchange()
        #expect(call.status == .permissionDenied)
        let sentence = EnrolmentRefusal.usedUp(key: "fleet", uses: 0).sentence
        #expect(sentence.hasPrefix("The enrolment key fleet was for"))
        #expect(fixture.shard.directory.find("phone") == nil)
        #expect(fixture.logged.last { $0.level == .notice }?.text.contains("fleet is used up") == true)
    }

    @Test(
        "with a tag that is none, or with too many, is refused",
        arguments: [["a b"], [""], (0...Limits.tagsPerDevice).map { "t\($0)" }])
    func wrongTags(_ tags: [String]) throws {
        let call = try enrol(try DeviceFixture(), tags: tags)
        #expect(call.status == .invalidArgument)
    }
}

@Suite("An enrolment with a wrong key")
struct RefusedEnrolmentTests {
    private static let fleet = ConnectionLimiter.Source(address("192.0.2.1:1"))

    private static func address(_ text: String) -> SocketAddress {
        guard let address = try? SocketAddress(text) else { preconditionFailure("it is an address") }
        return address
    }

    private func request(_ key: String) -> [UInt8] {
        var bytes: [UInt8] = []
        MessageFraming.frame(EnrollRequest(enrolmentKey: key, name: "phone"), into: &bytes)
        return bytes
    }

    private func enrol(
        _ fixture: DeviceFixture, key: String, from source: ConnectionLimiter.Source?
    ) throws -> EnrolmentCall {
        let peer = Peer(address: "192.0.2.1:4711", source: source)
        let call = try EnrolmentCall(fixture.shard, peer: peer)
        try call.say(request(key))
        try call.end()
        return call
    }

    @Test("is told with its address, as a repeat of others of its kind", .bug(id: "R15"))
    func told() throws {
        let fixture = try DeviceFixture()
        _ = try enrol(fixture, key: "wrong", from: Self.fleet)
        let line = try #require(fixture.logged.last { $0.level == .notice })
        #expect(line.text == "an enrolment from 192.0.2.1:4711 was refused: unknown key")
        #expect(line.kind != nil && line.source == "192.0.2.1")
    }

    @Test(
        "is answered later where its source has had many, and nobody with a good key waits for that",
        .bug(id: "R15"))
    func slower() throws {
        let fixture = try DeviceFixture()
        for _ in 1...Limits.enrolmentRefusalsPerMinute {
            #expect(try enrol(fixture, key: "wrong", from: Self.fleet).status == .unauthenticated)
        }
        let slow = try enrol(fixture, key: "wrong", from: Self.fleet)
        #expect(slow.status == nil)
        // A device from another address, and one without a known address.
        for source in [ConnectionLimiter.Source(Self.address("192.0.2.2:1")), nil] {
            #expect(try enrol(fixture, key: "wrong", from: source).status == .unauthenticated)
        }
        let good = try enrol(fixture, key: Provider.enrolmentKey, from: Self.fleet)
        try fixture.run()
        try fixture.commit()
        try good.exchange()
        #expect(good.status == .ok)

        try fixture.advance(byMilliseconds: Limits.refusalMilliseconds)
        try slow.exchange()
        #expect(slow.status == .unauthenticated)
        // A minute later, the address has no restriction.
        try fixture.advance(byMilliseconds: 60_000)
        #expect(try enrol(fixture, key: "wrong", from: Self.fleet).status == .unauthenticated)
    }

    @Test("does not keep a relay from ending", .bug(id: "R15"))
    func drain() throws {
        let fixture = try DeviceFixture()
        for _ in 1...Limits.enrolmentRefusalsPerMinute {
            _ = try enrol(fixture, key: "wrong", from: Self.fleet)
        }
        let slow = try enrol(fixture, key: "wrong", from: Self.fleet)
        fixture.shard.drain()
        try slow.exchange()
        #expect(slow.status == .unauthenticated)
    }

    @Test("takes up no more memory than the limits say, whatever addresses there are", .bug(id: "R15"))
    func sources() {
        let pace = RefusalPace()
        for number in 0..<Limits.sources + 10 {
            let words = [number >> 16, number & 65_535].map { String($0, radix: 16) }
            let text = "[2001:db8:\(words[0]):\(words[1])::]:1"
            guard let source = ConnectionLimiter.Source(Self.address(text)) else { continue }
            #expect(pace.isMany(from: source, now: 0) == (number >= Limits.sources))
        }
        #expect(pace.sourceCount == Limits.sources)
        if let late = ConnectionLimiter.Source(Self.address("192.0.2.9:1")) {
            #expect(!pace.isMany(from: late, now: 120_000_000_000))
        }
        #expect(pace.sourceCount == 1)
    }
}

@Suite("A request at the port of devices that is no gRPC")
struct StrangerTests {
    @Test("is not answered as a push that was accepted: a provider may have taken the port for its own")
    func push() throws {
        let call = try EnrolmentCall(
            DeviceFixture().shard, path: "/3/device/" + String(repeating: "ab", count: 32), contentType: nil)
        try call.end()
        #expect(call.httpStatus == "415" && call.status == .invalidArgument)
    }
}

/// A call of `Enroll`, with a real session at each end of its connection.
final class EnrolmentCall: SessionHandler {
    private(set) var status: GRPCStatus?
    private(set) var httpStatus: String?
    let session: DeviceSession
    private lazy var client = HTTP2Connection(role: .client, handler: self)
    private let wire: TestWire
    private var stream: Int32 = 0

    init(
        _ shard: Shard, path: String = "/postrider.courier.v1.Courier/Enroll",
        contentType: String? = "application/grpc", peer: Peer = Peer(address: "test")
    ) throws {
        session = DeviceSession(among: shard.devices)
        wire = TestWire(session.endpoint, peer: peer)
        session.endpoint.opened(on: wire)
        var head: HeaderBlock = [":method": "POST", ":scheme": "https", ":authority": "relay"]
        head.add(":path", path)
        if let contentType { head.add("content-type", contentType) }
        stream = try client.openRequest(head)
    }

    /// The reason for which the relay closed the connection; nil if it is open.
    var closed: CloseReason? { wire.closed }

    func say(_ bytes: [UInt8]) throws {
        client.send(stream, bytes.span)
        try exchange()
    }

    func end() throws {
        client.finish(stream)
        try exchange()
    }

    func exchange() throws {
        while client.wantsToSend || wire.isDirty {
            var bytes: [UInt8] = []
            client.drain(into: &bytes)
            if !bytes.isEmpty { session.endpoint.received(bytes.span) }
            var sent: [UInt8] = []
            wire.isDirty = false
            session.endpoint.flush(into: &sent)
            if !sent.isEmpty { try client.receive(sent.span) }
        }
    }

    func headers(_ stream: Int32, _ block: inout HeaderBlock, kind: BlockKind, endStream: Bool) {
        httpStatus = httpStatus ?? block.value(of: ":status").map { String(decoding: $0, as: UTF8.self) }
        if let text = block.value(of: "grpc-status") { status = GRPCStatus(text.span) }
    }

    func data(_ stream: Int32, _ bytes: Span<UInt8>) {}
    func ended(_ stream: Int32) {}
    func closed(_ stream: Int32, errorCode: UInt32) {}
    func goawayReceived(lastStream: Int32, errorCode: UInt32, debug: [UInt8]) {}
}
