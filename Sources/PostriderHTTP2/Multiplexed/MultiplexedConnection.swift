import CPostriderNghttp2

/// An HTTP/2 connection over nghttp2, with any number of streams. nghttp2 keeps the streams, the windows and the rules
/// of HTTP; docs/internals/own-protocol-code.md says what is added around it, and why.
final class MultiplexedConnection {
    let inbound: InboundFrames
    let outbound: OutboundStreams
    private let state: ConnectionState
    private let library: Nghttp2Session
    /// The stream limit of the first SETTINGS frame, if it is not the one of the settings.
    private var announcedStreamLimit: UInt32?
    private var shutdown: GracefulShutdown?

    /// Makes a connection; its SETTINGS wait in the first `drain`.
    init(_ state: ConnectionState) {
        self.state = state
        library = makeNghttp2Session(state.role, state.settings)
        inbound = InboundFrames(state, library)
        outbound = OutboundStreams(state, library)
        unsafe library.setContext(Unmanaged.passUnretained(self).toOpaque())
        submitFirstSettings()
    }

    // MARK: Bytes

    /// Takes bytes that arrived.
    func receive(_ bytes: Span<UInt8>) {
        let result = inbound.receive(bytes)
        guard !state.hasEnded else { return }
        if result < 0 {
            let error = state.failure ?? SessionError(library: Int32(result))
            fail(error, saying: error == .notHTTP2 ? state.settings.describe(foreign: bytes) : nil)
        } else if state.role == .server, library.queuedFrames > state.settings.maxQueuedFrames {
            fail(.flooded)
        } else if !state.flood.advance(over: bytes, mostEmptyFrames: state.settings.maxEmptyFrames) {
            fail(.flooded)
        }
        if state.failure == nil { inbound.sendContinue() }
    }

    /// Appends everything that may be sent now, up to a bound above which streaming bodies are not asked for more.
    func drain(into output: inout [UInt8]) {
        let start = output.count
        repeat {
            guard !state.isBroken else { return }
            sendAll(into: &output)
            if let limit = announcedStreamLimit, output.count > start {
                announcedStreamLimit = nil
                output.setMaxConcurrentStreams(limit, inFrameAt: start)
            }
        } while (outbound.notifyEmptied() || outbound.sendLateResets() || advanceShutdown() || sendGoaway())
            && output.count - start < HTTP2Connection.drainBytes
    }

    /// Whether nghttp2 would read more.
    var wantsToRead: Bool { library.wantsToRead }

    /// Whether there is something to send besides a GOAWAY that waits.
    var hasMore: Bool { library.wantsToWrite || outbound.hasMore }

    /// Sends until nghttp2 has nothing left.
    private func sendAll(into output: inout [UInt8]) {
        var isMore = true
        while isMore {
            let start = output.count
            isMore = unsafe library.withNextFrame { frame, error in
                if error < 0, state.failure == nil { state.failure = .libraryFailure(error) }
                unsafe output.append(contentsOf: frame)
                return !frame.isEmpty
            }
            if isMore { frameSent(&output, from: start) }
        }
        outbound.forgetAppendedFields()
    }

    /// Handles a frame that nghttp2 has just written, from `start` on.
    private func frameSent(_ output: inout [UInt8], from start: Int) {
        switch FrameHead.Kind(rawValue: output[start + 3]) {
        case .headers: outbound.extend(&output, from: start)
        case .goaway where output.count >= start + 17: goawaySent(&output, from: start)
        case .reset where state.failure == nil && !state.resets.cut(): fail(.tooManyResets)
        default: break
        }
    }

    /// nghttp2 can end the connection by itself; the GOAWAY that it writes is the only sign of it (RFC 9113, section
    /// 6.8). That GOAWAY names a stream whose header block has only begun as if it had been served, so the number is
    /// corrected.
    private func goawaySent(_ output: inout [UInt8], from start: Int) {
        let named = output.span.bigEndianWord(at: start + 9)
        if let shutdown, named == GracefulShutdown.allStreams {
            // nghttp2's shutdown notice has no debug data.
            output += shutdown.debug
            return output.endFrame(from: start)
        }
        if state.role == .server, named > UInt32(state.lastStream) {
            output.overwriteWord(at: start + 9, with: UInt32(state.lastStream))
        }
        let errorCode = output.span.bigEndianWord(at: start + 13)
        guard state.failure == nil, errorCode != ErrorCode.noError, errorCode != state.goaway.errorCode
        else { return }
        let reason = String(decoding: output[(start + 17)...], as: UTF8.self)
        state.failure = .protocolViolation(errorCode: errorCode, reason: reason)
    }

