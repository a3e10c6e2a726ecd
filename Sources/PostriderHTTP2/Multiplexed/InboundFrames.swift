import CPostriderNghttp2

/// The receiving side of a connection over nghttp2. It gives the peer's bytes to the library, handles the library's
/// callbacks (see `Nghttp2Callbacks.swift`) and tells the handler.
final class InboundFrames {
    private let state: ConnectionState
    private let library: Nghttp2Session
    private let handler: HandlerReference
    private let router: FrameRouter
    private let block = InboundBlock()
    private(set) var closedStreams = RecentlyClosedStreams()
    /// Streams whose client waits for `100` before it sends the body.
    private var awaitingContinue: [Int32] = []

    init(_ state: ConnectionState, _ library: Nghttp2Session) {
        self.state = state
        self.library = library
        handler = state.handler
        router = FrameRouter(state.role, state.settings)
    }

    /// Takes bytes that arrived. A negative result is an error of the library.
    func receive(_ bytes: Span<UInt8>) -> Int {
        unsafe bytes.withUnsafeBufferPointer { unsafe router.route($0, to: self, block) }
    }

    /// The size of the header table is about to change.
    func headerTableChanges() { router.headerTableChanges() }

    /// Sends `100` to clients that wait for it, unless a part of the body has arrived or the request is answered (RFC
    /// 9110, section 10.1.1).
    func sendContinue() {
        guard !awaitingContinue.isEmpty else { return }
        var streams: [Int32] = []
        swap(&streams, &awaitingContinue)
        for stream in streams
        where library.withRecord(of: stream, { !$0.isAnswered && !$0.hasEnded }) == true {
            library.submitInterimResponse(stream, status: "100")
        }
    }

    /// A frame begins. nghttp2 ignores HEADERS on streams that it has forgotten, since remembering a thousand would
    /// cost 300 KB; but it decodes their blocks first, without our bounds on header blocks. So HEADERS on a stream that
    /// the peer has ended or reset end the connection (RFC 9113, section 5.1).
    func frameBegins(_ frame: nghttp2_frame_hd) {
        let stream = frame.stream_id
        guard UInt32(frame.type) == NGHTTP2_HEADERS.rawValue, isClosedByPeer(stream) else { return }
        if !closedStreams.forgive(stream) { library.terminate(errorCode: ErrorCode.streamClosed) }
    }

    /// The peer has begun more streams than it may, and nghttp2 has reset this one. nghttp2 forgets the stream at once,
    /// so it is remembered here.
    func streamRefused(_ frame: nghttp2_frame_hd) {
        let endsStream = frame.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0
        closedStreams.refuse(frame.stream_id, endsStream: endsStream)
    }

    func headerBlockBegins(isRequest: Bool) {
        block.begin()
        if isRequest { state.resets.open() }
    }

    /// A field of a header block. Returns false if there are too many fields, or the block is too large.
    func fieldReceived(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) -> Bool {
        if block.isDecoded { return true }
        unsafe block.append(name, value)
        let settings = state.settings
        if block.fields.count <= settings.maxHeaderFields,
            block.fields.listBytes <= settings.maxHeaderListBytes
        {
            return true
        }
        state.failure =
            block.fields.count > settings.maxHeaderFields ? .tooManyHeaderFields : .headerListTooLarge
        return false
    }

    /// A complete frame. Returns false if it ends the connection.
    func frameReceived(_ frame: UnsafePointer<nghttp2_frame>) -> Bool {
        guard !state.hasEnded else { return false }
        let header = unsafe frame.pointee.hd
        let endStream = header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0
        let isAcknowledgement = header.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0
        switch UInt32(header.type) {
        case NGHTTP2_DATA.rawValue:
            if endStream { reportEnd(header.stream_id) }
        case NGHTTP2_HEADERS.rawValue:
            blockReceived(header.stream_id, endStream: endStream)
        case NGHTTP2_SETTINGS.rawValue where isAcknowledgement:
            state.deadlines.settingsAcknowledged()
            handler.lend { $0.settingsAcknowledged() }
        case NGHTTP2_SETTINGS.rawValue:
            let maxStreams = library.remoteSetting(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)
            handler.lend { $0.settingsReceived(maxConcurrentStreams: maxStreams) }
        case NGHTTP2_PING.rawValue where isAcknowledgement:
            state.pings.pingAcknowledged()
            handler.lend { $0.pingAcknowledged() }
        case NGHTTP2_GOAWAY.rawValue:
            unsafe goawayReceived(frame.pointee.goaway)
        case NGHTTP2_RST_STREAM.rawValue:
            return isBearable(resetOf: header.stream_id)
        default:
            break
        }
        return true
    }

