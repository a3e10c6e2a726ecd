extension Array where Element == UInt8 {
    /// Appends bytes in one move. The owners of larger buffers above cannot reach a pointer, and one byte after
    /// another shows in the profile of a push.
    public mutating func append(copying bytes: Span<UInt8>) {
        unsafe bytes.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
    }

    /// Appends a part of other bytes in one move.
    mutating func append(_ range: Range<Int>, of other: [UInt8]) {
        unsafe other.withUnsafeBufferPointer { bytes in
            unsafe append(contentsOf: UnsafeBufferPointer(rebasing: bytes[range]))
        }
    }

    /// Bytes of its own.
    public init(copying bytes: Span<UInt8>) {
        self = unsafe bytes.withUnsafeBufferPointer { unsafe Array($0) }
    }
}

extension Span where Element == UInt8 {
    /// Whether these bytes are a text that is known when the program is written, such as the name of a field: the
    /// compiler makes a few comparisons of whole words of it.
    @inlinable
    @inline(__always)
    public func matches(_ text: StaticString) -> Bool {
        guard count == text.utf8CodeUnitCount else { return false }
        return text.withUTF8Buffer { known in
            for index in known.indices where unsafe known[index] != self[unchecked: index] { return false }
            return true
        }
    }
}
