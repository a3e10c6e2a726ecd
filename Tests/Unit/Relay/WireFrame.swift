/// An HTTP/2 frame as it is on the wire (RFC 9113, section 4.1).
struct WireFrame {
    enum Kind: UInt8 {
        case data, headers, priority, reset, settings, push, ping, goaway, windowUpdate, continuation
    }

    let kind: Kind
    var flags: UInt8 = 0
    var stream: UInt32 = 0
    var payload: [UInt8] = []

    static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
    /// The first bytes of a client: the preface and SETTINGS.
    static let opening = preface + settings([:]).bytes
    static let settingsAcknowledgement = WireFrame(kind: .settings, flags: 1)

    /// Makes a SETTINGS frame with these values by identifier.
    static func settings(_ values: [UInt16: UInt32]) -> WireFrame {
        let payload = values.sorted { $0.key < $1.key }.flatMap { identifier, value in
            big(UInt32(identifier), 2) + big(value, 4)
        }
        return WireFrame(kind: .settings, payload: payload)
    }

    /// Makes the frames of a request with its body; its fields are literals (RFC 7541, section 6.2.2).
    static func request(
        _ stream: UInt32, _ fields: [(String, String)], body: [UInt8] = Array("{}".utf8)
    ) -> [UInt8] {
        var block: [UInt8] = []
        for (name, value) in fields { block += [0] + literal(name) + literal(value) }
        return WireFrame(kind: .headers, flags: 4, stream: stream, payload: block).bytes
            + WireFrame(kind: .data, flags: 1, stream: stream, payload: body).bytes
    }

    var bytes: [UInt8] {
        Self.big(UInt32(payload.count), 3) + [kind.rawValue, flags] + Self.big(stream, 4) + payload
    }

    /// The values of a SETTINGS frame by identifier; nil for an acknowledgement or another frame.
    var settings: [UInt16: UInt32]? {
        guard kind == .settings, flags == 0 else { return nil }
        var values: [UInt16: UInt32] = [:]
        for start in stride(from: 0, to: payload.count, by: 6) {
            let identifier = UInt16(payload[start]) << 8 | UInt16(payload[start + 1])
            values[identifier] = payload[start + 2..<start + 6].reduce(0) { $0 << 8 | UInt32($1) }
        }
        return values
    }

    /// The value of MAX_CONCURRENT_STREAMS if this is a SETTINGS frame with one.
    var streamLimit: UInt32? { settings?[3] }

    /// Returns the frames in these bytes.
    static func all(in bytes: [UInt8]) -> [WireFrame] {
        var rest = bytes[...]
        var frames: [WireFrame] = []
        while rest.count >= 9, let kind = Kind(rawValue: rest[rest.startIndex + 3]) {
            let head = Array(rest.prefix(9))
            let count = head[..<3].reduce(0) { $0 << 8 | Int($1) }
            rest = rest.dropFirst(9)
            frames.append(
                WireFrame(
                    kind: kind, flags: head[4], stream: head[5...].reduce(0) { $0 << 8 | UInt32($1) },
                    payload: Array(rest.prefix(count))))
            rest = rest.dropFirst(count)
        }
        return frames
    }

    private static func big(_ value: UInt32, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> UInt32(8 * (count - 1 - $0))) }
    }

    /// Encodes a string without Huffman code (RFC 7541, sections 5.1 and 5.2).
    private static func literal(_ text: String) -> [UInt8] {
        var length = text.utf8.count
        guard length >= 127 else { return [UInt8(length)] + text.utf8 }
        var bytes: [UInt8] = [127]
        length -= 127
        while length >= 128 {
            bytes.append(UInt8(length & 127) | 128)
            length >>= 7
        }
        return bytes + [UInt8(length)] + text.utf8
    }
}
