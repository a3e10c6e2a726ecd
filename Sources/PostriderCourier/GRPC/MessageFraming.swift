public import PostriderNotifications

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

    /// Bytes that were fed and not taken; 0: they end between two messages.
    public var waitingByteCount: Int { buffer.count - position }

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

    /// Feeds bytes and calls `body` with every message that they complete, in order. Messages that lie in `bytes`
    /// as a whole are not copied. An error, of the framing or of `body`, is final.
    public mutating func takeAll(
        _ bytes: Span<UInt8>, _ body: (Span<UInt8>) throws(CourierError) -> Void
    ) throws(CourierError) {
        if let failure { throw failure }
        var start = 0
        do throws(CourierError) {
            while buffer.isEmpty, let range = try Self.message(in: bytes, from: start, maxMessageBytes) {
                try body(bytes.extracting(range))
                start = range.upperBound
            }
            guard start < bytes.count else { return }
            feed(bytes.extracting(start...))
            while let range = try nextRange() {
                try body(buffer.span.extracting(range))
                advance(to: range.upperBound)
            }
        } catch {
            throw fail(error)
        }
    }

    private mutating func nextRange() throws(CourierError) -> Range<Int>? {
        if let failure { throw failure }
        do throws(CourierError) {
            if let range = try Self.message(in: buffer.span, from: position, maxMessageBytes) { return range }
        } catch {
            throw fail(error)
        }
        compact()
        return nil
    }

    /// Where the next message lies behind its prefix, which is at `start`; nil where it is not complete.
    private static func message(
        in bytes: Span<UInt8>, from start: Int, _ maxMessageBytes: Int
    ) throws(CourierError) -> Range<Int>? {
        guard bytes.count - start >= prefixByteCount else { return nil }
        switch bytes[start] {
        case 0: break
        case 1: throw .compressed
        default: throw .invalidPrefix
        }
        var length = 0
        for index in 1..<prefixByteCount { length = length << 8 | Int(bytes[start + index]) }
        guard length <= maxMessageBytes else {
            throw .messageTooLarge(bytes: length, limit: maxMessageBytes)
        }
        let first = start + prefixByteCount
        return bytes.count - first >= length ? first..<first + length : nil
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
    _ notification: Notification, delivery: UInt64, reportedAs push: UInt64 = 0, into output: inout [UInt8]
) {
    let deliver = Deliver(notification, delivery: delivery, reportedAs: push)
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
