/// The header block that is being received. Blocks of one connection never interleave (RFC 9113, section 4.3).
final class InboundBlock {
    var fields = HeaderBlock()
    /// Whether ``fields`` is complete already: the fields of the replacement, which nghttp2 reports, are ignored.
    var isDecoded = false
    /// Whether the block has `expect: 100-continue` (RFC 9110, section 10.1.1).
    private(set) var expectsContinue = false

    /// A block begins.
    func begin() {
        if !isDecoded { fields.removeAll() }
        expectsContinue = false
    }

    /// Adds a field that nghttp2 has decoded.
    func append(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) {
        unsafe fields.append(name: name, value: value)
        if name.count == 6 { unsafe noteExpectation(name.span, value.span) }
    }

    /// Notes `expect: 100-continue`; called for fields whose name is as long as `expect`. Other expectations are
    /// ignored, as section 10.1.1 lets a server do.
    private func noteExpectation(_ name: Span<UInt8>, _ value: Span<UInt8>) {
        guard name.matches("expect") else { return }
        let members = String(decoding: value.indices.map { value[$0] }, as: UTF8.self).lowercased()
            .split(separator: ",").map { $0.drop { $0 == " " } }
        if members.contains(where: { $0 == "100-continue" }) { expectsContinue = true }
    }
}