    private func fail(_ error: SessionError, saying debug: String? = nil) {
        state.fail(error, saying: debug)
        _ = sendGoaway()
    }

    /// Hands a waiting GOAWAY to nghttp2 when nothing else can be sent, because nghttp2 would send it first. Returns
    /// false if none waits.
    private func sendGoaway() -> Bool {
        guard state.goaway.isWaiting, state.failure != nil || !hasMore,
            let (errorCode, debug, lastStream) = state.goaway.take()
        else {
            return false
        }
        library.submitGoaway(
            lastStream: min(lastStream, state.lastStream), errorCode: errorCode, debug: debug)
        return true
    }
}

// MARK: - The connection

extension MultiplexedConnection {
    func ping() {
        state.pings.pingSent()
        state.flood.expectEmptyFrame()
        library.submitPing()
    }

    /// Makes the first SETTINGS frame announce fewer streams than nghttp2 accepts.
    func announceStreamLimit(_ count: UInt32) { announcedStreamLimit = count }

    /// Sends SETTINGS in the middle of the connection.
    func update(_ values: [(ConnectionSetting, UInt32)]) {
        for (setting, value) in values where setting == .headerTableSize {
            precondition(value <= HPACKTable.initialSize, "our decoder's table has the initial size")
            inbound.headerTableChanges()
        }
        submit(values.map { ($0.0.identifier, $0.1) })
    }

    /// The first frame of every connection.
    private func submitFirstSettings() {
        let settings = state.settings
        let first =
            switch state.role {
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
        library.setConnectionWindow(settings.connectionWindowSize)
    }

    private func submit(_ entries: [(nghttp2_settings_id, UInt32)]) {
        library.submitSettings(entries)
        state.deadlines.settingsSent()
    }

    // MARK: The end in good order

    /// Whether a shutdown has begun and its last GOAWAY is not queued yet.
    var isShuttingDown: Bool { shutdown != nil }

    /// Begins a shutdown.
    func shutDown(debug: [UInt8], settles: Bool) {
        guard shutdown == nil else { return }
        shutdown = GracefulShutdown(debug: debug, settles: settles, at: state.deadlines.moment)
    }

    /// Whether the next step of the shutdown is due.
    var isShutdownStepDue: Bool {
        guard let shutdown, state.failure == nil else { return false }
        return shutdown.isDue(state.pings, openStreams: state.streams.count)
    }

    /// Takes the next step of the shutdown if it is due. Called when everything else has been sent. Returns false if no
    /// step was due.
    private func advanceShutdown() -> Bool {
        guard isShutdownStepDue, var shutdown else { return false }
        let action = shutdown.advance(state.pings, lastStream: state.lastStream, at: state.deadlines.moment)
        self.shutdown = shutdown
        switch action {
        case .ping: ping()
        case .announce:
            library.submitShutdownNotice()
            ping()
        case .goaway:
            state.goaway = .waiting(errorCode: ErrorCode.noError, debug: shutdown.debug)
            self.shutdown = nil
        }
        return true
    }

    /// Counts another second.
    func tick(_ timeouts: Timeouts) { shutdown?.tick(at: state.deadlines.moment, timeouts) }

    // MARK: Leaving nghttp2

    /// The state with which a ``SingleStreamConnection`` goes on. Nil unless nothing is under way but one answer that
    /// goes on, no deadline runs in either direction, and we use no header table for what we send.
    func makeSingleStreamState() -> SingleStreamState? {
        let settings = state.settings
        guard state.role == .server, settings.encoderTableSize == 0, settings.automaticWindowUpdates,
            state.failure == nil, !state.hasEnded, !state.goaway.isWaiting, shutdown == nil, !hasMore,
            state.flood.isBetweenFrames, state.deadlines.areSettingsAcknowledged, announcedStreamLimit == nil,
            state.streams.count == 1, let record = state.streams.first, record.isIdle
        else { return nil }
        let windows = library.sendWindows(of: record.id)
        // For a window below zero (RFC 9113, section 6.9.2) nghttp2 only says that it is empty.
        guard windows.stream > 0 else { return nil }
        return SingleStreamState(
            stream: record.id, lastStream: inbound.lastBegun,
            windows: FlowControl.Send(
                connection: windows.connection, stream: windows.stream,
                initial: Int(library.remoteSetting(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE))),
            received: library.receiveWindows(of: record.id),
            frameBytes: min(
                Int(library.remoteSetting(NGHTTP2_SETTINGS_MAX_FRAME_SIZE)), FrameHead.payloadBytes),
            maxConcurrentStreams: library.remoteSetting(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS),
            closedStreams: inbound.closedStreams)
    }
}
