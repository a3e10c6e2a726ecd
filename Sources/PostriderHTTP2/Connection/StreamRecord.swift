/// What a connection keeps of an open stream: above all the part of the body that is still to be sent.
///
/// Records are used again and live as long as their connection, so that nghttp2 may hold unretained pointers.
final class StreamRecord {
    /// What happens when the buffer is empty.
    enum Ending {
        /// More may come: wait.
        case open
        /// The last bytes carry END_STREAM.
        case last
        /// These fields follow and carry END_STREAM.
        case trailers(HeaderBlock)
    }

    /// Zero while no stream is open here.
    var id: Int32 = 0
    /// Its place in ``OpenStreams``.
    var index: Int
    /// Whether a header block was received: the next one is the trailers.
    var hasHead = false
    /// Whether the peer has ended it, or reset it.
    var hasEnded = false
    /// Whether a server has begun its answer.
    var isAnswered = false
    /// Whether that answer goes on until `finish`: nothing is waited for meanwhile.
    var isStreaming = false
    /// The connection's moment from which on the peer keeps us waiting.
    var since = 0
    /// Whether nghttp2 waits to be told that there is something to send (NGHTTP2_ERR_DEFERRED).
    var isDeferred = false
    var ending = Ending.open { didSet { hasBody = true } }
    /// Whether there was a body to send: otherwise nothing below has changed.
    private var hasBody = false
    /// Bytes of the body; those before `taken` have left.
    private var outbound: [UInt8] = []
    private var taken = 0
    /// Whether the bytes are shared with other streams: they must not be changed then.
    private var isShared = false
    /// What follows ``outbound``, if something is shared.
    private var later = OutboundParts()

    /// Memory that an idle stream may keep for its next body, in bytes.
    private static let keptCapacity = 512

    /// Whether a complete answer waits for the peer's window.
    var isAnswerStuck: Bool { isAnswered && !isStreaming && outboundBytes > 0 }
    /// Whether it is the peer's turn: to end its request, or to take the answer.
    var isStalled: Bool { !isStreaming && (!hasEnded || isAnswerStuck) }

    /// Whether its answer goes on and neither end has anything under way.
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

    /// Appends the bytes that `write` does.
    func append(_ write: (inout [UInt8]) -> Void) {
        hasBody = true
        guard !isShared, later.isEmpty else { return later.append(write) }
        if taken > outbound.count / 2 {
            outbound.removeSubrange(0..<taken)
            taken = 0
        }
        write(&outbound)
    }

    /// Appends bytes that others send too; they are not copied before they become frames.
    func append(shared bytes: [UInt8]) {
        hasBody = true
        later.append(shared: bytes)
        if taken == outbound.count { advance() }
    }

    /// Goes on to the bytes that follow.
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

    /// Moves this many bytes, which are there, to the end of `output`.
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

    /// Makes the record fit for the next stream.
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
