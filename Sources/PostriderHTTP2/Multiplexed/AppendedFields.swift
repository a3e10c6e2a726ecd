/// Fields of answers that nghttp2 is asked for with the status alone. Each is put, as a literal without indexing, into
/// the HEADERS frame that nghttp2 makes (RFC 7541, section 6.2.2): it enters no table and needs none.
struct AppendedFields {
    private struct Field {
        let stream: Int32
        /// Where in ``bytes`` it lies.
        let range: Range<Int>
    }

    private var fields: [Field] = []
    private var bytes: [UInt8] = []
    /// Which of the fields leaves next.
    private var next = 0

    /// `:status: 200`, entry 8 of the static table.
    private static let ok: UInt8 = 0x88

    /// Whether any answer has not left.
    var isWaiting: Bool { next < fields.count }

    /// Adds the field of an answer.
    mutating func add(_ name: StaticString, _ value: Span<UInt8>, to stream: Int32) {
        precondition(name.utf8CodeUnitCount < 0x7F && value.count <= 100, "the lengths fit into a byte each")
        let start = bytes.count
        name.withUTF8Buffer { unsafe bytes.append(literal: $0.span, value) }
        fields.append(Field(stream: stream, range: start..<bytes.count))
    }

    /// Adds its field to an answer, if the HEADERS frame that begins at `start` is one. Answers leave in the order in
    /// which they were given, except those that were reset before.
    mutating func extend(_ output: inout [UInt8], from start: Int) {
        // An interim response may leave before, on the same stream.
        guard output.last == Self.ok else { return }
        let stream = Int32(output.span.bigEndianWord(at: start + 5) & 0x7FFF_FFFF)
        var place = next
        while place < fields.count, fields[place].stream != stream { place += 1 }
        guard place < fields.count else { return }
        next = place + 1
        output.append(fields[place].range, of: bytes)
        output.endFrame(from: start)
    }

    /// Everything has left.
    mutating func removeAll() {
        guard !fields.isEmpty else { return }
        fields.removeAll(keepingCapacity: true)
        bytes.removeAll(keepingCapacity: true)
        next = 0
    }
}
