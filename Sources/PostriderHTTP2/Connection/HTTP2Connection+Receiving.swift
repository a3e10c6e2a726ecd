import CPostriderNghttp2

extension HTTP2Connection {
    /// A complete frame. False: the connection is over.
    func received(_ frame: UnsafePointer<nghttp2_frame>) -> Bool {
        guard !hasEnded else { return false }
        let header = unsafe frame.pointee.hd
        let endStream = header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0
        let isAcknowledgement = header.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0
        switch UInt32(header.type) {
        case NGHTTP2_DATA.rawValue:
            if endStream { reportEnd(header.stream_id) }
        case NGHTTP2_HEADERS.rawValue:
            receivedBlock(header.stream_id, endStream: endStream)
        case NGHTTP2_SETTINGS.rawValue where isAcknowledgement:
            acknowledgedSettings += 1
            handler.lend { $0.settingsAcknowledged() }
        case NGHTTP2_SETTINGS.rawValue:
            let maxStreams = unsafe nghttp2_session_get_remote_settings(
                raw, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)
            handler.lend { $0.settingsReceived(maxConcurrentStreams: maxStreams) }
        case NGHTTP2_PING.rawValue where isAcknowledgement:
            pingsAcknowledged += 1
            handler.lend { $0.pingAcknowledged() }
        case NGHTTP2_GOAWAY.rawValue:
            unsafe receivedGoaway(frame.pointee.goaway)
        case NGHTTP2_RST_STREAM.rawValue:
            return isHonest(resetOf: header.stream_id)
        default:
            break
        }
        return true
    }

    /// A piece of a body.
    func receivedData(_ stream: Int32, _ bytes: UnsafeBufferPointer<UInt8>) {
        guard withAttachedRecord(stream, { _ in true }) != nil else { return }
        if !awaitingContinue.isEmpty { awaitingContinue.removeAll { $0 == stream } }
        let bytes = unsafe bytes.span
        handler.lend { $0.data(stream, bytes) }
    }

    /// Adds a received field to the block. False: it is one too many or too large.
    func take(name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>) -> Bool {
        unsafe block.append(name: name, value: value)
        if name.count == 6 { unsafe noteExpectation(name.span, value.span) }
        if block.count <= settings.maxHeaderFields, block.listBytes <= settings.maxHeaderListBytes {
            return true
        }
        failure = block.count > settings.maxHeaderFields ? .tooManyHeaderFields : .headerListTooLarge
        return false
    }

    private func receivedBlock(_ stream: Int32, endStream: Bool) {
        let known = withAttachedRecord(stream) { takeBlock(of: $0) }
        // A client's streams have a record from the request on; one without was reset and reported.
        guard role == .server || known != nil else { return }
        guard known != nil || farewell == nil else { return refuse(stream) }
        let kind = known ?? takeBlock(of: openedByPeer(stream))
        if role == .server { lastStream = max(lastStream, stream) }
        handler.lend { $0.headers(stream, &block, kind: kind, endStream: endStream) }
        block.giveBackMemory()
        if blockExpectsContinue, kind == .head, !endStream { awaitingContinue.append(stream) }
        if endStream { reportEnd(stream) }
    }

    /// Takes note of a block on a stream: what it is there.
    private func takeBlock(of record: StreamRecord) -> BlockKind {
        if record.hasHead { return .trailers }
        if role == .client && block.isInformational { return .informational }
        record.hasHead = true
        return .head
    }

    /// A request that comes after everything was said, and before it has left. GOAWAY does not name it.
    private func refuse(_ stream: Int32) {
        block.giveBackMemory()
        unsafe nghttp2_submit_rst_stream(
            raw, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, ErrorCode.refusedStream)
    }

    private func openedByPeer(_ stream: Int32) -> StreamRecord {
        let record = makeRecord(stream)
        unsafe nghttp2_session_set_stream_user_data(raw, stream, Unmanaged.passUnretained(record).toOpaque())
        return record
    }

    /// The handler may have ended the session in the call before.
    private func reportEnd(_ stream: Int32) {
        guard withAttachedRecord(stream, { $0.hasEnded = true }) != nil else { return }
        handler.lend { $0.ended(stream) }
    }

    /// The peer resets a stream. False: it is one too many that was cut short. A stream whose answer has left is
    /// finished, and one that was open for more than a second has been waited for.
    private func isHonest(resetOf stream: Int32) -> Bool {
        guard let record = attachedRecord(stream) else { return true }
        record.hasEnded = true
        guard role == .server, moment - record.since <= 1,
            unsafe nghttp2_session_get_stream_local_close(raw, stream) == 0, !resets.cut()
        else { return true }
        failure = .tooManyResets
        return false
    }

    private func receivedGoaway(_ frame: nghttp2_goaway) {
        let debug = unsafe Array(UnsafeBufferPointer(start: frame.opaque_data, count: frame.opaque_data_len))
        let (lastStream, errorCode) = unsafe (frame.last_stream_id, frame.error_code)
        handler.lend { $0.goawayReceived(lastStream: lastStream, errorCode: errorCode, debug: debug) }
    }
}
