/// The received bytes that are not processed yet, as lines or as they are.
struct LineReader: Sendable {
    private var bytes: [UInt8] = []
    /// Where the bytes begin that are not processed.
    private var start = 0
    /// How far an end of a line was looked for.
    private var searched = 0

    /// The number of bytes that are not processed.
    var count: Int { bytes.count - start }
    var isEmpty: Bool { count == 0 }

    mutating func append(_ more: Span<UInt8>) {
        if start > 0 {
            bytes.removeFirst(start)
            searched -= start
            start = 0
        }
        bytes.reserveCapacity(bytes.count + more.count)
        for index in more.indices { bytes.append(more[index]) }
    }

    /// The next line without its CR LF; nil if its end has not arrived.
    ///
    /// - Throws: at the first byte of the line that is a CR or LF alone, or is beyond `most`.
    mutating func nextLine(most: Int) throws(HTTPViolation) -> ArraySlice<UInt8>? {
        while searched < bytes.count {
            guard searched - start < most else { throw .longHead }
            switch bytes[searched] {
            case UInt8(ascii: "\n"): throw .wrongLine
            case UInt8(ascii: "\r"):
                guard searched + 1 < bytes.count else { return nil }
                guard searched + 1 - start < most else { throw .longHead }
                guard bytes[searched + 1] == UInt8(ascii: "\n") else { throw .wrongLine }
                defer {
                    searched += 2
                    start = searched
                    shrink()
                }
                return bytes[start..<searched]
            default: searched += 1
            }
        }
        return nil
    }

    /// Takes the next bytes, at most so many.
    mutating func take(atMost most: Int) -> ArraySlice<UInt8> {
        let taken = bytes[start..<min(bytes.count, start + most)]
        start = taken.endIndex
        searched = start
        shrink()
        return taken
    }

    /// Frees the memory of an idle connection.
    private mutating func shrink() {
        guard start == bytes.count else { return }
        (bytes, start, searched) = ([], 0, 0)
    }
}
