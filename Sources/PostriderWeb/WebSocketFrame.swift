import PostriderNotifications

/// A frame (RFC 6455, section 5.2).
struct WebSocketFrame: Equatable {
    /// The opcodes.
    enum Kind: UInt8 {
        case continuation = 0
        case text = 1
        case binary = 2
        case close = 8
        case ping = 9
        case pong = 10

        var isControl: Bool { rawValue >= 8 }
    }

    let kind: Kind
    let isFinal: Bool
    /// The payload without the mask.
    let payload: [UInt8]

    /// The most bytes of a control frame's payload.
    static let mostControlBytes = 125

    /// Reads the first frame of a client in `bytes`; nil if it has not arrived to its end.
    ///
    /// - Returns: the frame and the index after it.
    static func read(_ bytes: ArraySlice<UInt8>) throws(WebSocketViolation) -> (WebSocketFrame, Int)? {
        guard bytes.count >= 2, case let first = bytes.startIndex else { return nil }
        guard bytes[first] & 0x70 == 0, let kind = Kind(rawValue: bytes[first] & 0x0F) else {
            throw .reserved
        }
        let isFinal = bytes[first] & 0x80 != 0
        guard bytes[first + 1] & 0x80 != 0 else { throw .unmasked }
        let short = Int(bytes[first + 1] & 0x7F)
        if kind.isControl, !isFinal || short > mostControlBytes { throw .wrongControl }
        let lengthBytes = short < 126 ? 0 : short == 126 ? 2 : 8
        guard bytes.count >= 2 + lengthBytes else { return nil }
        var length = UInt64(short)
        if lengthBytes > 0 {
            length = bytes[(first + 2)..<(first + 2 + lengthBytes)].reduce(0) { $0 << 8 | UInt64($1) }
            // The shortest form is the only one, and the highest bit is 0.
            guard length >= (lengthBytes == 2 ? 126 : 65_536), length >> 63 == 0 else { throw .wrongLength }
        }
        if kind == .binary { throw .binary }
        guard length <= UInt64(Limits.webMessageBytes) else { throw .longMessage }
        let start = first + 2 + lengthBytes + maskBytes
        let end = start + Int(length)
        guard bytes.endIndex >= end else { return nil }
        var payload = Array(bytes[start..<end])
        for index in payload.indices { payload[index] ^= bytes[start - maskBytes + index % maskBytes] }
        return (WebSocketFrame(kind: kind, isFinal: isFinal, payload: payload), end)
    }

    private static let maskBytes = 4

    /// Writes a whole, unmasked frame, as servers send them.
    static func write(_ kind: Kind, _ payload: Span<UInt8>, to bytes: inout [UInt8]) {
        bytes.append(0x80 | kind.rawValue)
        switch payload.count {
        case ..<126: bytes.append(UInt8(payload.count))
        case ..<65_536:
            bytes.append(126)
            bytes.append(UInt8(payload.count >> 8))
            bytes.append(UInt8(truncatingIfNeeded: payload.count))
        default:
            bytes.append(127)
            for shift in stride(from: 56, through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: payload.count >> shift))
            }
        }
        for index in payload.indices { bytes.append(payload[index]) }
    }
}
