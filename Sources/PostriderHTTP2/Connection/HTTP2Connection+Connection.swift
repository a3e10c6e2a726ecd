import CPostriderNghttp2

// What concerns the connection and not one stream.
extension HTTP2Connection {
    /// The owner has dealt with bytes of a body: the peer may send as many more. Only without automatic
    /// window updates. Also for bytes of streams that are closed by now, lest the connection's window
    /// dwindles.
    public func consume(_ stream: Int32, _ count: Int) {
        precondition(!settings.automaticWindowUpdates, "windows open by themselves")
        unsafe nghttp2_session_consume(raw, stream, count)
    }

    /// Asks the peer for a sign of life (`pingAcknowledged`).
    public func ping() {
        pingsSent += 1
        scanner.expectEmptyFrame()
        if let lean { return lean.write(.ping, stream: 0, payload: [UInt8](repeating: 0, count: 8)) }
        unsafe nghttp2_submit_ping(raw, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil)
    }

    /// Tells the peer that no streams above the last one that the handler was given will be served: those the client
    /// may safely repeat, one whose head has only partly arrived among them. Open ones go on; `isFinished` once they
    /// are closed.
    ///
    /// It leaves after everything that was said before, bodies included: aioapns and Pushy drop the connection
    /// when they see it. Left to itself the library sends it first.
    public func goaway(errorCode: UInt32 = ErrorCode.noError, debug: [UInt8] = []) {
        saidErrorCode = errorCode
        farewell = (errorCode, debug)
    }

    /// Hands the GOAWAY to the library when nothing else can be sent any more. False: there is none to hand over.
    func sayFarewell() -> Bool {
        guard let (errorCode, debug) = farewell, failure != nil || !hasMore else { return false }
        farewell = nil
        if let lean {
            sayFarewell(errorCode, debug, on: lean)
            return true
        }
        unsafe nghttp2_submit_goaway(
            raw, UInt8(NGHTTP2_FLAG_NONE.rawValue), lastStream, errorCode, debug, debug.count)
        return true
    }

    /// Changes how many streams the peer may have open, from the next `drain` on.
    public func updateMaxConcurrentStreams(_ count: UInt32) {
        submit([(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, count)])
    }

    /// The first frame of every session.
    func submitFirstSettings() {
        let first =
            switch role {
            case .server: (NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, settings.maxConcurrentStreams)
            case .client: (NGHTTP2_SETTINGS_ENABLE_PUSH, UInt32(0))
            }
        submit([
            (NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, settings.headerTableSize),
            first,
            (NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, settings.initialWindowSize),
            (NGHTTP2_SETTINGS_MAX_FRAME_SIZE, settings.maxFrameSize),
            (NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, UInt32(settings.maxHeaderListBytes)),
        ])
        let flags = UInt8(NGHTTP2_FLAG_NONE.rawValue)
        unsafe nghttp2_session_set_local_window_size(raw, flags, 0, settings.connectionWindowSize)
    }

    private func submit(_ entries: [(nghttp2_settings_id, UInt32)]) {
        precondition(lean == nil, "a lean session keeps its settings")
        let pairs = entries.map { nghttp2_settings_entry(settings_id: Int32($0.0.rawValue), value: $0.1) }
        let result = unsafe nghttp2_submit_settings(
            raw, UInt8(NGHTTP2_FLAG_NONE.rawValue), pairs, pairs.count)
        precondition(result == 0, "settings out of range")
        sentSettings += 1
    }
}
