// Responses, requests and bodies. They are only queued here; `drain` writes them out. A call for a stream that is
// closed does nothing, because the peer may close a stream at any time.
extension HTTP2Connection {
    // MARK: Responses

    /// Answers a request. Without a body this is one HEADERS frame with END_STREAM, else HEADERS and, as long as the
    /// peer's window holds it, exactly one DATA frame with END_STREAM: clients of APNs rely on both.
    ///
    /// - Parameter body: at most 16 KiB, not empty.
    public func respond(_ stream: Int32, _ head: HeaderBlock, body: [UInt8]? = nil) {
        outbound?.respond(stream, head, body: body)
        scheduleFlush()
    }

    /// Answers a request with `:status: 200`, this field, and no body. The field is a literal without indexing, so that
    /// it enters no HPACK table.
    ///
    /// - Parameter value: at most 100 bytes.
    public func respondOK(_ stream: Int32, _ name: StaticString, _ value: Span<UInt8>) {
        outbound?.respondOK(stream, name, value)
        scheduleFlush()
    }

    /// Begins an answer whose body follows by `send` and `finish`.
    public func openResponse(_ stream: Int32, _ head: HeaderBlock) {
        outbound?.openResponse(stream, head)
        scheduleFlush()
    }

    // MARK: Requests

    /// Makes a request, complete with its body if there is one.
    ///
    /// Above the peer's SETTINGS_MAX_CONCURRENT_STREAMS the request is queued here. `closed` is called for it in either
    /// case.
    ///
    /// - Returns: the stream.
    /// - Throws: `requestsRefused`.
    public func request(_ head: HeaderBlock, body: [UInt8]? = nil) throws(SessionError) -> Int32 {
        guard let outbound else { throw .requestsRefused }
        let stream = try outbound.request(head, body: body)
        scheduleFlush()
        return stream
    }

    /// Begins a request whose body follows by `send` and `finish`.
    ///
    /// - Returns: the stream.
    /// - Throws: `requestsRefused`.
    public func openRequest(_ head: HeaderBlock) throws(SessionError) -> Int32 {
        guard let outbound else { throw .requestsRefused }
        let stream = try outbound.openRequest(head)
        scheduleFlush()
        return stream
    }

    // MARK: Bodies

    /// Appends to the body of an open request or response. Flow control decides when the bytes are sent. If more than
    /// ``SessionSettings/maxOutboundBytes`` wait on one stream, the connection is ``isOverfull``.
    public func send(_ stream: Int32, _ bytes: Span<UInt8>) {
        guard !bytes.isEmpty else { return }
        send(stream) { $0.append(copying: bytes) }
    }

    /// Lets `write` append to the bytes that wait on a stream, so that they need no array of their own.
    public func send(_ stream: Int32, _ write: (inout [UInt8]) -> Void) {
        guard let record = record(of: stream) else { return }
        guard case .open = record.ending else { return assertionFailure("send after finish") }
        record.append(write)
        if record.outboundBytes > state.settings.maxOutboundBytes { state.isOverfull = true }
        resume(record)
    }

    /// Appends bytes that are sent on many streams. They are not copied, and do not count for ``isOverfull``: the
    /// caller has to look at ``outboundBytes(_:)``.
    public func send(_ stream: Int32, shared bytes: [UInt8]) {
        guard !bytes.isEmpty, let record = record(of: stream) else { return }
        guard case .open = record.ending else { return assertionFailure("send after finish") }
        record.append(shared: bytes)
        resume(record)
    }

    /// Bytes of a stream's body that wait here and are not in frames yet.
    public func outboundBytes(_ stream: Int32) -> Int { record(of: stream)?.outboundBytes ?? 0 }

    /// Ends the body after the bytes that wait: with trailers, or with END_STREAM on the last DATA frame.
    public func finish(_ stream: Int32, trailers: HeaderBlock? = nil) {
        guard let record = record(of: stream) else { return }
        guard case .open = record.ending else { return }
        record.ending = trailers.map { .trailers($0) } ?? .last
        state.streams.endStreaming(record)
        record.since = state.deadlines.moment
        resume(record)
    }

    /// Reports that the owner has processed `count` bytes of a body, so that the peer may send as many more. Needed
    /// only without automatic window updates. It must be called for bytes of closed streams too, or the connection's
    /// window shrinks.
    public func consume(_ stream: Int32, _ count: Int) {
        precondition(!state.settings.automaticWindowUpdates, "windows open by themselves")
        outbound?.consume(stream, count)
        scheduleFlush()
    }

    /// Reports that the owner has processed `count` bytes, so that the peer may send as many more on the connection. No
    /// stream's window changes.
    public func consumeOnConnection(_ count: Int) {
        precondition(!state.settings.automaticWindowUpdates, "windows open by themselves")
        outbound?.consumeOnConnection(count)
        scheduleFlush()
    }

    /// Closes one stream in both directions with RST_STREAM. `closed` follows in `drain`.
    ///
    /// A complete answer is sent first, as far as the peer's window lets it: a server may answer and then reset a
    /// request whose rest it does not want (RFC 9113, section 8.1). Everything else that waits on the stream is
    /// dropped.
    public func reset(_ stream: Int32, errorCode: UInt32) {
        guard let record = record(of: stream) else { return }
        switch engine {
        case .multiplexed(let connection): connection.outbound.reset(record, stream, errorCode: errorCode)
        case .singleStream(let connection): connection.reset(stream, errorCode: errorCode)
        }
        scheduleFlush()
    }

    /// The record of an open stream.
    private func record(of stream: Int32) -> StreamRecord? {
        switch engine {
        case .multiplexed(let connection): connection.outbound.record(of: stream)
        case .singleStream: state.streams.first.flatMap { $0.id == stream ? $0 : nil }
        }
    }

    /// Tells the engine that a body has more bytes, or has ended.
    private func resume(_ record: StreamRecord) {
        if record.isDeferred {
            record.isDeferred = false
            outbound?.resume(record)
        }
        scheduleFlush()
    }
}
