import CPostriderNghttp2

/// Owns one nghttp2 session and makes every call into the library that concerns an existing session.
///
/// The session's callbacks (``Nghttp2Callbacks``) get the pointer that was set with ``setContext(_:)``; the object
/// behind it must outlive this one.
@safe
final class Nghttp2Session {
    private let raw: OpaquePointer

    /// Takes over a session.
    init(owning raw: OpaquePointer) { unsafe self.raw = raw }

    deinit { unsafe nghttp2_session_del(raw) }

    func setContext(_ context: UnsafeMutableRawPointer) {
        unsafe nghttp2_session_set_user_data(raw, context)
    }

    // MARK: Bytes

    /// Takes bytes of the peer and calls the callbacks. A negative result is an error of the library.
    func receive(_ bytes: UnsafeBufferPointer<UInt8>) -> Int {
        unsafe nghttp2_session_mem_recv(raw, bytes.baseAddress, bytes.count)
    }

    /// Calls `body` with the next frame that may be sent: its bytes, which are empty after the last frame, or a
    /// negative error of the library.
    func withNextFrame<Result>(_ body: (UnsafeBufferPointer<UInt8>, _ error: Int32) -> Result) -> Result {
        var frame: UnsafePointer<UInt8>?
        let count = unsafe nghttp2_session_mem_send(raw, &frame)
        return unsafe body(UnsafeBufferPointer(start: frame, count: max(0, count)), Int32(min(0, count)))
    }

    var wantsToRead: Bool { unsafe nghttp2_session_want_read(raw) != 0 }
    var wantsToWrite: Bool { unsafe nghttp2_session_want_write(raw) != 0 }
    /// Frames that wait to be sent, DATA aside.
    var queuedFrames: Int { unsafe nghttp2_session_get_outbound_queue_size(raw) }

    // MARK: Streams

    /// Whether the library has no open stream of this number.
    func isUnknown(_ stream: Int32) -> Bool { unsafe nghttp2_session_find_stream(raw, stream) == nil }

    /// Whether we have ended the stream.
    func hasEndedLocally(_ stream: Int32) -> Bool {
        unsafe nghttp2_session_get_stream_local_close(raw, stream) != 0
    }

    /// The last stream of the peer that the library has processed.
    var lastProcessedStream: Int32 { unsafe nghttp2_session_get_last_proc_stream_id(raw) }

    /// Attaches a record to a stream, unretained: records live as long as their connection.
    func attach(_ record: StreamRecord, to stream: Int32) {
        unsafe nghttp2_session_set_stream_user_data(raw, stream, Unmanaged.passUnretained(record).toOpaque())
    }

    /// Calls `body` with the record of an open stream; nil if the stream is closed, or is being reported as closed.
    @inline(__always)
    func withRecord<Result>(of stream: Int32, _ body: (StreamRecord) -> Result) -> Result? {
        guard let pointer = unsafe nghttp2_session_get_stream_user_data(raw, stream) else { return nil }
        return unsafe Unmanaged<StreamRecord>.fromOpaque(pointer)._withUnsafeGuaranteedRef { record in
            record.id == stream ? body(record) : nil
        }
    }

    // MARK: Requests and responses

    /// Whether a client may begin another stream.
    var mayRequest: Bool { unsafe nghttp2_session_check_request_allowed(raw) != 0 }

    /// Begins a request.
    ///
    /// - Returns: the stream, or a negative error of the library.
    func submitRequest(_ head: HeaderBlock, _ record: StreamRecord, body: nghttp2_data_provider?) -> Int32 {
        let context = unsafe Unmanaged.passUnretained(record).toOpaque()
        return unsafe head.withNameValues { pairs, count in
            guard var body = unsafe body else {
                return unsafe nghttp2_submit_request(raw, nil, pairs, count, nil, context)
            }
            return unsafe nghttp2_submit_request(raw, nil, pairs, count, &body, context)
        }
    }

    /// Answers a request, with END_STREAM.
    func submitResponse(_ stream: Int32, _ head: HeaderBlock) {
        unsafe head.withNameValues { _ = unsafe nghttp2_submit_response(raw, stream, $0, $1, nil) }
    }

    /// Answers a request, with a body.
    func submitResponse(_ stream: Int32, _ head: HeaderBlock, body: nghttp2_data_provider) {
        var body = unsafe body
        unsafe head.withNameValues { _ = unsafe nghttp2_submit_response(raw, stream, $0, $1, &body) }
    }

