import CPostriderNghttp2

// Responses, requests and bodies. Nothing leaves before `drain`; a verb for a stream that is gone does
// nothing, for the peer may have closed it at any time.
extension HTTP2Connection {
    /// Answers a request. Without a body this is one HEADERS frame with END_STREAM, else HEADERS and, as
    /// long as the peer's window holds it, exactly one DATA frame with END_STREAM: clients of APNs rely on
    /// both.
    ///
    /// - Parameter body: at most 16 KiB, not empty.
    public func respond(_ stream: Int32, _ head: HeaderBlock, body: [UInt8]? = nil) {
        guard let body else {
            guard answers(stream) else { return }
            let _: Int32 = unsafe head.withNameValues {
                unsafe nghttp2_submit_response(raw, stream, $0, $1, nil)
            }
            return
        }
        guard let record = recordToAnswer(stream) else { return }
        precondition((1...16_384).contains(body.count), "a whole body fits in one frame and is not empty")
        record.setBody(body)
        submitResponse(record, head)
    }

    /// Begins an answer whose body follows by `send` and `finish`.
    public func openResponse(_ stream: Int32, _ head: HeaderBlock) {
        guard let record = recordToAnswer(stream) else { return }
        record.isStreaming = true
        streamingCount += 1
        submitResponse(record, head)
    }

    /// Makes a request, complete with its body if there is one.
    ///
    /// Above the peer's limit of streams the request waits its turn in the session. `closed` is called for
    /// it in any case.
    /// - Returns: the stream.
    /// - Throws: `requestsRefused`.
    public func request(_ head: HeaderBlock, body: [UInt8]? = nil) throws(SessionError) -> Int32 {
        let record = makeRecord(0)
        if let body, !body.isEmpty { record.setBody(body) } else { record.ending = .last }
        return try submitRequest(record, head, hasBody: record.outboundBytes > 0)
    }

    /// Begins a request whose body follows by `send` and `finish`.
    ///
    /// - Returns: the stream.
    /// - Throws: `requestsRefused`.
    public func openRequest(_ head: HeaderBlock) throws(SessionError) -> Int32 {
        try submitRequest(makeRecord(0), head, hasBody: true)
    }

    /// Appends to the body of an open request or response. Flow control decides when it leaves; beyond
    /// `SessionSettings.maxOutboundBytes` of one stream the session is `isOverfull`.
    public func send(_ stream: Int32, _ bytes: Span<UInt8>) {
        guard !bytes.isEmpty else { return }
        send(stream) { $0.append(copying: bytes) }
    }

    /// The same for bytes that are made now: `write` appends them to those that wait already.
    public func send(_ stream: Int32, _ write: (inout [UInt8]) -> Void) {
        guard let record = record(stream) else { return }
        guard case .open = record.ending else { return assertionFailure("send after finish") }
        record.append(write)
        if record.outboundBytes > settings.maxOutboundBytes { isOverfull = true }
        resume(record)
    }

    /// The same for bytes that are sent on many streams: they are held here and not copied.
    public func send(_ stream: Int32, shared bytes: [UInt8]) {
        guard !bytes.isEmpty, let record = record(stream) else { return }
        guard case .open = record.ending else { return assertionFailure("send after finish") }
        record.append(shared: bytes)
        resume(record)
    }

    /// Bytes of the body that wait here, not yet taken into frames.
    public func outboundBytes(_ stream: Int32) -> Int {
        record(stream)?.outboundBytes ?? 0
    }

    /// Ends the body after the bytes that wait: with trailers, or with END_STREAM on the last DATA frame.
    public func finish(_ stream: Int32, trailers: HeaderBlock? = nil) {
        guard let record = record(stream) else { return }
        guard case .open = record.ending else { return }
        record.ending = trailers.map { .trailers($0) } ?? .last
        endStreaming(record)
        record.since = moment
        resume(record)
    }

    /// Closes one stream, both ways. `closed` follows in `drain`.
    ///
    /// An answer that is complete leaves first, as far as the peer's window lets it: a server may answer and then
    /// reset what it does not want to hear the rest of (RFC 9113, section 8.1). Whatever else waits is dropped.
    public func reset(_ stream: Int32, errorCode: UInt32) {
        guard let record = record(stream) else { return }
        if let lean {
            reset(stream, of: lean, errorCode: errorCode)
        } else if record.isAnswered, !record.isStreaming {
            lateResets.append((stream, errorCode))
        } else {
            unsafe nghttp2_submit_rst_stream(raw, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, errorCode)
        }
    }

