/// Fields that are appended to answers for which nghttp2 writes only the status. Each is put into the finished HEADERS
/// frame as a literal without indexing (RFC 7541, section 6.2.2), which neither uses nor changes the HPACK table.
struct AppendedFields {
    private struct Field {
        let stream: Int32
        /// The range of the field in ``bytes``.
        let range: Range<Int>
    }

    private var fields: [Field] = []
    private var bytes: [UInt8] = []
    /// The index of the next field to be appended.
    private var next = 0

    /// `:status: 200`, entry 8 of the static table.
    private static let ok: UInt8 = 0x88

    /// Whether any field has not been sent.
    var isWaiting: Bool { next < fields.count }

    /// Adds the field of an answer.
    mutating func add(_ name: StaticString, _ value: Span<UInt8>, to stream: Int32) {
        precondition(name.utf8CodeUnitCount < 0x7F && value.count <= 100, "the lengths fit into a byte each")
        let start = bytes.count
        name.withUTF8Buffer { unsafe bytes.append(literal: $0.span, value) }
        fields.append(Field(stream: stream, range: start..<bytes.count))
    }

    /// Appends the next field to the HEADERS frame that begins at `start`, if that frame is its answer. Answers are
    /// sent in the order in which they were given, except those that were reset before.
    mutating func extend(_ output: inout [UInt8], from start: Int) {
        // An interim response may be sent first on the same stream.
        guard output.last == Self.ok else { return }
        let stream = Int32(output.span.bigEndianWord(at: start + 5) & 0x7FFF_FFFF)
        var place = next
        while place < fields.count, fields[place].stream != stream { place += 1 }
        guard place < fields.count else { return }
        next = place + 1
        output.append(fields[place].range, of: bytes)
        output.endFrame(from: start)
    }

    /// All answers were sent.
    mutating func removeAll() {
        guard !fields.isEmpty else { return }
        fields.removeAll(keepingCapacity: true)
        bytes.removeAll(keepingCapacity: true)
        next = 0
    }
}
