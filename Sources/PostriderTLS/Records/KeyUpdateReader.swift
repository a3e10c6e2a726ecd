/// Reads KeyUpdate messages, the only handshake messages that may arrive after the handshake: `24 | 0 0 1 | request`,
/// where the request is 0 or 1 (RFC 8446, section 4.6.3).
///
/// A peer may split a message among several records, but must end a KeyUpdate at the end of a record (section 5.1).
struct KeyUpdateReader {
    /// The number of bytes received of a message. Their values need not be stored, because they were checked.
    private var received: UInt8 = 0

    /// Whether a message has begun and not ended.
    var isInsideMessage: Bool { received > 0 }

    /// Reads the content of a record.
    ///
    /// - Returns: whether the peer requests that we update our key as well; nil if the message is not complete.
    mutating func take(_ content: UnsafeBufferPointer<UInt8>) throws(RecordViolation) -> Bool? {
        // Empty handshake records are forbidden (section 5.4).
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