    /// Resets what has been answered meanwhile. False: there was nothing to reset.
    func sendLateResets() -> Bool {
        guard !lateResets.isEmpty else { return false }
        for (stream, errorCode) in lateResets where attachedRecord(stream) != nil {
            unsafe nghttp2_submit_rst_stream(raw, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, errorCode)
        }
        lateResets.removeAll()
        return true
    }

    /// False: there was nobody to tell.
    func notifyEmptied() -> Bool {
        guard !emptied.isEmpty else { return false }
        var streams: [Int32] = []
        swap(&streams, &emptied)
        for stream in streams where record(stream)?.outboundBytes == 0 {
            handler.lend { $0.writable(stream) }
        }
        return true
    }

    /// The answer has its end, or nobody wants it any more.
    func endStreaming(_ record: StreamRecord) {
        guard record.isStreaming else { return }
        record.isStreaming = false
        streamingCount -= 1
    }

    /// The record of a request that gets its answer now; nil for one that is gone.
    private func recordToAnswer(_ stream: Int32) -> StreamRecord? {
        answers(stream) ? attachedRecord(stream) : nil
    }

    /// A request gets its answer now. False: it is gone.
    func answers(_ stream: Int32) -> Bool {
        precondition(role == .server, "only a server responds")
        return withAttachedRecord(stream) { record in
            assert(!record.isAnswered, "a request is answered once")
            guard !record.isAnswered else { return false }
            record.isAnswered = true
            record.since = moment
            return true
        } ?? false
    }

    private func submitResponse(_ record: StreamRecord, _ head: HeaderBlock) {
        var source = unsafe bodySource(record)
        let _: Int32 = unsafe head.withNameValues {
            unsafe nghttp2_submit_response(raw, record.id, $0, $1, &source)
        }
    }

    private func submitRequest(
        _ record: StreamRecord, _ head: HeaderBlock, hasBody: Bool
    ) throws(SessionError) -> Int32 {
        precondition(role == .client, "only a client makes requests")
        let context = unsafe Unmanaged.passUnretained(record).toOpaque()
        var source = unsafe bodySource(record)
        var stream: Int32 = -1
        if failure == nil, !hasEnded, unsafe nghttp2_session_check_request_allowed(raw) != 0 {
            stream = unsafe head.withNameValues { pairs, count in
                unsafe withUnsafePointer(to: &source) { source in
                    unsafe nghttp2_submit_request(raw, nil, pairs, count, hasBody ? source : nil, context)
                }
            }
        }
        guard stream > 0 else {
            forget(record)
            throw .requestsRefused
        }
        record.id = stream
        return stream
    }

    private func resume(_ record: StreamRecord) {
        guard record.isDeferred else { return }
        record.isDeferred = false
        guard lean == nil else { return }
        unsafe nghttp2_session_resume_data(raw, record.id)
    }
}

// MARK: - Bodies on their way out

/// What the library asks for the body of a stream. The record is unretained: it lives as long as the
/// session, and the library forgets it with the stream.
private func bodySource(_ record: StreamRecord) -> nghttp2_data_provider {
    unsafe nghttp2_data_provider(
        source: nghttp2_data_source(ptr: Unmanaged.passUnretained(record).toOpaque()),
        read_callback: { _, stream, target, count, flags, source, context in
            unsafe withSession(context) { session in
                guard let record = unsafe source?.pointee.ptr, let flags = unsafe flags else {
                    return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
                }
                return unsafe Unmanaged<StreamRecord>.fromOpaque(record)._withUnsafeGuaranteedRef { record in
                    unsafe session.read(
                        record, stream, into: UnsafeMutableBufferPointer(start: target, count: count), flags)
                }
            }
        })
}

extension HTTP2Connection {
    /// Fills one DATA frame and says whether it is the last.
    fileprivate func read(
        _ record: StreamRecord, _ stream: Int32, into target: UnsafeMutableBufferPointer<UInt8>,
        _ flags: UnsafeMutablePointer<UInt32>
    ) -> Int {
        guard record.id == stream else { return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue) }
        let count = unsafe record.take(into: target)
        if count > 0 { scanner.countUsefulFrame() }
        guard record.outboundBytes == 0 else { return count }
        switch record.ending {
        case .open:
            guard count > 0 else {
                record.isDeferred = true
                return Int(NGHTTP2_ERR_DEFERRED.rawValue)
            }
            emptied.append(stream)
        case .last:
            unsafe flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue
        case .trailers(let trailers):
            unsafe flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue | NGHTTP2_DATA_FLAG_NO_END_STREAM.rawValue
            let _: Int32 = unsafe trailers.withNameValues {
                unsafe nghttp2_submit_trailer(raw, stream, $0, $1)
            }
        }
        return count
    }
}
