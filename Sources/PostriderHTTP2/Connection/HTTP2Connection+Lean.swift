import CPostriderNghttp2

/// A session that lets go of the library: see ``SingleStreamConnection``.
extension HTTP2Connection {
    /// Lets go of the library, for good, as soon as nothing is under way but one answer that goes on: the peer owes
    /// nothing and is owed nothing, and we use no header table for what we send. That is looked for whenever something
    /// was received or sent.
    ///
    /// From then on other streams that the peer begins are refused. The table of what the peer sends is forgotten with
    /// the library, for no header block is decoded any more.
    public func becomeLeanWhenQuiet() {
        isToBecomeLean = true
    }

    /// Lets go of the library if that can be done now. Not to be called by a handler.
    @discardableResult
    func becomeLean() -> Bool {
        if lean != nil { return true }
        guard role == .server, settings.encoderTableSize == 0, settings.automaticWindowUpdates,
            !isAtWork, failure == nil, !hasEnded, farewell == nil, shutdown == nil, !hasMore,
            scanner.isBetweenFrames,
            acknowledgedSettings == sentSettings, announcedStreamLimit == nil,
            streamCount == 1, case let record = records[0], record.isStreaming, !record.hasEnded,
            record.isDeferred, record.outboundBytes == 0, case .open = record.ending,
            // Of a window that is below zero (RFC 9113, section 6.9.2) the library only says that it is empty.
            unsafe nghttp2_session_get_stream_remote_window_size(raw, record.id) > 0
        else { return false }
        lean = leanLink(record)
        isToBecomeLean = false
        unsafe nghttp2_session_del(raw)
        unsafe raw = Self.noLibrary
        releaseSpareMemory()
        return true
    }

    /// Stands where the library's session was: whoever uses it finds out.
    private static var noLibrary: OpaquePointer {
        unsafe OpaquePointer(bitPattern: 1).unsafelyUnwrapped
    }

    /// Whether the library has been let go of.
    public var isLean: Bool { lean != nil }

    private func leanLink(_ record: StreamRecord) -> SingleStreamConnection {
        let remote = { (setting: nghttp2_settings_id) in
            unsafe Int(nghttp2_session_get_remote_settings(self.raw, setting))
        }
        let stream = record.id
        return unsafe SingleStreamConnection(
            stream: stream, lastStream: lastBegun,
            windows: SingleStreamConnection.Windows(
                connection: Int(nghttp2_session_get_remote_window_size(raw)),
                stream: Int(nghttp2_session_get_stream_remote_window_size(raw, stream)),
                initial: remote(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE)),
            frameBytes: min(remote(NGHTTP2_SETTINGS_MAX_FRAME_SIZE), FrameBuffer.payloadBytes),
            maxConcurrentStreams: nghttp2_session_get_remote_settings(
                raw, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS),
            receipts: SingleStreamConnection.Receipts(
                connection: Int(nghttp2_session_get_effective_recv_data_length(raw)),
                stream: Int(nghttp2_session_get_stream_effective_recv_data_length(raw, stream)),
                connectionWindow: Int(nghttp2_session_get_effective_local_window_size(raw)),
                streamWindow: Int(nghttp2_session_get_stream_effective_local_window_size(raw, stream))),
            cutStreams: cutStreams)
    }

    /// Nobody needs on a lean link what many streams would need again.
    private func releaseSpareMemory() {
        records = [records[0]]
        emptied = []
        lateResets = []
        cutStreams = RecentlyClosedStreams()
        debts = []
        block = HeaderBlock()
        gate = nil
    }

    /// Whether there is anybody to listen to.
    var wantsToRead: Bool {
        if let lean { return !lean.isGoing || streamCount > 0 }
        return unsafe nghttp2_session_want_read(raw) != 0
    }

    // MARK: What comes

    /// Takes what arrived on a lean session.
    func receive(_ bytes: Span<UInt8>, on link: SingleStreamConnection) throws(SessionError) {
        isAtWork = true
        defer { isAtWork = false }
        do throws(SessionError) {
            if partial.isEmpty {
                let taken = try takeFrames(bytes, of: link)
                if taken < bytes.count { partial.append(copying: bytes.extracting(taken...)) }
            } else {
                partial.append(copying: bytes)
                let whole = partial
                let taken = try takeFrames(whole.span, of: link)
                if taken == whole.count { partial = [] } else if taken > 0 { partial.removeFirst(taken) }
            }
        } catch {
            fail(error)
        }
        guard !hasEnded, failure == nil else { return }
        if link.output.count > settings.maxQueuedFrames * FrameHead.byteCount
            || !scanner.advance(over: bytes, mostEmptyFrames: settings.maxEmptyFrames)
        {
            fail(.flooded)
        }
    }

    /// Takes the whole frames at the start of these bytes, and answers how many bytes they have.
    private func takeFrames(_ bytes: Span<UInt8>, of link: SingleStreamConnection) throws(SessionError) -> Int
    {
        var start = 0
        while !hasEnded, let head = FrameHead(bytes, at: start) {
            guard head.count <= FrameBuffer.payloadBytes else {
                throw .protocolViolation(errorCode: ErrorCode.frameSizeError, reason: "a frame is too large")
            }
            let payload = start + FrameHead.byteCount
            guard bytes.count - payload >= head.count else { break }
            start = payload + head.count
            let frame = bytes.extracting(payload..<start)
            try act(on: try link.take(head, frame), frame, of: link)
        }
        return hasEnded ? bytes.count : start
    }

