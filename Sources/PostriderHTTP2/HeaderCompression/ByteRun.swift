/// A growing buffer whose memory is reused.
///
/// Appending to an array costs more in checks than in copying, which is measurable on the hot path.
public struct ByteRun: Sendable {
    /// The memory. The first ``count`` bytes are in use, the others are undefined.
    public private(set) var room: [UInt8] = []
    /// Bytes in use.
    public private(set) var count = 0

    /// An empty run without memory.
    public init() {}

    /// Removes all bytes and keeps the memory.
    public mutating func removeAll() { count = 0 }

    /// Appends bytes with one copy.
    ///
    /// - Returns: their range in ``room``.
    @discardableResult
    public mutating func append(_ bytes: Span<UInt8>) -> Range<Int> {
        unsafe bytes.withUnsafeBufferPointer { unsafe append($0) }
    }

    @discardableResult
    mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) -> Range<Int> {
        let range = count..<count + bytes.count
        if range.upperBound > room.count { grow(to: range.upperBound) }
        if let source = bytes.baseAddress {
            unsafe room.withUnsafeMutableBufferPointer { room in
                unsafe (room.baseAddress.unsafelyUnwrapped + range.lowerBound)
                    .update(from: source, count: range.count)
            }
        }
        count = range.upperBound
        return range
    }

    /// Appends two runs of bytes together.
    mutating func append(_ first: UnsafeBufferPointer<UInt8>, _ second: UnsafeBufferPointer<UInt8>) {
        let end = count + first.count + second.count
        if end > room.count { grow(to: end) }
        unsafe room.withUnsafeMutableBufferPointer { room in
            let target = unsafe room.baseAddress.unsafelyUnwrapped + count
            if let source = first.baseAddress { unsafe target.update(from: source, count: first.count) }
            if let source = second.baseAddress {
                unsafe (target + first.count).update(from: source, count: second.count)
            }
        }
        count = end
    }

    /// Calls `body` with bytes that are in use.
    @inline(__always)
    func withBytes<Result>(_ range: Range<Int>, _ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        precondition(range.upperBound <= count, "bytes in use")
        return unsafe room.withUnsafeBufferPointer { unsafe body(UnsafeBufferPointer(rebasing: $0[range])) }
    }

    /// Overwrites bytes that are in use.
    mutating func overwrite(at position: Int, with part: Span<UInt8>) {
        precondition(
            position >= 0 && position + part.count <= count, "only bytes in use are overwritten")
        var all = room.mutableSpan
        for index in part.indices { all[position + index] = part[index] }
    }

    private mutating func grow(to least: Int) {
        let wanted = max(least, 2 * room.count, 256)
        room.append(contentsOf: repeatElement(0, count: wanted - room.count))
    }
}
