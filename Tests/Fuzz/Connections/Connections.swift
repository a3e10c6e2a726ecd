import PostriderNotifications

@testable import PostriderRelay

/// A provider's connection after the TLS handshake, fed with raw bytes: frames, HPACK, and a shard that answers.
///
/// The first byte is a mode. Its low six bits are the size of each piece of input, with 0 for all at once. 0x40 makes
/// the relay stop after half of the input, and 0x80 leaves header blocks to nghttp2. If the input does not begin like
/// the connection preface, the preface and an empty SETTINGS are put before it.
enum Connections {
    static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
    private static let emptySettings: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0]

    static func run(_ input: [UInt8]) throws(Contradiction) {
        guard let mode = input.first else { return }
        var bytes = Array(input.dropFirst())
        if bytes.first != preface[0] { bytes = preface + emptySettings + bytes }
        let size = mode & 0x3F == 0 ? bytes.count : Int(mode & 0x3F)
        let door = FuzzedConnection(mode & 0x80 == 0 ? ProtocolCode() : .nghttp2)
        for start in stride(from: 0, to: bytes.count, by: max(size, 1)) where !door.hasEnded {
            if mode & 0x40 != 0, start >= bytes.count / 2 { door.drain() }
            door.receive(bytes.span.extracting(start..<min(start + size, bytes.count)))
            try door.check(received: start + size)
        }
        door.hangUp()
        try door.checkAfterEnd(received: bytes.count)
    }
}