    private func act(
        on event: SingleStreamConnection.Event, _ payload: Span<UInt8>, of link: SingleStreamConnection
    ) throws(SessionError) {
        switch event {
        case .nothing: break
        case .refused:
            resets.open()
            if !resets.cut() { throw .tooManyResets }
        case .body(let range, let isLast):
            if !range.isEmpty, streamCount > 0 {
                handler.lend { $0.data(link.stream, payload.extracting(range)) }
            }
            if isLast { peerEnded(link) }
        case .ended: peerEnded(link)
        case .reset(let errorCode): closeLean(errorCode: errorCode)
        case .pingAcknowledged:
            pingsAcknowledged += 1
            handler.lend { $0.pingAcknowledged() }
        case .settings(let most): handler.lend { $0.settingsReceived(maxConcurrentStreams: most) }
        case .goaway(let lastStream, let errorCode):
            let rest = payload.extracting(8...)
            let debug = rest.indices.map { rest[$0] }
            handler.lend { $0.goawayReceived(lastStream: lastStream, errorCode: errorCode, debug: debug) }
        }
    }

    private func peerEnded(_ link: SingleStreamConnection) {
        if streamCount > 0 {
            records[0].hasEnded = true
            handler.lend { $0.ended(link.stream) }
        }
        if link.isClosed { closeLean(errorCode: ErrorCode.noError) }
    }

    /// The stream is over at both ends.
    private func closeLean(errorCode: UInt32) {
        guard streamCount > 0 else { return }
        let record = records[0]
        let stream = record.id
        forget(record)
        handler.lend { $0.closed(stream, errorCode: errorCode) }
    }

    // MARK: What goes

    /// Appends everything that a lean session may send now.
    func drain(_ link: SingleStreamConnection, into output: inout [UInt8]) {
        isAtWork = true
        defer { isAtWork = false }
        let start = output.count
        var goesOn: Bool
        repeat {
            link.moveOutput(to: &output)
            goesOn = sendBody(of: link, into: &output)
            if goesOn { handler.lend { $0.writable(link.stream) } }
            if !goesOn { goesOn = sayFarewell() }
        } while goesOn && output.count - start < Self.drainBytes
    }

    /// Whether a lean session has something to send besides the farewell.
    func hasMore(on link: SingleStreamConnection) -> Bool {
        guard link.output.isEmpty else { return true }
        guard failure == nil, streamCount > 0, !link.isOwnDone, !link.isReset else { return false }
        let record = records[0]
        if record.outboundBytes > 0 { return link.room > 0 }
        if case .open = record.ending { return false }
        return true
    }

    /// Sends as much of the body as the peer takes. True: all of it has left, and more may follow.
    private func sendBody(of link: SingleStreamConnection, into output: inout [UInt8]) -> Bool {
        guard streamCount > 0 else { return false }
        let record = records[0]
        while hasMore(on: link) {
            let count = min(link.room, record.outboundBytes)
            link.spend(count)
            let isLast = count == record.outboundBytes
            var flags: UInt8 = 0
            if isLast, case .last = record.ending { flags = FrameHead.endStream }
            if count > 0 || flags != 0 {
                FrameHead(kind: .data, flags: flags, stream: link.stream, count: count).write(to: &output)
                record.take(count, onto: &output)
                if count > 0 { scanner.countUsefulFrame() }
            }
            guard isLast else { continue }
            switch record.ending {
            case .open: return true
            case .last: break
            case .trailers(let trailers): writeTrailers(trailers, of: link.stream, into: &output)
            }
            link.isOwnDone = true
            if link.isClosed { closeLean(errorCode: ErrorCode.noError) }
            return false
        }
        return false
    }

    /// Fields that enter no table: we have none.
    private func writeTrailers(_ trailers: HeaderBlock, of stream: Int32, into output: inout [UInt8]) {
        var block: [UInt8] = []
        trailers.forEach { name, value in block.append(spelling: name, value) }
        precondition(block.count <= FrameBuffer.payloadBytes, "trailers fit in one frame")
        FrameHead(
            kind: .headers, flags: FrameHead.endStream | FrameHead.endHeaders, stream: stream,
            count: block.count
        ).write(to: &output)
        output += block
    }

    /// Resets the stream of a lean session.
    func reset(_ stream: Int32, of link: SingleStreamConnection, errorCode: UInt32) {
        guard link.stream == stream else { return }
        link.reset(errorCode: errorCode)
        closeLean(errorCode: errorCode)
    }

    /// Says the GOAWAY of a lean session.
    func sayFarewell(_ errorCode: UInt32, _ debug: [UInt8], on link: SingleStreamConnection) {
        link.isGoing = true
        link.write(.goaway, stream: 0, payload: UInt32(max(0, lastStream)).bytes + errorCode.bytes + debug)
    }
}
