/// An open stream of a connection; above all the part of its body that is still to be sent.
///
/// Records are reused and live as long as their connection, so that nghttp2 may hold unretained pointers to them.
final class StreamRecord {
    /// What follows when all bytes of the buffer are sent.
    enum Ending {
        /// More may be appended: wait.
        case open
        /// The last bytes carry END_STREAM.
        case last
        /// These fields follow and carry END_STREAM.
        case trailers(HeaderBlock)
    }

    /// The stream's identifier; zero while the record is free.
    var id: Int32 = 0
    /// The record's index in ``OpenStreams``.
    var index: Int
    /// Whether a header block was received: the next one is the trailers.
    var hasHead = false
    /// Whether the peer has ended or reset the stream.
    var hasEnded = false
    /// Whether a server has begun its answer.
    var isAnswered = false
    /// Whether the answer goes on until `finish`: no deadline runs on such a stream.
    var isStreaming = false
    /// The connection's tick since which the peer keeps us waiting.
    var since = 0
    /// Whether nghttp2 waits to be told that there is something to send (NGHTTP2_ERR_DEFERRED).
    var isDeferred = false
    var ending = Ending.open { didSet { hasBody = true } }
    /// Whether there was ever a body to send: if not, `clear()` has nothing below to reset.
    private var hasBody = false
    /// Bytes of the body; those before `taken` are in frames already.
    private var outbound: [UInt8] = []
    private var taken = 0
    /// Whether ``outbound`` is shared with other streams: it must not be changed then.
    private var isShared = false
    /// The bytes after ``outbound``, if any of the body is shared.
    private var later = OutboundParts()

    /// Memory that an idle stream may keep for its next body, in bytes.
    private static let keptCapacity = 512

    /// Whether a complete answer waits for the peer's window.
    var isAnswerStuck: Bool { isAnswered && !isStreaming && outboundBytes > 0 }
    /// Whether the peer has to act: end its request, or open its window for the answer.
    var isStalled: Bool { !isStreaming && (!hasEnded || isAnswerStuck) }

    /// Whether the answer goes on and nothing is under way in either direction.
    var isIdle: Bool {
        guard isStreaming, !hasEnded, isDeferred, outboundBytes == 0, case .open = ending else {
            return false
        }
        return true
    }

    init(index: Int) { self.index = index }

    var outboundBytes: Int { outbound.count - taken + later.byteCount }

    func setBody(_ body: [UInt8]) {
        hasBody = true
        outbound = body
        taken = 0
        ending = .last
    }

    /// Lets `write` append bytes.
    func append(_ write: (inout [UInt8]) -> Void) {
        hasBody = true
        guard !isShared, later.isEmpty else { return later.append(write) }
        if taken > outbound.count / 2 {
            outbound.removeSubrange(0..<taken)
            taken = 0
        }
        write(&outbound)
    }

    /// Appends bytes that other streams send too. They are not copied until they are put into frames.
    func append(shared bytes: [UInt8]) {
        hasBody = true
        later.append(shared: bytes)
        if taken == outbound.count { advance() }
    }

    /// Makes the next part the current one.
    private func advance() {
        guard let part = later.removeFirst() else {
            let keeps = !isShared && outbound.capacity <= Self.keptCapacity
            if keeps { outbound.removeAll(keepingCapacity: true) } else { outbound = [] }
            (taken, isShared) = (0, false)
            return
        }
        (outbound, isShared) = (part.bytes, part.isShared)
        taken = 0
    }

    /// Moves as much as fits to `target`.
    func take(into target: UnsafeMutableBufferPointer<UInt8>) -> Int {
        var filled = 0
        while filled < target.count, outboundBytes > 0 {
            let count = min(target.count - filled, outbound.count - taken)
            let rest = unsafe UnsafeMutableBufferPointer(rebasing: target[filled...])
            _ = unsafe rest.update(fromContentsOf: outbound[taken..<taken + count])
            taken += count
            filled += count
            if taken == outbound.count { advance() }
        }
        return filled
    }

    /// Moves the next `count` bytes to the end of `output`. At least so many must be waiting.
    func take(_ count: Int, onto output: inout [UInt8]) {
        var left = count
        while left > 0 {
            let step = min(left, outbound.count - taken)
            output.append(taken..<taken + step, of: outbound)
            taken += step
            left -= step
            if taken == outbound.count { advance() }
        }
    }

    /// Resets the record for the next stream.
    func clear() {
        id = 0
        hasHead = false
        hasEnded = false
        isAnswered = false
        isStreaming = false
        isDeferred = false
        guard hasBody else { return }
        ending = .open
        later = OutboundParts()
        advance()
        hasBody = false
    }
}
