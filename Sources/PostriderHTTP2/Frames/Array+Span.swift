extension Array where Element == UInt8 {
    /// Appends bytes with one copy. Callers have no pointers, and appending byte by byte shows in the profile of a
    /// push.
    public mutating func append(copying bytes: Span<UInt8>) {
        unsafe bytes.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
    }

    /// Appends a part of another array with one copy.
    mutating func append(_ range: Range<Int>, of other: [UInt8]) {
        unsafe other.withUnsafeBufferPointer { bytes in
            unsafe append(contentsOf: UnsafeBufferPointer(rebasing: bytes[range]))
        }
    }

    /// An array with a copy of these bytes.
    public init(copying bytes: Span<UInt8>) {
        self = unsafe bytes.withUnsafeBufferPointer { unsafe Array($0) }
    }
}

extension Span where Element == UInt8 {
    /// Whether these bytes equal a text that is known at compile time, such as the name of a field. The compiler turns
    /// this into a few comparisons of whole words.
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
