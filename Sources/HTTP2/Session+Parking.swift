import CNghttp2

/// A session that lets go of the library while nothing happens on it: see ``ParkedLink``.
extension Session {
    /// Lets go of the library, for good, if nothing is under way but one answer that goes on: the peer owes nothing and
    /// is owed nothing, and neither end has a header table. False: it is not so; ask again later.
    ///
    /// From then on other streams that the peer begins are refused. Not to be called by a handler.
    public func park() -> Bool {
        if parked != nil { return true }
        guard role == .server, settings.headerTableSize == 0, settings.automaticWindowUpdates,
            !isAtWork, failure == nil, !hasEnded, farewell == nil, !hasMore, scanner.isBetweenFrames,
            acknowledgedSettings == sentSettings,
            let record = streams.first, streams.count == 1, record.isStreaming, !record.hasEnded,
            record.isDeferred, record.outboundBytes == 0, case .open = record.ending
        else { return false }
        parked = parkedLink(record)
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
    public var isParked: Bool { parked != nil }

    private func parkedLink(_ record: StreamRecord) -> ParkedLink {
        let remote = { (setting: nghttp2_settings_id) in
            unsafe Int(nghttp2_session_get_remote_settings(self.raw, setting))
        }
        let stream = record.id
        return unsafe ParkedLink(
            stream: stream, lastStream: nghttp2_session_get_last_proc_stream_id(raw),
            windows: ParkedLink.Windows(
                connection: Int(nghttp2_session_get_remote_window_size(raw)),
                stream: Int(nghttp2_session_get_stream_remote_window_size(raw, stream)),
                initial: remote(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE)),
            frameBytes: min(remote(NGHTTP2_SETTINGS_MAX_FRAME_SIZE), FrameBuffer.payloadBytes),
            receipts: ParkedLink.Receipts(
                connection: Int(nghttp2_session_get_effective_recv_data_length(raw)),
                stream: Int(nghttp2_session_get_stream_effective_recv_data_length(raw, stream)),
                connectionWindow: Int(nghttp2_session_get_effective_local_window_size(raw)),
                streamWindow: Int(nghttp2_session_get_stream_effective_local_window_size(raw, stream))))
    }

    /// Nobody needs on a quiet link what many streams would need again.
    private func releaseSpareMemory() {
        records.removeLast(records.count - streamCount)
        emptied = []
        lateResets = []
        cutStreams = []
        debts = []
        block = HeaderBlock()
    }

    /// Whether there is anybody to listen to.
    var wantsToRead: Bool {
        if let parked { return !parked.isGoing || !streams.isEmpty }
        return unsafe nghttp2_session_want_read(raw) != 0
    }

    // MARK: What comes

    /// Takes what arrived on a parked session.
    func receiveParked(_ bytes: Span<UInt8>) throws(SessionError) {
        isAtWork = true
        defer { isAtWork = false }
        do throws(SessionError) {
            if partial.isEmpty {
                let taken = try takeFrames(bytes)
                if taken < bytes.count { partial.append(copying: bytes.extracting(taken...)) }
            } else {
                partial.append(copying: bytes)
                let whole = partial
                let taken = try takeFrames(whole.span)
                if taken == whole.count { partial = [] } else { partial.removeFirst(taken) }
            }
        } catch {
            fail(error)
        }
        guard !hasEnded, failure == nil else { return }
        let waiting = parked?.output.count ?? 0
        if waiting > settings.maxQueuedFrames * FrameHead.byteCount
            || !scanner.advance(over: bytes, mostEmptyFrames: settings.maxEmptyFrames)
        {
            fail(.flooded)
        }
    }

    /// Takes the whole frames at the start of these bytes, and answers how many bytes they have.
    private func takeFrames(_ bytes: Span<UInt8>) throws(SessionError) -> Int {
        var start = 0
        while !hasEnded, let head = FrameHead(bytes, at: start) {
            guard head.count <= FrameBuffer.payloadBytes else {
                throw .protocolViolation(errorCode: ErrorCode.frameSizeError, reason: "a frame is too large")
            }
            let payload = start + FrameHead.byteCount
            guard bytes.count - payload >= head.count else { break }
            start = payload + head.count
            let frame = bytes.extracting(payload..<start)
            guard let event = try parked?.take(head, frame) else { break }
            try act(on: event, frame)
        }
        return hasEnded ? bytes.count : start
    }

    private func act(on event: ParkedLink.Event, _ payload: Span<UInt8>) throws(SessionError) {
        guard let stream = parked?.stream else { return }
        switch event {
        case .nothing: break
        case .refused:
            resets.open()
            if !resets.cut() { throw .tooManyResets }
        case .body(let range, let isLast):
            if !range.isEmpty { unsafe handler.data(stream, payload.extracting(range)) }
            if isLast { peerEndedParked(stream) }
        case .ended: peerEndedParked(stream)
        case .reset(let errorCode): closeParked(errorCode: errorCode)
        case .pingAcknowledged: unsafe handler.pingAcknowledged()
        case .settings(let most): unsafe handler.settingsReceived(maxConcurrentStreams: most)
        case .goaway(let lastStream, let errorCode):
            let debug = payload.extracting(8...)
            unsafe handler.goawayReceived(
                lastStream: lastStream, errorCode: errorCode, debug: debug.indices.map { debug[$0] })
        }
    }

    private func peerEndedParked(_ stream: Int32) {
        if let record = streams.first {
            record.hasEnded = true
            unsafe handler.ended(stream)
        }
        if parked?.isClosed == true { closeParked(errorCode: ErrorCode.noError) }
    }

    /// The stream is over at both ends.
    private func closeParked(errorCode: UInt32) {
        guard let record = streams.first else { return }
        let stream = record.id
        forget(record)
        unsafe handler.closed(stream, errorCode: errorCode)
    }

    // MARK: What goes

    /// Appends everything that a parked session may send now.
    func drainParked(into output: inout [UInt8]) {
        isAtWork = true
        defer { isAtWork = false }
        let start = output.count
        repeat {
            output += parked?.takeOutput() ?? []
            sendBody(into: &output)
        } while (notifyEmptied() || sayFarewell()) && output.count - start < Self.drainBytes
    }

    /// Whether a parked session has something to send besides the farewell.
    var hasMoreParked: Bool {
        guard let parked else { return false }
        guard parked.output.isEmpty, emptied.isEmpty else { return true }
        guard let record = streams.first, !parked.isOwnDone, !parked.isReset else { return false }
        if record.outboundBytes > 0 { return parked.room > 0 }
        if case .open = record.ending { return false }
        return true
    }

    private func sendBody(into output: inout [UInt8]) {
        while let parked, hasMoreParked, let record = streams.first {
            let count = min(parked.room, record.outboundBytes)
            self.parked?.spend(count)
            let isLast = count == record.outboundBytes
            var trailers: HeaderBlock?
            var endsHere = false
            if isLast {
                switch record.ending {
                case .open: emptied.append(parked.stream)
                case .last: endsHere = true
                case .trailers(let block): trailers = block
                }
            }
            if count > 0 || endsHere {
                FrameHead(
                    kind: .data, flags: endsHere ? FrameHead.endStream : 0, stream: parked.stream,
                    count: count
                ).write(to: &output)
                record.take(count, onto: &output)
                if count > 0 { scanner.countUsefulFrame() }
            }
            if let trailers { writeTrailers(trailers, of: parked.stream, into: &output) }
            if endsHere || trailers != nil { ownEndParked() }
            if isLast { return }
        }
    }

    private func ownEndParked() {
        parked?.isOwnDone = true
        if parked?.isClosed == true { closeParked(errorCode: ErrorCode.noError) }
    }

    /// Fields as literals that enter no table (RFC 7541, section 6.2.2): there is none.
    private func writeTrailers(_ trailers: HeaderBlock, of stream: Int32, into output: inout [UInt8]) {
        var block: [UInt8] = []
        trailers.forEach { name, value in
            block.append(0)
            Self.writeText(name, into: &block)
            Self.writeText(value, into: &block)
        }
        precondition(block.count <= FrameBuffer.payloadBytes, "trailers fit in one frame")
        FrameHead(
            kind: .headers, flags: FrameHead.endStream | FrameHead.endHeaders, stream: stream,
            count: block.count
        ).write(to: &output)
        output += block
    }

    /// A string literal with its length in an integer of a prefix of 7 bits (RFC 7541, section 5).
    private static func writeText(_ text: Span<UInt8>, into block: inout [UInt8]) {
        if text.count < 127 {
            block.append(UInt8(text.count))
        } else {
            block.append(127)
            var rest = text.count - 127
            while rest >= 128 {
                block.append(UInt8(rest & 127 | 128))
                rest >>= 7
            }
            block.append(UInt8(rest))
        }
        block.append(copying: text)
    }

    /// Resets the stream of a parked session.
    func resetParked(_ stream: Int32, errorCode: UInt32) {
        guard parked?.stream == stream else { return }
        parked?.reset(errorCode: errorCode)
        closeParked(errorCode: errorCode)
    }

    /// Says something about the connection of a parked session.
    func sayParked(_ kind: FrameHead.Kind, payload: [UInt8]) {
        parked?.write(kind, stream: 0, payload: payload)
    }

    /// Says the GOAWAY of a parked session.
    func sayFarewellParked(_ errorCode: UInt32, _ debug: [UInt8]) {
        let payload = UInt32(max(0, lastStream)).bytes + errorCode.bytes + debug
        parked?.isGoing = true
        sayParked(.goaway, payload: payload)
    }
}
