/// Counts the padding of a client's frames (RFC 9113, sections 6.1 and 6.2) from the bytes of its connection, by
/// stream. A relay that captures requests shows it; no other looks at padding.
package struct PaddingCounter {
    /// Bytes that come before the next head.
    private var passing = FloodAccounting.magicBytes
    /// The head of the next frame as far as it has arrived, and the length of its padding behind it.
    private var head: [UInt8] = []
    private var counts: [Int32: Int] = [:]

    /// Streams that are remembered at most. A client can pad frames of streams that it never ends.
    private static let mostStreams = 4096

    /// A counter for a connection whose preface has not arrived.
    package init() {}

    /// Takes bytes of the client before the connection does.
    package mutating func receive(_ bytes: Span<UInt8>) {
        var next = 0
        while next < bytes.count {
            let step = min(passing, bytes.count - next)
            next += step
            passing -= step
            guard next < bytes.count else { return }
            head.append(bytes[next])
            next += 1
            readHead()
        }
    }

    /// Bytes of padding in the frames of a stream so far, which are forgotten.
    package mutating func take(_ stream: Int32) -> Int { counts.removeValue(forKey: stream) ?? 0 }

    private mutating func readHead() {
        let bytes = head
        guard let frame = FrameHead(bytes.span, at: 0) else { return }
        let isPadded = frame.isPadded && frame.count > 0 && [.data, .headers].contains(frame.kind)
        let rest = bytes.count - FrameHead.byteCount
        guard !isPadded || rest > 0 else { return }
        if let length = bytes.dropFirst(FrameHead.byteCount).first, length > 0 {
            if counts.count >= Self.mostStreams { counts.removeAll() }
            counts[frame.stream, default: 0] += Int(length)
        }
        passing = frame.count - rest
        head.removeAll(keepingCapacity: true)
    }
}