    /// Answers a request with a status alone, and END_STREAM.
    func submitResponse(_ stream: Int32, status: StaticString) {
        var pair = unsafe statusField(status)
        unsafe nghttp2_submit_response(raw, stream, &pair, 1, nil)
    }

    /// Sends an interim response (RFC 9110, section 15.2).
    func submitInterimResponse(_ stream: Int32, status: StaticString) {
        var pair = unsafe statusField(status)
        unsafe pair.flags |= UInt8(NGHTTP2_NV_FLAG_NO_INDEX.rawValue)
        unsafe nghttp2_submit_headers(raw, noFlags, stream, nil, &pair, 1, nil)
    }

    func submitTrailers(_ stream: Int32, _ trailers: HeaderBlock) {
        unsafe trailers.withNameValues { _ = unsafe nghttp2_submit_trailer(raw, stream, $0, $1) }
    }

    /// Continues a body that had nothing to send.
    func resumeBody(of stream: Int32) { unsafe nghttp2_session_resume_data(raw, stream) }

    func submitReset(_ stream: Int32, errorCode: UInt32) {
        unsafe nghttp2_submit_rst_stream(raw, noFlags, stream, errorCode)
    }

    /// Adds `count` bytes to the receive windows of a stream and of the connection (WINDOW_UPDATE).
    func consume(_ stream: Int32, _ count: Int) { unsafe nghttp2_session_consume(raw, stream, count) }

    /// Adds `count` bytes to the receive window of the connection (WINDOW_UPDATE).
    func consumeOnConnection(_ count: Int) { unsafe nghttp2_session_consume_connection(raw, count) }

    // MARK: The connection

    func submitPing() { unsafe nghttp2_submit_ping(raw, noFlags, nil) }

    func submitSettings(_ entries: [(nghttp2_settings_id, UInt32)]) {
        let pairs = entries.map { nghttp2_settings_entry(settings_id: Int32($0.0.rawValue), value: $0.1) }
        let result = unsafe nghttp2_submit_settings(raw, noFlags, pairs, pairs.count)
        precondition(result == 0, "settings out of range")
    }

    /// Sets how many bytes of all bodies together the peer may send.
    func setConnectionWindow(_ size: Int32) {
        unsafe nghttp2_session_set_local_window_size(raw, noFlags, 0, size)
    }

    /// Sends the GOAWAY that names the largest stream number, so that every stream is still served.
    func submitShutdownNotice() { unsafe nghttp2_submit_shutdown_notice(raw) }

    func submitGoaway(lastStream: Int32, errorCode: UInt32, debug: [UInt8]) {
        unsafe nghttp2_submit_goaway(raw, noFlags, lastStream, errorCode, debug, debug.count)
    }

    /// Ends the connection because of a violation by the peer.
    func terminate(errorCode: UInt32) { _ = unsafe nghttp2_session_terminate_session(raw, errorCode) }

    // MARK: Flow control and the peer's settings

    func remoteSetting(_ setting: nghttp2_settings_id) -> UInt32 {
        unsafe nghttp2_session_get_remote_settings(raw, setting)
    }

    /// How many bytes of body we may send on the connection and on a stream. The stream's value is 0 also for a window
    /// below zero (RFC 9113, section 6.9.2).
    func sendWindows(of stream: Int32) -> (connection: Int, stream: Int) {
        unsafe (
            Int(nghttp2_session_get_remote_window_size(raw)),
            Int(nghttp2_session_get_stream_remote_window_size(raw, stream))
        )
    }

    /// How many received bytes have not been given back with WINDOW_UPDATE, and how large the windows are.
    func receiveWindows(of stream: Int32) -> FlowControl.Receive {
        unsafe FlowControl.Receive(
            connection: Int(nghttp2_session_get_effective_recv_data_length(raw)),
            stream: Int(nghttp2_session_get_stream_effective_recv_data_length(raw, stream)),
            connectionWindow: Int(nghttp2_session_get_effective_local_window_size(raw)),
            streamWindow: Int(nghttp2_session_get_stream_effective_local_window_size(raw, stream)))
    }
}

private let noFlags = UInt8(NGHTTP2_FLAG_NONE.rawValue)

/// The field `:status` with a value that is known at compile time: the library copies neither.
private func statusField(_ status: StaticString) -> nghttp2_nv {
    let name: StaticString = ":status"
    return unsafe nghttp2_nv(
        name: UnsafeMutablePointer(mutating: name.utf8Start),
        value: UnsafeMutablePointer(mutating: status.utf8Start),
        namelen: name.utf8CodeUnitCount, valuelen: status.utf8CodeUnitCount,
        flags: UInt8(NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue | NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue))
}
