/// Bytes of a stream's body that follow one another and do not lie in one array, because some of them are shared with
/// other streams.
struct OutboundParts {
    private var parts: [(bytes: [UInt8], isShared: Bool)] = []
    /// Bytes of all parts.
    private(set) var byteCount = 0

    var isEmpty: Bool { parts.isEmpty }

    /// Appends a copy of the stream's own bytes.
    mutating func append(_ bytes: Span<UInt8>) {
        if parts.last?.isShared ?? true { parts.append(([], false)) }
        parts[parts.count - 1].bytes.append(copying: bytes)
        byteCount += bytes.count
    }

    /// Appends bytes that others hold, too.
    mutating func append(shared bytes: [UInt8]) {
        parts.append((bytes, true))
        byteCount += bytes.count
    }

    /// Takes the first part out.
    mutating func removeFirst() -> (bytes: [UInt8], isShared: Bool)? {
        guard !parts.isEmpty else { return nil }
        let first = parts.removeFirst()
        byteCount -= first.bytes.count
        return first
    }
}
