import CPostriderNghttp2

/// Makes the nghttp2 session: options, callbacks, allocator. Fails only when memory is exhausted, which is
/// the end of the process.
func makeLibrarySession(
    _ role: HTTP2Connection.Role, _ settings: SessionSettings, _ memory: SessionMemory
) -> OpaquePointer {
    var options: OpaquePointer?
    var callbacks: OpaquePointer?
    var session: OpaquePointer?
    var functions = unsafe memory.functions
    unsafe nghttp2_option_new(&options)
    unsafe nghttp2_session_callbacks_new(&callbacks)
    defer {
        unsafe nghttp2_option_del(options)
        unsafe nghttp2_session_callbacks_del(callbacks)
    }
    unsafe nghttp2_option_set_no_closed_streams(options, 1)
    unsafe nghttp2_option_set_no_auto_window_update(options, settings.automaticWindowUpdates ? 0 : 1)
    unsafe nghttp2_option_set_max_deflate_dynamic_table_size(options, Int(settings.encoderTableSize))
    // It counts resets of finished streams too, which honest clients send. We judge them ourselves:
    // `RapidResetDetector`.
    unsafe nghttp2_option_set_stream_reset_rate_limit(options, UInt64(Int64.max), UInt64(Int64.max))
    unsafe nghttp2_option_set_max_continuations(options, HeaderBlockInterceptor.mostContinuations)
    unsafe setCallbacks(callbacks)
    switch role {
    case .server: unsafe nghttp2_session_server_new3(&session, callbacks, nil, options, &functions)
    case .client: unsafe nghttp2_session_client_new3(&session, callbacks, nil, options, &functions)
    }
    assert(!memory.isHandingOut, "this nghttp2 asks for a frame buffer of another size")
    memory.isHandingOut = false
    guard let session = unsafe session else { preconditionFailure("no memory for an HTTP/2 session") }
    return unsafe session
}

/// The C callbacks: each finds its session, calls one method and returns a verdict.
private func setCallbacks(_ callbacks: OpaquePointer?) {
    unsafe nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks) { _, frame, context in
        guard let frame = unsafe frame?.pointee else { return 0 }
        return unsafe withSession(context) { session in
            session.begins(frame)
            return 0
        }
    }
    unsafe nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks) {
        _, frame, error, context in
        guard error == NGHTTP2_ERR_REFUSED_STREAM.rawValue, let frame = unsafe frame?.pointee else {
            return 0
        }
        return unsafe withSession(context) { session in
            unsafe session.refused(frame.hd)
            return 0
        }
    }
    unsafe nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, frame, context in
        let isRequest = unsafe frame?.pointee.headers.cat == NGHTTP2_HCAT_REQUEST
        return unsafe withSession(context) { session in
            if !session.isBlockRead { session.block.removeAll() }
            session.blockExpectsContinue = false
            if isRequest { session.resets.open() }
            return 0
        }
    }
    unsafe nghttp2_session_callbacks_set_on_header_callback(callbacks) {
        _, _, name, nameBytes, value, valueBytes, _, context in
        unsafe withSession(context) { session in
            if session.isBlockRead { return 0 }
            let isTaken = unsafe session.take(
                name: UnsafeBufferPointer(start: name, count: nameBytes),
                value: UnsafeBufferPointer(start: value, count: valueBytes))
            return isTaken ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
        }
    }
    unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, context in
        unsafe withSession(context) { session in
            guard let frame = unsafe frame else { return 0 }
            return unsafe session.received(frame) ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
        }
    }
    unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) {
        _, _, stream, bytes, count, context in
        unsafe withSession(context) { session in
            unsafe session.receivedData(stream, UnsafeBufferPointer(start: bytes, count: count))
            return 0
        }
    }
    unsafe nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) {
        _, stream, errorCode, context in
        // Never an error from here: the library would leak on it (CVE-2023-35945).
        unsafe withSession(context) { session in
            session.streamClosed(stream, errorCode: errorCode)
            return 0
        }
    }
}

/// The session that a callback is for; it is alive because one of its methods is on the stack.
@inline(__always)
func withSession<Result>(_ context: UnsafeMutableRawPointer?, _ body: (HTTP2Connection) -> Result) -> Result {
    unsafe Unmanaged<HTTP2Connection>.fromOpaque(context.unsafelyUnwrapped)._withUnsafeGuaranteedRef(body)
}
