extension Array where Element == UInt8 {
    /// Appends bytes in one move. The owners of larger buffers above cannot reach a pointer, and one byte after
    /// another shows in the profile of a push.
    public mutating func append(copying bytes: Span<UInt8>) {
        unsafe bytes.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
    }
}
