import CPostriderNghttp2

/// Makes an nghttp2 session with our options and callbacks. It fails only when memory is exhausted, which ends the
/// process.
func makeNghttp2Session(
    _ role: HTTP2Connection.Role, _ settings: SessionSettings
) -> Nghttp2Session {
    var options: OpaquePointer?
    var callbacks: OpaquePointer?
    var session: OpaquePointer?
    unsafe nghttp2_option_new(&options)
    unsafe nghttp2_session_callbacks_new(&callbacks)
    defer {
        unsafe nghttp2_option_del(options)
        unsafe nghttp2_session_callbacks_del(callbacks)
    }
    unsafe nghttp2_option_set_no_closed_streams(options, 1)
    unsafe nghttp2_option_set_no_auto_window_update(options, settings.automaticWindowUpdates ? 0 : 1)
    unsafe nghttp2_option_set_max_deflate_dynamic_table_size(options, Int(settings.encoderTableSize))
    // nghttp2's own limit counts resets of finished streams too, which honest clients send. ``RapidResetDetector``
    // replaces it.
    unsafe nghttp2_option_set_stream_reset_rate_limit(options, UInt64(Int64.max), UInt64(Int64.max))
    unsafe nghttp2_option_set_max_continuations(options, HeaderBlockInterceptor.mostContinuations)
    unsafe setCallbacks(callbacks)
    switch role {
    case .server: unsafe nghttp2_session_server_new2(&session, callbacks, nil, options)
    case .client: unsafe nghttp2_session_client_new2(&session, callbacks, nil, options)
    }
    guard let session = unsafe session else { preconditionFailure("no memory for an HTTP/2 session") }
    return unsafe Nghttp2Session(owning: session)
}

/// Each callback finds its connection, calls one method and returns a verdict.
private func setCallbacks(_ callbacks: OpaquePointer?) {
    unsafe nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks) { _, frame, context in
        guard let frame = unsafe frame?.pointee else { return 0 }
        return unsafe withConnection(context) { connection in
            connection.inbound.frameBegins(frame)
            return 0
        }
    }
    unsafe nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks) {
        _, frame, error, context in
        guard error == NGHTTP2_ERR_REFUSED_STREAM.rawValue, let frame = unsafe frame?.pointee.hd else {
            return 0
        }
        return unsafe withConnection(context) { connection in
            connection.inbound.streamRefused(frame)
            return 0
        }
    }
    unsafe nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, frame, context in
        let isRequest = unsafe frame?.pointee.headers.cat == NGHTTP2_HCAT_REQUEST
        return unsafe withConnection(context) { connection in
            connection.inbound.headerBlockBegins(isRequest: isRequest)
            return 0
        }
    }
    unsafe nghttp2_session_callbacks_set_on_header_callback(callbacks) {
        _, _, name, nameBytes, value, valueBytes, _, context in
        unsafe withConnection(context) { connection in
            let isTaken = unsafe connection.inbound.fieldReceived(
                UnsafeBufferPointer(start: name, count: nameBytes),
                UnsafeBufferPointer(start: value, count: valueBytes))
            return isTaken ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
        }
    }
    unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, context in
        unsafe withConnection(context) { connection in
            guard let frame = unsafe frame else { return 0 }
            return unsafe connection.inbound.frameReceived(frame) ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
        }
    }
    unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) {
        _, _, stream, bytes, count, context in
        unsafe withConnection(context) { connection in
            unsafe connection.inbound.dataReceived(stream, UnsafeBufferPointer(start: bytes, count: count))
            return 0
        }
    }
    unsafe nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) {
        _, stream, errorCode, context in
        // This callback must not return an error: the library would leak memory (CVE-2023-35945).
        unsafe withConnection(context) { connection in
            connection.inbound.streamClosed(stream, errorCode: errorCode)
            return 0
        }
    }
}

/// The callback with which nghttp2 reads the body of a stream. The record is unretained: it lives as long as its
/// connection, and nghttp2 forgets it with the stream.
func bodySource(of record: StreamRecord) -> nghttp2_data_provider {
    unsafe nghttp2_data_provider(
        source: nghttp2_data_source(ptr: Unmanaged.passUnretained(record).toOpaque()),
        read_callback: { _, stream, target, count, flags, source, context in
            unsafe withConnection(context) { connection in
                guard let record = unsafe source?.pointee.ptr, let flags = unsafe flags else {
                    return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
                }
                return unsafe Unmanaged<StreamRecord>.fromOpaque(record)._withUnsafeGuaranteedRef { record in
                    unsafe connection.outbound.readBody(
                        of: record, stream, into: UnsafeMutableBufferPointer(start: target, count: count),
                        flags)
                }
            }
        })
}

/// The connection that a callback is for. It is alive, because one of its methods is on the stack.
@inline(__always)
private func withConnection<Result>(
    _ context: UnsafeMutableRawPointer?, _ body: (MultiplexedConnection) -> Result
) -> Result {
    unsafe Unmanaged<MultiplexedConnection>.fromOpaque(context.unsafelyUnwrapped)._withUnsafeGuaranteedRef(
        body)
}
