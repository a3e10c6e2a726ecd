import PostriderHTTP2

/// Records what a handler is told, as text, and can react to it.
final class Recorder: SessionHandler {
    var events: [String] = []
    var bodies: [Int32: [UInt8]] = [:]
    var onHeaders: (Int32, HeaderBlock) -> Void = { _, _ in }
    var onData: (Int32, Int) -> Void = { _, _ in }
    var onEnded: (Int32) -> Void = { _ in }
    var onClosed: (Int32) -> Void = { _ in }
    var onWritable: (Int32) -> Void = { _ in }

    func headers(_ stream: Int32, _ block: inout HeaderBlock, kind: BlockKind, endStream: Bool) {
        var text: [String] = []
        block.forEach { name, value in text.append("\(String(name)): \(String(value))") }
        events.append("\(kind) \(stream)\(endStream ? " end" : "") [\(text.joined(separator: ", "))]")
        onHeaders(stream, block)
    }

    func data(_ stream: Int32, _ bytes: Span<UInt8>) {
        bodies[stream, default: []] += bytes.indices.map { bytes[$0] }
        onData(stream, bytes.count)
    }

    func ended(_ stream: Int32) {
        events.append("ended \(stream)")
        onEnded(stream)
    }

    func closed(_ stream: Int32, errorCode: UInt32) {
        events.append("closed \(stream) \(errorCode)")
        onClosed(stream)
    }

    func writable(_ stream: Int32) {
        events.append("writable \(stream)")
        onWritable(stream)
    }

    func goawayReceived(lastStream: Int32, errorCode: UInt32, debug: [UInt8]) {
        events.append("goaway \(lastStream) \(errorCode) \(String(decoding: debug, as: UTF8.self))")
    }

    func pingAcknowledged() { events.append("pong") }
    func settingsAcknowledged() { events.append("settings acknowledged") }
    func settingsReceived(maxConcurrentStreams: UInt32) { events.append("settings \(maxConcurrentStreams)") }

    /// The events of streams, without the settings, whose order varies.
    var streamEvents: [String] { events.filter { !$0.hasPrefix("settings") } }
    var closings: [String] { events.filter { $0.hasPrefix("closed") } }
}

extension String {
    init(_ bytes: Span<UInt8>) {
        self.init(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self)
    }
}

/// A client and a server that are connected by byte arrays.
final class Pair {
    let atClient = Recorder()
    let atServer = Recorder()
    let client: HTTP2Connection
    let server: HTTP2Connection
    /// All bytes that the server has sent.
    private(set) var fromServer: [UInt8] = []
    private(set) var fromClient: [UInt8] = []
    /// The number of bytes per call of `receive`.
    var step = Int.max

    init(client clientSettings: SessionSettings = .init(), server serverSettings: SessionSettings = .init()) {
        client = HTTP2Connection(role: .client, settings: clientSettings, handler: atClient)
        server = HTTP2Connection(role: .server, settings: serverSettings, handler: atServer)
    }

    /// Transfers bytes in both directions until neither side has any to send.
    func run() throws {
        while client.wantsToSend || server.wantsToSend {
            fromClient += try carry(client, server)
            fromServer += try carry(server, client)
        }
    }

    private func carry(_ sender: HTTP2Connection, _ receiver: HTTP2Connection) throws -> [UInt8] {
        let bytes = sender.drained()
        var rest = bytes[...]
        while !rest.isEmpty {
            try receiver.receive(Array(rest.prefix(step)))
            rest = rest.dropFirst(step)
        }
        return bytes
    }
}

extension HTTP2Connection {
    func receive(_ bytes: [UInt8]) throws(SessionError) { try receive(bytes.span) }
    func send(_ stream: Int32, _ bytes: [UInt8]) { send(stream, bytes.span) }

    func drained() -> [UInt8] {
        var output: [UInt8] = []
        drain(into: &output)
        return output
    }
}

/// A frame on the wire (RFC 9113, section 4.1).
struct Frame: Equatable, CustomStringConvertible {
    enum Kind: UInt8 {
        case data, headers, priority, reset, settings, push, ping, goaway, windowUpdate, continuation
    }

    var kind: Kind
    var flags: UInt8 = 0
    var stream: UInt32 = 0
    var payload: [UInt8] = []

    var endsStream: Bool { flags & 1 != 0 && (kind == .data || kind == .headers) }
    var description: String { "\(kind)\(endsStream ? "+end" : "") \(stream)" }

    var bytes: [UInt8] {
        let count = payload.count
        let head = [UInt8(count >> 16), UInt8(count >> 8 & 255), UInt8(count & 255), kind.rawValue, flags]
        return head + (0..<4).map { UInt8(truncatingIfNeeded: stream >> UInt32(24 - 8 * $0)) } + payload
    }

    /// Returns the frames in these bytes; a client's preface is skipped.
    static func all(in bytes: [UInt8]) -> [Frame] {
        var rest = bytes.starts(with: preface) ? bytes.dropFirst(preface.count) : bytes[...]
        var frames: [Frame] = []
        while rest.count >= 9, let kind = Kind(rawValue: rest[rest.startIndex + 3]) {
            let head = Array(rest.prefix(9))
            let count = head[..<3].reduce(0) { $0 << 8 | Int($1) }
            let stream = head[5...].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            rest = rest.dropFirst(9)
            frames.append(
                Frame(kind: kind, flags: head[4], stream: stream, payload: Array(rest.prefix(count))))
            rest = rest.dropFirst(count)
        }
        return frames
    }

    static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
    /// The first bytes of a client: the preface and SETTINGS.
    static let opening = preface + Frame(kind: .settings).bytes
    /// The block of a complete POST without a body: entries of the static HPACK table, and `:authority: x` as a
    /// literal.
    static let postBlock: [UInt8] = [0x83, 0x84, 0x87, 0x01, 0x01, 0x78]
}

let post: HeaderBlock = [
    ":method": "POST", ":scheme": "https", ":path": "/3/device/00", ":authority": "relay",
]
let ok: HeaderBlock = [":status": "200"]
