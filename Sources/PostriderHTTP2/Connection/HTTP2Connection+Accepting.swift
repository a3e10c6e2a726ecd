import CPostriderNghttp2

/// The answer that most requests of a push service get: `200` and one field whose value is never the same. The library
/// is asked for the status alone; the field is put into the frame that it makes, spelled out, which needs no table.
extension HTTP2Connection {
    /// A field for an answer that has not left.
    struct Tail {
        let stream: Int32
        /// Where in ``tailBytes`` it lies.
        let bytes: Range<Int>
    }

    /// Answers a request with `:status: 200` and this field, and no body.
    ///
    /// - Parameter value: at most 100 bytes.
    public func accept(_ stream: Int32, _ name: StaticString, _ value: Span<UInt8>) {
        precondition(name.utf8CodeUnitCount < 0x7F && value.count <= 100, "the lengths fit into a byte each")
        guard answers(stream) else { return }
        let start = tailBytes.count
        name.withUTF8Buffer { unsafe tailBytes.append(spelling: $0.span, value) }
        tails.append(Tail(stream: stream, bytes: start..<tailBytes.count))
        let (status, good): (StaticString, StaticString) = (":status", "200")
        var pair = unsafe nghttp2_nv(
            name: UnsafeMutablePointer(mutating: status.utf8Start),
            value: UnsafeMutablePointer(mutating: good.utf8Start),
            namelen: status.utf8CodeUnitCount, valuelen: good.utf8CodeUnitCount,
            flags: UInt8(NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue | NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue))
        unsafe nghttp2_submit_response(raw, stream, &pair, 1, nil)
    }

    /// Adds its field to an answer that the library has framed, from `start` on. Answers leave in the order in which
    /// they were given, but for those that were reset before.
    func addTail(_ output: inout [UInt8], sent start: Int) {
        // `:status: 200` is a number of the static table. An interim answer may leave before, on the same stream.
        guard output.last == 0x88 else { return }
        let stream = Int32(output.span.bigEndianWord(at: start + 5) & 0x7FFF_FFFF)
        var next = nextTail
        while next < tails.count, tails[next].stream != stream { next += 1 }
        guard next < tails.count else { return }
        nextTail = next + 1
        output.append(tails[next].bytes, of: tailBytes)
        output.endFrame(from: start)
    }

    /// Everything has left.
    func forgetTails() {
        tails.removeAll(keepingCapacity: true)
        tailBytes.removeAll(keepingCapacity: true)
        nextTail = 0
    }
}
