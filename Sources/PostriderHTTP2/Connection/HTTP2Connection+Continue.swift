import CPostriderNghttp2

/// Interim answers to requests that wait for one (RFC 9110, section 10.1.1).
extension HTTP2Connection {
    /// Takes note of a field whose name has the length of `expect`. Other expectations are ignored, as section 10.1.1
    /// lets a server do.
    func noteExpectation(_ name: Span<UInt8>, _ value: Span<UInt8>) {
        guard role == .server, name.matches("expect") else { return }
        let members = String(decoding: value.indices.map { value[$0] }, as: UTF8.self).lowercased()
            .split(separator: ",").map { $0.drop { $0 == " " } }
        if members.contains(where: { $0 == "100-continue" }) { blockExpectsContinue = true }
    }

    /// Answers `100` where the peer waits for it: nothing of the body has come and no answer was given.
    func sendContinue() {
        var streams: [Int32] = []
        swap(&streams, &awaitingContinue)
        let (status, number): (StaticString, StaticString) = (":status", "100")
        for stream in streams
        where withAttachedRecord(stream, { !$0.isAnswered && !$0.hasEnded }) == true {
            let flags =
                NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue | NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue
                | NGHTTP2_NV_FLAG_NO_INDEX.rawValue
            var pair = unsafe nghttp2_nv(
                name: UnsafeMutablePointer(mutating: status.utf8Start),
                value: UnsafeMutablePointer(mutating: number.utf8Start),
                namelen: status.utf8CodeUnitCount, valuelen: number.utf8CodeUnitCount, flags: UInt8(flags))
            unsafe nghttp2_submit_headers(
                raw, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, nil, &pair, 1, nil)
        }
    }
}
