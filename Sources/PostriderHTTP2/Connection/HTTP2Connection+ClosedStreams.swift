import CPostriderNghttp2

/// HEADERS and DATA that come too late. The library ignores them where it keeps no closed streams, which would cost
/// 300 KB for a thousand of them. It decodes the HEADERS first, past every bound that we set to header blocks: a peer
/// could have us do that for ever.
extension HTTP2Connection {
    /// The peer has begun one stream more than it may, and it is reset. The library forgets that at once.
    func refused(_ frame: nghttp2_frame_hd) {
        lastRefused = max(lastRefused, frame.stream_id)
        if frame.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) == 0 { cutStreams.remember(frame.stream_id) }
    }

    /// The last stream that the peer has begun. The library does not count one that was refused.
    var lastBegun: Int32 { unsafe max(lastRefused, nghttp2_session_get_last_proc_stream_id(raw)) }

    /// Whether no stream of this number is open at the library, which may not have been given all that came.
    func mayBeClosed(_ stream: Int32) -> Bool { unsafe nghttp2_session_find_stream(raw, stream) == nil }

    /// DATA comes, of which the library has been given nothing. On a stream that the peer has ended or reset it ends
    /// the connection (RFC 9113, section 5.1); where we have closed the stream, the peer may not have known.
    func judge(_ data: FrameHead) {
        guard role == .server, data.stream & 1 == 1, data.stream <= lastBegun, mayBeClosed(data.stream)
        else { return }
        if !cutStreams.mayHold(data.stream) {
            _ = unsafe nghttp2_session_terminate_session(raw, ErrorCode.streamClosed)
        } else if data.endsStream {
            _ = cutStreams.forgive(data.stream)
        }
    }

    /// A frame begins. HEADERS on a stream that the peer has ended or reset end the connection (RFC 9113, section
    /// 5.1).
    func begins(_ frame: nghttp2_frame_hd) {
        let stream = frame.stream_id
        guard role == .server, UInt32(frame.type) == NGHTTP2_HEADERS.rawValue, stream & 1 == 1,
            stream <= lastBegun,
            unsafe nghttp2_session_find_stream(raw, stream) == nil
        else { return }
        if !cutStreams.forgive(stream) {
            _ = unsafe nghttp2_session_terminate_session(raw, ErrorCode.streamClosed)
        }
    }
}
