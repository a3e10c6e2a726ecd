import PostriderCourier
import PostriderHTTP2
import PostriderNotifications
import PostriderTransport
import Testing

@testable import PostriderRelay

@Suite("The end of a connection")
struct ConnectionEndTests {
    static let peer: Peer = {
        guard let address = try? SocketAddress("192.0.2.1:4711") else {
            preconditionFailure("it is an address")
        }
        return Peer(address: address.description, source: ConnectionLimiter.Source(address))
    }()
    /// The bytes of a provider's mistake, and the name of its error in RFC 9113, section 7.
    static let mistakes: [(said: [UInt8], name: String)] = [
        (Array("SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n".utf8), "PROTOCOL_ERROR"),
        // A header block that begins with index 0, which is invalid (RFC 7541, section 6.1).
        (
            WireFrame.opening + WireFrame(kind: .headers, flags: 4, stream: 1, payload: [0x80]).bytes,
            "COMPRESSION_ERROR"
        ),
        // A PING must have eight bytes.
        (WireFrame.opening + WireFrame(kind: .ping, payload: [1, 2, 3]).bytes, "FRAME_SIZE_ERROR"),
        // DATA on a stream that was never opened.
        (WireFrame.opening + WireFrame(kind: .data, stream: 1, payload: [1]).bytes, "PROTOCOL_ERROR"),
        // The window of the connection overflows.
        (
            WireFrame.opening + WireFrame(kind: .windowUpdate, payload: [0x7F, 0xFF, 0xFF, 0xFF]).bytes,
            "FLOW_CONTROL_ERROR"
        ),
    ]

    @Test(
        "by a mistake of the peer's is told once, with its address and the standard name", .bug(id: "R14"),
        arguments: mistakes.indices)
    func named(index: Int) throws {
        let (said, name) = Self.mistakes[index]
        let fixture = try ProviderFixture(peer: Self.peer)
        fixture.say(said)
        let lines = fixture.end()
        #expect(lines.count == 1)
        let line = try #require(lines.first)
        #expect(line.level == .info)
        #expect(line.text.hasPrefix("provider connection from 192.0.2.1:4711 ended: "))
        #expect(line.text.contains(name), "\(line.text)")
        #expect(line.kind == "provider \(name)" && line.source == "192.0.2.1")
    }

    @Test("by the peer's GOAWAY is told with the reason that the peer gives, in one line", .bug(id: "R14"))
    func goaway() throws {
        let fixture = try ProviderFixture(peer: Self.peer)
        let payload = [0, 0, 0, 0, 0, 0, 0, 9] + Array("no\ntable".utf8) as [UInt8]
        fixture.say(WireFrame.opening + WireFrame(kind: .goaway, payload: payload).bytes)
        let lines = fixture.end()
        #expect(
            lines.map(\.text) == [
                "provider at 192.0.2.1:4711 ends its connection with GOAWAY COMPRESSION_ERROR: no?table"
            ])
        #expect(lines.first?.kind == "provider GOAWAY COMPRESSION_ERROR")
    }

    @Test("in good order, or by a broken network, is a detail", .bug(id: "R14"))
    func inOrder() throws {
        let fixture = try ProviderFixture(peer: Self.peer)
        fixture.say(
            WireFrame.opening + WireFrame(kind: .goaway, payload: [UInt8](repeating: 0, count: 8)).bytes)
        #expect(fixture.end() == [])
        for reason in [CloseReason.peerClosed, .peerReset, .localClose, .idleTimeout, .overloaded] {
            #expect(reason.fault == nil)
        }
    }

    @Test("has a name for every error code of RFC 9113", .bug(id: "R14"))
    func names() {
        #expect(ErrorCode.name(0) == "NO_ERROR" && ErrorCode.name(9) == "COMPRESSION_ERROR")
        #expect(ErrorCode.name(0xB) == "ENHANCE_YOUR_CALM" && ErrorCode.name(0xD) == "HTTP_1_1_REQUIRED")
        #expect(ErrorCode.name(0xE) == ErrorCode.name(.max))
        #expect(SessionError.flooded.name == "ENHANCE_YOUR_CALM")
    }
}

@Suite("A device that keeps the relay waiting")
struct SilentDeviceTests {
    @Test("for its hello is told goodbye and DEADLINE_EXCEEDED before it is closed", .bug(id: "R24"))
    func noHello() throws {
        let fixture = try DeviceFixture()
        let line = try fixture.connect(saysHello: false)
        try fixture.advance(byMilliseconds: Limits.helloMilliseconds - 1)
        #expect(line.goodbye == nil && line.status == nil)
        try fixture.advance(byMilliseconds: 1)
        #expect(line.goodbye?.reason == .protocolError)
        #expect(line.goodbye?.detail == "no hello within 10 seconds")
        #expect(line.status == .deadlineExceeded)
        #expect(line.closed == nil)
        try fixture.advance(byMilliseconds: 5_000)
        #expect(line.closed == .localClose)
        let told = try #require(fixture.logged.last { $0.level == .info })
        #expect(told.text == "the link of the device at test was ended: no hello within 10 seconds")
        #expect(told.kind != nil)
    }

    @Test("for the answer to a PING is told why, where it can be reached after all", .bug(id: "R24"))
    func noPong() throws {
        let fixture = try DeviceFixture()
        let line = try fixture.connect()
        line.isDeaf = true
        // The hello counts as activity for one interval; then the relay sends a PING.
        for _ in 0..<200 where line.closed == nil { try fixture.advance(byMilliseconds: 20_000) }
        #expect(line.closed == .idleTimeout)
        line.isDeaf = false
        try fixture.run()
        #expect(line.goodbye?.detail == "no answer to a PING within 20 seconds")
        #expect(line.status == .deadlineExceeded)
    }
}
