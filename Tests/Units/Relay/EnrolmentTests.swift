import Courier
import Endpoints
import HTTP2
import Notifications
import Testing
import Transport

@testable import Relay

@Suite("An enrolment")
struct EnrolmentTests {
    /// The bound of the device port holds before anybody has said who it is.
    @Test("that is longer than any message is refused before it ends, and not kept")
    func endless() throws {
        let house = try DeviceHouse()
        let call = try EnrolmentCall(house.shard)
        for _ in 0..<8 where call.status == nil {
            let piece = [0, 0, 0, 0, 1, 0] as [UInt8]
            try call.say((0..<500).flatMap { _ in piece })
        }
        #expect(call.status == .resourceExhausted && call.session.calls.isEmpty)
    }

    @Test("of the usual size is taken, in pieces of one byte each")
    func pieces() throws {
        let house = try DeviceHouse()
        let call = try EnrolmentCall(house.shard)
        var bytes: [UInt8] = []
        MessageFraming.frame(EnrollRequest(enrolmentKey: "none", name: "phone"), into: &bytes)
        for byte in bytes { try call.say([byte]) }
        #expect(call.status == nil)
        try call.end()
        #expect(call.status == .unauthenticated)
    }
}

@Suite("A request at the port of devices that is no gRPC")
struct StrangerTests {
    @Test("is not answered as a push that was accepted: a provider may have taken the port for its own")
    func push() throws {
        let call = try EnrolmentCall(
            DeviceHouse().shard, path: "/3/device/" + String(repeating: "ab", count: 32), contentType: nil)
        try call.end()
        #expect(call.httpStatus == "415" && call.status == .invalidArgument)
    }
}

/// A call of `Enroll`: a real session at each end of a connection.
private final class EnrolmentCall: SessionHandler {
    private(set) var status: GRPCStatus?
    private(set) var httpStatus: String?
    let session: DeviceSession
    private lazy var client = HTTP2.Session(role: .client, handler: self)
    private let wire: TestWire
    private var stream: Int32 = 0

    init(
        _ shard: Shard, path: String = "/postrider.courier.v1.Courier/Enroll",
        contentType: String? = "application/grpc"
    ) throws {
        session = DeviceSession(number: shard.drawNumber(), shard: shard)
        wire = TestWire(session.endpoint, peer: Peer(address: "test"))
        session.endpoint.opened(on: wire)
        var head: HeaderBlock = [":method": "POST", ":scheme": "https", ":authority": "relay"]
        head.add(":path", path)
        if let contentType { head.add("content-type", contentType) }
        stream = try client.openRequest(head)
    }

    func say(_ bytes: [UInt8]) throws {
        client.send(stream, bytes.span)
        try exchange()
    }

    func end() throws {
        client.finish(stream)
        try exchange()
    }

    private func exchange() throws {
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
