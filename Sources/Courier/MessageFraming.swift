public import Notifications

/// Cuts the bytes of a gRPC stream into messages.
///
///     +------------+--------------------------+------------------+
///     | compressed | length, most significant | message          |
///     | 1 byte, 0  | byte first, 4 bytes      | `length` bytes   |
///     +------------+--------------------------+------------------+
///
/// It holds at most one message, its prefix and what was fed after it, provided that the caller takes all
/// messages after each feed; between messages it holds no memory.
public struct MessageFraming: Sendable {
    /// The number of bytes before each message.
    public static let prefixByteCount = 5

    private let maxMessageBytes: Int
    private var buffer: [UInt8] = []
    private var position = 0
    private var failure: CourierError?

    /// Framing for messages of at most `maxMessageBytes`.
    public init(maxMessageBytes: Int) { self.maxMessageBytes = maxMessageBytes }

    /// Whether the bytes so far end between two messages. A stream that ends elsewhere was cut off.
    public var isAtBoundary: Bool { position == buffer.count }

    /// Adds bytes as they came. After an error there is nothing to be read any more, and bytes are dropped.
    public mutating func feed(_ bytes: Span<UInt8>) {
        guard failure == nil else { return }
        buffer.append(addingCapacity: bytes.count) { output in
            for index in bytes.indices { output.append(bytes[index]) }
        }
    }

    /// The bytes of the next message, or nil when it is not complete yet. An error is final: it is thrown
    /// again by every later call. Errors: `messageTooLarge` as soon as the prefix is there, `compressed`,
    /// `invalidPrefix`.
    public mutating func next() throws(CourierError) -> [UInt8]? {
        guard let range = try nextRange() else { return nil }
        let message = Array(buffer[range])
        advance(to: range.upperBound)
        return message
    }

    /// The next message, decoded where it lies, or nil when it is not complete yet. A message that cannot be
    /// decoded is an error of the stream and as final as one of the framing.
    public mutating func next<Message: CourierMessage>(_: Message.Type) throws(CourierError) -> Message? {
        guard let range = try nextRange() else { return nil }
        do throws(CourierError) {
            let message = try Message(decoding: buffer.span.extracting(range))
            advance(to: range.upperBound)
            return message
        } catch {
            throw fail(error)
        }
    }

    private mutating func nextRange() throws(CourierError) -> Range<Int>? {
        if let failure { throw failure }
        guard buffer.count - position >= Self.prefixByteCount else {
            compact()
            return nil
        }
        switch buffer[position] {
        case 0: break
        case 1: throw fail(.compressed)
        default: throw fail(.invalidPrefix)
        }
        let length = buffer[position + 1..<position + Self.prefixByteCount].reduce(0) { $0 << 8 | Int($1) }
        guard length <= maxMessageBytes else {
            throw fail(.messageTooLarge(bytes: length, limit: maxMessageBytes))
        }
        let start = position + Self.prefixByteCount
        guard buffer.count - start >= length else {
            compact()
            return nil
        }
        return start..<start + length
    }

    private mutating func advance(to end: Int) {
        position = end
        if position == buffer.count { compact() }
    }

    /// Forgets what was read: once per feed, not once per message.
    private mutating func compact() {
        guard position > 0 else { return }
        if position == buffer.count { buffer = [] } else { buffer.removeSubrange(..<position) }
        position = 0
    }

    private mutating func fail(_ error: CourierError) -> CourierError {
        failure = error
        buffer = []
        position = 0
        return error
    }
}

extension MessageFraming {
    /// Appends a message with its prefix. The length is filled in afterwards; nothing is copied twice.
    public static func frame(_ message: some CourierMessage, into output: inout [UInt8]) {
        let start = output.count
        output.append(contentsOf: repeatElement(0, count: prefixByteCount))
        message.encode(into: &output)
        let length = output.count - start - prefixByteCount
        for index in 1..<prefixByteCount {
            output[start + index] = UInt8(truncatingIfNeeded: length >> (8 * (prefixByteCount - 1 - index)))
        }
    }
}

/// Appends the framed `RelayMessage` that delivers a notification: the data path's own encoder. All sizes are
/// computed first, so that there is at most one allocation (none when `output` has room) and every byte is
/// written once.
public func frameDeliver(
    _ notification: Notification, delivery: UInt64, wantsReport: Bool = false, into output: inout [UInt8]
) {
    let deliver = Deliver(notification, delivery: delivery, wantsReport: wantsReport)
    let body = deliver.byteCount
    let message = 1 + ProtobufSize.varint(UInt64(body)) + body
    let size = MessageFraming.prefixByteCount + message
    let needed = output.count + size
    if needed > output.capacity { output.reserveCapacity(max(needed, output.capacity * 2)) }
    output.append(addingCapacity: size) { bytes in
        bytes.append(0)
        bytes.appendBigEndian(UInt64(message), count: MessageFraming.prefixByteCount - 1)
        bytes.appendVarint(UInt64(RelayMessage.deliverField) << 3 | 2)
        bytes.appendVarint(UInt64(body))
        deliver.encode(into: &bytes)
    }
    assert(output.count == needed, "the size of a delivery was computed wrongly")
}