    /// A piece of a body.
    func dataReceived(_ stream: Int32, _ bytes: UnsafeBufferPointer<UInt8>) {
        guard library.withRecord(of: stream, { _ in true }) != nil else { return }
        if !awaitingContinue.isEmpty { awaitingContinue.removeAll { $0 == stream } }
        let bytes = unsafe bytes.span
        handler.lend { $0.data(stream, bytes) }
    }

    /// nghttp2 has closed a stream.
    func streamClosed(_ stream: Int32, errorCode: UInt32) {
        let hasEnded = library.withRecord(of: stream) { record in
            let hasEnded = record.hasEnded
            state.streams.remove(record)
            return hasEnded
        }
        if hasEnded != true { closedStreams.remember(stream) }
        guard hasEnded != nil else { return }
        handler.lend { $0.closed(stream, errorCode: errorCode) }
    }

    private func blockReceived(_ stream: Int32, endStream: Bool) {
        let known = library.withRecord(of: stream) { kindOfBlock(on: $0) }
        // At a client a stream has its record from the request on; one without a record was reset and has been
        // reported.
        guard state.role == .server || known != nil else { return }
        guard known != nil || !state.goaway.isWaiting else {
            // The request arrived after our last GOAWAY was queued, which does not name it.
            block.fields.giveBackMemory()
            return library.submitReset(stream, errorCode: ErrorCode.refusedStream)
        }
        let kind = known ?? kindOfBlock(on: openedByPeer(stream))
        if state.role == .server { state.lastStream = max(state.lastStream, stream) }
        handler.lend { $0.headers(stream, &block.fields, kind: kind, endStream: endStream) }
        block.fields.giveBackMemory()
        if block.expectsContinue, state.role == .server, kind == .head, !endStream {
            awaitingContinue.append(stream)
        }
        if endStream { reportEnd(stream) }
    }

    /// Says which kind of block has arrived on a stream, and notes it for the next one.
    private func kindOfBlock(on record: StreamRecord) -> BlockKind {
        if record.hasHead { return .trailers }
        if state.role == .client && block.fields.isInformational { return .informational }
        record.hasHead = true
        return .head
    }

    private func openedByPeer(_ stream: Int32) -> StreamRecord {
        let record = state.streams.add(stream, at: state.deadlines.moment)
        library.attach(record, to: stream)
        return record
    }

    /// Reports the end of the peer's side, unless the handler has ended the connection in the call before.
    private func reportEnd(_ stream: Int32) {
        guard library.withRecord(of: stream, { $0.hasEnded = true }) != nil else { return }
        handler.lend { $0.ended(stream) }
    }

    /// The peer resets a stream. Returns false if it has cut short too many. A stream whose answer has been sent is
    /// finished, and one that was open for more than a second does not count as cut short.
    private func isBearable(resetOf stream: Int32) -> Bool {
        let since = library.withRecord(of: stream) { record in
            record.hasEnded = true
            return record.since
        }
        guard let since, state.role == .server, state.deadlines.moment - since <= 1,
            !library.hasEndedLocally(stream), !state.resets.cut()
        else { return true }
        state.failure = .tooManyResets
        return false
    }

    private func goawayReceived(_ frame: nghttp2_goaway) {
        let debug = unsafe Array(UnsafeBufferPointer(start: frame.opaque_data, count: frame.opaque_data_len))
        let (lastStream, errorCode) = unsafe (frame.last_stream_id, frame.error_code)
        handler.lend {
            $0.goawayReceived(lastStream: lastStream, errorCode: errorCode, debug: debug)
        }
    }
}

extension InboundFrames: FrameSink {
    var hasEnded: Bool { state.hasEnded }

    func give(_ bytes: UnsafeBufferPointer<UInt8>) -> Int { unsafe library.receive(bytes) }

    func mayBeClosed(_ stream: Int32) -> Bool { library.isUnknown(stream) }

    /// Decides about DATA on a closed stream, which nghttp2 would ignore. If the peer ended or reset the stream, DATA
    /// ends the connection (RFC 9113, section 5.1). If we closed it, the peer may not have known: DATA is ignored.
    func judge(_ data: FrameHead) {
        guard isClosedByPeer(data.stream) else { return }
        if !closedStreams.mayHold(data.stream) {
            library.terminate(errorCode: ErrorCode.streamClosed)
        } else if data.endsStream {
            _ = closedStreams.forgive(data.stream)
        }
    }

    func refuse(_ error: SessionError) -> Int {
        state.failure = error
        return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue)
    }

    /// The last stream that the peer has begun, including refused ones, which nghttp2 does not count.
    var lastBegun: Int32 { max(closedStreams.lastRefused, library.lastProcessedStream) }

    /// Whether this is a closed stream that the peer began.
    private func isClosedByPeer(_ stream: Int32) -> Bool {
        state.role == .server && stream & 1 == 1 && stream <= lastBegun && library.isUnknown(stream)
    }
}
