/// What a session keeps of a stream that its owner knows of: above all what is still to be sent.
///
/// Records are pooled and live as long as their session, so that the library may hold unretained pointers.
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

    /// Zero while the record is in the pool.
    var id: Int32 = 0
    /// Where it stands in the session's list.
    var index = 0
    /// Whether the head has been received; what follows is trailers.
    var hasHead = false
    /// Whether the peer has ended it, or reset it.
    var hasEnded = false
    /// Whether a server has begun its answer.
    var isAnswered = false
    /// Whether that answer goes on until `finish`: nothing is waited for meanwhile.
    var isStreaming = false
    /// The session's moment from which on the peer keeps us waiting.
    var since = 0
    /// Whether the library waits to be told that there is something to send.
    var isDeferred = false
    var ending = Ending.open
    /// Bytes of the body; those before `taken` have left.
    private var outbound: [UInt8] = []
    private var taken = 0

    /// Memory that an idle stream may keep for its next body, in bytes.
    private static let keptCapacity = 512

    /// Whether a complete answer waits for the peer's window.
    var isAnswerStuck: Bool { isAnswered && !isStreaming && outboundBytes > 0 }
    /// Whether it is the peer's turn: to end its request, or to take the answer.
    var isStalled: Bool { !isStreaming && (!hasEnded || isAnswerStuck) }

    var outboundBytes: Int { outbound.count - taken }

    func setBody(_ body: [UInt8]) {
        outbound = body
        taken = 0
        ending = .last
    }

    func append(_ bytes: Span<UInt8>) {
        if taken > outbound.count / 2 {
            outbound.removeSubrange(0..<taken)
            taken = 0
        }
        outbound.append(copying: bytes)
    }

    /// Moves as much as fits to `target`.
    func take(into target: UnsafeMutableBufferPointer<UInt8>) -> Int {
        let count = min(target.count, outboundBytes)
        _ = unsafe target.update(fromContentsOf: outbound[taken..<taken + count])
        taken += count
        if taken == outbound.count {
            outbound.removeAll(keepingCapacity: outbound.capacity <= Self.keptCapacity)
            taken = 0
        }
        return count
    }

    /// Makes the record fit for the pool.
    func clear() {
        id = 0
        hasHead = false
        hasEnded = false
        isAnswered = false
        isStreaming = false
        isDeferred = false
        ending = .open
        outbound.removeAll(keepingCapacity: outbound.capacity <= Self.keptCapacity)
        taken = 0
    }
}
