import Glibc
import PostriderEndpoints
import PostriderHTTP2
import Testing

@testable import PostriderTransport

/// A server's owner that answers every complete request, or none.
final class Owner: EndpointOwner {
    private(set) lazy var endpoint = HTTP2Handler(role: .server, settings: settings, owner: self)
    private let settings: SessionSettings
    var heads = 0
    var reason: CloseReason?
    var answers = true
    var onHead: (Int32) -> Void = { _ in }

    init(_ settings: SessionSettings = SessionSettings()) { self.settings = settings }

    func opened() {}

    func headers(_ stream: Int32, _ block: inout HeaderBlock, kind: BlockKind, endStream: Bool) {
        heads += 1
        onHead(stream)
    }

    func data(_ stream: Int32, _ bytes: Span<UInt8>) {}

    func ended(_ stream: Int32) {
        guard answers else { return }
        endpoint.streams.respond(stream, [":status": "200"])
    }

    func closed(_ stream: Int32, errorCode: UInt32) {}
    func goawayReceived(lastStream: Int32, errorCode: UInt32, debug: [UInt8]) {}
    func disconnected(_ reason: CloseReason) { self.reason = reason }
}

/// A peer that sends exactly the bytes that the test gives it.
final class ScriptedPeer: ConnectionHandler {
    private(set) var wire: (any ConnectionOutput)?
    private(set) var input: [UInt8] = []
    private(set) var reason: CloseReason?
    private var output: [UInt8] = []

    func opened(on wire: any ConnectionOutput) {
        self.wire = wire
        wire.setNeedsFlush()
    }

    func received(_ bytes: Span<UInt8>) { for index in bytes.indices { input.append(bytes[index]) } }
    func inputEnded() { wire?.close(.peerClosed) }

    func flush(into output: inout [UInt8]) {
        output += self.output
        self.output = []
    }

    func closed(_ reason: CloseReason) {
        self.reason = reason
        wire = nil
    }

    func say(_ bytes: [UInt8]) {
        output += bytes
        wire?.setNeedsFlush()
    }

    /// The error code and the text of the last GOAWAY.
    var goaway: (errorCode: UInt32, text: String)? {
        var rest = input[...]
        var found: ArraySlice<UInt8>?
        while rest.count >= 9 {
            let length = rest.prefix(3).reduce(0) { $0 << 8 | Int($1) }
            if rest[rest.startIndex + 3] == 7 { found = rest.dropFirst(9).prefix(length) }
            rest = rest.dropFirst(9 + length)
        }
        return found.map { payload in
            let words = payload.dropFirst(4)
            return (
                words.prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) },
                String(decoding: words.dropFirst(4), as: UTF8.self)
            )
        }
    }

    static func frame(_ kind: UInt8, _ flags: UInt8 = 0, _ stream: UInt32 = 0, _ payload: [UInt8] = [])
        -> [UInt8]
    {
        [
            UInt8(payload.count >> 16), UInt8(payload.count >> 8 & 255), UInt8(payload.count & 255), kind,
            flags,
        ]
            + (0..<4).map { UInt8(truncatingIfNeeded: stream >> UInt32(24 - 8 * $0)) } + payload
    }

    static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
    static let acknowledgement = frame(4, 1)
    /// The bytes with which a peer must begin.
    static let opening = preface + frame(4) + acknowledgement

    /// The head of a request; the flags tell whether a body follows.
    static func request(_ number: Int, flags: UInt8 = 5) -> [UInt8] {
        frame(1, flags, UInt32(2 * number + 1), [0x83, 0x84, 0x87, 0x01, 0x01, 0x78])
    }
}

/// A loop with a listener on a Unix socket of its own.
final class EndpointFixture {
    let loop: EventLoop
    let listener: Listener
    private var owners: [Owner]
    private let path = "/tmp/endpoints-\(getpid())-\(UInt64.random(in: 0...UInt64.max)).sock"

    /// Creates a fixture in which each connection gets the next of the owners.
    init(_ owners: [Owner], limits: ConnectionLimits) throws {
        self.owners = owners
        loop = try EventLoop()
        var waiting = owners
        listener = try loop.listen(try SocketAddress(unixPath: path), limits: limits) { _ in
            waiting.removeFirst().endpoint
        }
    }

    deinit { listener.close() }

    /// Connects a peer that sends these bytes.
    func peer(saying bytes: [UInt8]) -> ScriptedPeer {
        let peer = ScriptedPeer()
        peer.say(bytes)
        loop.connect(to: listener.address, session: peer)
        return peer
    }

    /// Runs turns of the loop until `condition` holds. The limit only keeps a broken test from hanging.
    func turn(until condition: () -> Bool, _ location: SourceLocation = #_sourceLocation) {
        var isLate = false
        let limit = loop.makeTimer { isLate = true }
        limit.arm(afterMilliseconds: 30_000)
        while !condition() && !isLate { loop.turn() }
        #expect(!isLate, "what the test waits for does not happen", sourceLocation: location)
    }
}
