public import PostriderNotifications

/// Splits the bytes of a gRPC stream into messages.
///
///     +------------+--------------------------+------------------+
///     | compressed | length, most significant | message          |
///     | 1 byte, 0  | byte first, 4 bytes      | `length` bytes   |
///     +------------+--------------------------+------------------+
///
/// It buffers at most one message, its prefix and the bytes that were fed after it, if the caller takes all messages
/// after each feed. Between messages it holds no memory.
public struct MessageFraming: Sendable {
    /// The number of bytes before each message.
    public static let prefixByteCount = 5

    private let maxMessageBytes: Int
    private var buffer: [UInt8] = []
    private var position = 0
    private var failure: CourierError?

    /// Creates framing for messages of at most `maxMessageBytes`.
    public init(maxMessageBytes: Int) { self.maxMessageBytes = maxMessageBytes }

    /// The number of bytes that were fed and not taken; 0 if they ended between two messages.
    public var waitingByteCount: Int { buffer.count - position }

    /// Adds received bytes. After an error, bytes are dropped.
    public mutating func feed(_ bytes: Span<UInt8>) {
        guard failure == nil else { return }
        buffer.append(addingCapacity: bytes.count) { output in
            for index in bytes.indices { output.append(bytes[index]) }
        }
    }

    /// Returns the bytes of the next message; nil if it is not complete yet. Errors are `messageTooLarge` (thrown as
    /// soon as the prefix is complete), `compressed` and `invalidPrefix`. An error is final: every later call throws
    /// it again.
    public mutating func next() throws(CourierError) -> [UInt8]? {
        guard let range = try nextRange() else { return nil }
        let message = Array(buffer[range])
        advance(to: range.upperBound)
        return message
    }

    /// Decodes the next message in the buffer and returns it; nil if it is not complete yet. An error of decoding is
    /// final, like an error of framing.
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

    /// Feeds bytes and calls `body` with every message that they complete, in order. Messages that are completely in
    /// `bytes` are not copied. An error of the framing or of `body` is final.
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

    /// The range of the message whose prefix begins at `start`; nil if it is not complete.
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

    /// Removes the bytes that were taken. It runs once per feed, not once per message.
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
    /// Appends a message with its prefix. The length is filled in afterwards, so nothing is copied twice.
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

/// Appends the framed `RelayMessage` that delivers a notification. This is a separate encoder for the hot path: it
/// computes all sizes first, so that there is at most one allocation (none if `output` has room) and every byte is
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
