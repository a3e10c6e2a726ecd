/// Bytes of a stream's body in more than one array, because some of them are shared with other streams.
struct OutboundParts {
    private var parts: [(bytes: [UInt8], isShared: Bool)] = []
    /// The number of bytes in all parts.
    private(set) var byteCount = 0

    var isEmpty: Bool { parts.isEmpty }

    /// Lets `write` append to the bytes of this stream alone.
    mutating func append(_ write: (inout [UInt8]) -> Void) {
        if parts.last?.isShared ?? true { parts.append(([], false)) }
        let last = parts.count - 1
        byteCount -= parts[last].bytes.count
        write(&parts[last].bytes)
        byteCount += parts[last].bytes.count
    }

    /// Appends bytes that are shared with other streams.
    mutating func append(shared bytes: [UInt8]) {
        parts.append((bytes, true))
        byteCount += bytes.count
    }

    /// Removes and returns the first part.
    mutating func removeFirst() -> (bytes: [UInt8], isShared: Bool)? {
        guard !parts.isEmpty else { return nil }
        let first = parts.removeFirst()
        byteCount -= first.bytes.count
        return first
    }
}
