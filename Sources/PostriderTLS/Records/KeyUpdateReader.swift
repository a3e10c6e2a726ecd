/// Reads KeyUpdate messages, the only ones of a handshake that may come after it: `24 | 0 0 1 | request`, where the
/// request is 0 or 1 (RFC 8446, section 4.6.3).
///
/// A peer may cut a message into several records, but must end a KeyUpdate at the end of a record (section 5.1).
struct KeyUpdateReader {
    /// How many bytes of a message have come. Those before the last one are known: the reader has checked them.
    private var received: UInt8 = 0

    /// Whether a message has begun that has not ended.
    var isInsideMessage: Bool { received > 0 }

    /// Takes the content of a record.
    ///
    /// - Returns: whether the peer wants us to change our key as well; nil if the message goes on.
    mutating func take(_ content: UnsafeBufferPointer<UInt8>) throws(RecordViolation) -> Bool? {
        // Section 5.4.
        guard !content.isEmpty else {
            throw RecordViolation(.unexpectedMessage, "an empty record of a handshake message")
        }
        for place in content.indices {
            let byte = unsafe content[place]
            switch received {
            case 0:
                guard byte == 24 else {
                    throw RecordViolation(
                        .unexpectedMessage, "handshake message \(byte) after the handshake")
                }
            case 1, 2, 3:
                guard byte == (received == 3 ? 1 : 0) else {
                    throw RecordViolation(.decodeError, "a KeyUpdate of a wrong length")
                }
            default:
                received = 0
                guard byte <= 1 else {
                    throw RecordViolation(.illegalParameter, "a KeyUpdate with the request \(byte)")
                }
                guard place == content.count - 1 else {
                    throw RecordViolation(.unexpectedMessage, "a KeyUpdate does not end its record")
                }
                return byte == 1
            }
            received += 1
        }
        return nil
    }
}
