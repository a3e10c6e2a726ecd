import CPostriderNghttp2

/// The sending side of a connection over nghttp2: the requests, responses and bodies of ``HTTP2Connection``.
final class OutboundStreams {
    private let state: ConnectionState
    private let library: Nghttp2Session
    /// Fields for answers that nghttp2 has not put into frames yet.
    private var appended = AppendedFields()
    /// Streams whose bodies became empty since the handler was told last.
    private var emptied: [Int32] = []
    /// Streams that are to be reset after their answer.
    private var lateResets: [(stream: Int32, errorCode: UInt32)] = []

    init(_ state: ConnectionState, _ library: Nghttp2Session) {
        self.state = state
        self.library = library
    }

    /// Whether the handler is to be told of emptied bodies, or streams are to be reset.
    var hasMore: Bool { !emptied.isEmpty || !lateResets.isEmpty }

    /// The record of an open stream.
    func record(of stream: Int32) -> StreamRecord? {
        if let record = library.withRecord(of: stream, { $0 }) { return record }
        // A request that nghttp2 has not opened yet is among the youngest.
        return state.role == .client ? state.streams.all.last { $0.id == stream } : nil
    }

    // MARK: Responses

    func respond(_ stream: Int32, _ head: HeaderBlock, body: [UInt8]?) {
        guard beginsAnswer(stream) else { return }
        guard let body else { return library.submitResponse(stream, head) }
        precondition((1...16_384).contains(body.count), "a whole body fits in one frame and is not empty")
        library.withRecord(of: stream) { record in
            record.setBody(body)
            unsafe library.submitResponse(stream, head, body: bodySource(of: record))
        }
    }

    func openResponse(_ stream: Int32, _ head: HeaderBlock) {
        guard beginsAnswer(stream) else { return }
        library.withRecord(of: stream) { record in
            state.streams.beginStreaming(record)
            unsafe library.submitResponse(stream, head, body: bodySource(of: record))
        }
    }

    func respondOK(_ stream: Int32, _ name: StaticString, _ value: Span<UInt8>) {
        guard state.settings.readsHeaderBlocks else {
            var head: HeaderBlock = [":status": "200"]
            head.addUnindexed(name, value)
            return respond(stream, head, body: nil)
        }
        guard beginsAnswer(stream) else { return }
        appended.add(name, value, to: stream)
        library.submitResponse(stream, status: "200")
    }

    /// Appends its field to the answer whose HEADERS frame begins at `start`.
    func extend(_ output: inout [UInt8], from start: Int) {
        if appended.isWaiting { appended.extend(&output, from: start) }
    }

    /// nghttp2 has sent everything: fields that are left belong to answers that were reset.
    func forgetAppendedFields() { appended.removeAll() }

    /// Notes that a request is answered now. Returns false if its stream is closed.
    private func beginsAnswer(_ stream: Int32) -> Bool {
        precondition(state.role == .server, "only a server responds")
        let moment = state.deadlines.moment
        return library.withRecord(of: stream) { record in
            assert(!record.isAnswered, "a request is answered once")
            guard !record.isAnswered else { return false }
            record.isAnswered = true
            record.since = moment
            return true
        } ?? false
    }

    // MARK: Requests

    func request(_ head: HeaderBlock, body: [UInt8]?) throws(SessionError) -> Int32 {
        let record = state.streams.add(0, at: state.deadlines.moment)
        if let body, !body.isEmpty { record.setBody(body) } else { record.ending = .last }
        return try submit(record, head, hasBody: record.outboundBytes > 0)
    }

    func openRequest(_ head: HeaderBlock) throws(SessionError) -> Int32 {
        try submit(state.streams.add(0, at: state.deadlines.moment), head, hasBody: true)
    }

    private func submit(
        _ record: StreamRecord, _ head: HeaderBlock, hasBody: Bool
    ) throws(SessionError) -> Int32 {
        precondition(state.role == .client, "only a client makes requests")
        var stream: Int32 = -1
        if state.failure == nil, !state.hasEnded, library.mayRequest {
            stream = unsafe library.submitRequest(head, record, body: hasBody ? bodySource(of: record) : nil)
        }
        guard stream > 0 else {
            state.streams.remove(record)
            throw .requestsRefused
        }
        record.id = stream
        return stream
    }

    // MARK: Bodies

    /// Fills one DATA frame and says whether it is the last one. Returns the number of bytes, or an error for nghttp2.
    func readBody(
        of record: StreamRecord, _ stream: Int32, into target: UnsafeMutableBufferPointer<UInt8>,
        _ flags: UnsafeMutablePointer<UInt32>
    ) -> Int {
        guard record.id == stream else { return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue) }
        let count = unsafe record.take(into: target)
        if count > 0 { state.flood.countUsefulFrame() }
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
            library.submitTrailers(stream, trailers)
        }
        return count
    }

    /// Tells the handler of bodies that became empty. Returns false if there were none.
    func notifyEmptied() -> Bool {
        guard !emptied.isEmpty else { return false }
        var streams: [Int32] = []
        swap(&streams, &emptied)
        for stream in streams where record(of: stream)?.outboundBytes == 0 {
            state.handler.lend { $0.writable(stream) }
        }
        return true
    }

    /// Continues a body that had nothing to send.
    func resume(_ record: StreamRecord) { library.resumeBody(of: record.id) }

    /// Adds `count` bytes to the receive windows of a stream and of the connection (WINDOW_UPDATE).
    func consume(_ stream: Int32, _ count: Int) { library.consume(stream, count) }

    /// Adds `count` bytes to the receive window of the connection.
    func consumeOnConnection(_ count: Int) { library.consumeOnConnection(count) }

    // MARK: Resets

    /// Resets a stream at once.
    func cancel(_ stream: Int32) { library.submitReset(stream, errorCode: ErrorCode.cancel) }

    /// Resets a stream, after its answer if that is complete.
    func reset(_ record: StreamRecord, _ stream: Int32, errorCode: UInt32) {
        if record.isAnswered, !record.isStreaming {
            lateResets.append((stream, errorCode))
        } else {
            library.submitReset(stream, errorCode: errorCode)
        }
    }

    /// Resets streams whose answer has been sent meanwhile. Returns false if there were none.
    func sendLateResets() -> Bool {
        guard !lateResets.isEmpty else { return false }
        for (stream, errorCode) in lateResets where library.withRecord(of: stream, { _ in true }) != nil {
            library.submitReset(stream, errorCode: errorCode)
        }
        lateResets.removeAll()
        return true
    }
}
