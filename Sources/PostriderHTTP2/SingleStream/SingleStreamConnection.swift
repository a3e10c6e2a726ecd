/// A device's link without nghttp2: a connection on which one stream is open and goes on for hours.
///
/// That is all that a link needs, whether it is idle or carries messages all the time. nghttp2 would take 9 KiB for it,
/// and several times the instructions for each message.
final class SingleStreamConnection {
    private let state: ConnectionState
    private let handler: HandlerReference
    private var link: SingleStreamState
    /// The beginning of a frame whose rest has not arrived.
    private var partial: [UInt8] = []

    /// Continues a connection from the state in which nghttp2 left it.
    init(_ state: ConnectionState, from link: SingleStreamState) {
        self.state = state
        handler = state.handler
        self.link = link
    }

    // MARK: Receiving

    /// Takes bytes that arrived.
    func receive(_ bytes: Span<UInt8>) {
        do throws(SessionError) {
            if partial.isEmpty {
                let taken = try takeFrames(bytes)
                if taken < bytes.count { partial.append(copying: bytes.extracting(taken...)) }
            } else {
                partial.append(copying: bytes)
                let whole = partial
                let taken = try takeFrames(whole.span)
                if taken == whole.count { partial = [] } else if taken > 0 { partial.removeFirst(taken) }
            }
        } catch {
            fail(error)
        }
        guard !state.hasEnded, state.failure == nil else { return }
        if link.output.count > state.settings.maxQueuedFrames * FrameHead.byteCount
            || !state.flood.advance(over: bytes, mostEmptyFrames: state.settings.maxEmptyFrames)
        {
            fail(.flooded)
        }
    }

    /// Takes the complete frames at the start of these bytes.
    ///
    /// - Returns: how many bytes they have.
    private func takeFrames(_ bytes: Span<UInt8>) throws(SessionError) -> Int {
        var start = 0
        while !state.hasEnded, let head = FrameHead(bytes, at: start) {
            guard head.count <= FrameHead.payloadBytes else {
                throw .protocolViolation(errorCode: ErrorCode.frameSizeError, reason: "a frame is too large")
            }
            let payload = start + FrameHead.byteCount
            guard bytes.count - payload >= head.count else { break }
            start = payload + head.count
            let frame = bytes.extracting(payload..<start)
            try act(on: try link.take(head, frame), frame)
        }
        return state.hasEnded ? bytes.count : start
    }

    private func act(on event: SingleStreamState.Event, _ payload: Span<UInt8>) throws(SessionError) {
        switch event {
        case .nothing: break
        case .refused:
            state.resets.open()
            if !state.resets.cut() { throw .tooManyResets }
        case .body(let range, let isLast):
            if !range.isEmpty, state.streams.count > 0 {
                handler.lend { $0.data(link.stream, payload.extracting(range)) }
            }
            if isLast { peerEnded() }
        case .ended: peerEnded()
        case .reset(let errorCode): close(errorCode: errorCode)
        case .pingAcknowledged: handler.lend { $0.pingAcknowledged() }
        case .settings(let most):
            handler.lend { $0.settingsReceived(maxConcurrentStreams: most) }
        case .goaway(let lastStream, let errorCode):
            let rest = payload.extracting(8...)
            let debug = rest.indices.map { rest[$0] }
            handler.lend {
                $0.goawayReceived(lastStream: lastStream, errorCode: errorCode, debug: debug)
            }
        }
    }

    private func peerEnded() {
        if let record = state.streams.first {
            record.hasEnded = true
            handler.lend { $0.ended(link.stream) }
        }
        if link.phase.isOver { close(errorCode: ErrorCode.noError) }
    }

    /// Closes the stream in both directions and tells the handler.
    private func close(errorCode: UInt32) {
        if let record = state.streams.first { state.close(record, errorCode: errorCode) }
    }

    // MARK: Sending

    /// Whether more may be read: the stream is open, or no GOAWAY was sent or received.
    var wantsToRead: Bool { !link.isGoing || state.streams.count > 0 }

    /// Whether there is something to send besides a GOAWAY that waits.
    var hasMore: Bool {
        guard link.output.isEmpty else { return true }
        guard state.failure == nil, link.maySend, let record = state.streams.first else { return false }
        if record.outboundBytes > 0 { return link.room > 0 }
        if case .open = record.ending { return false }
        return true
    }

    /// Appends everything that may be sent now.
    func drain(into output: inout [UInt8]) {
        let start = output.count
        var goesOn: Bool
        repeat {
            link.moveOutput(to: &output)
            goesOn = sendBody(into: &output)
            if goesOn { handler.lend { $0.writable(link.stream) } }
            if !goesOn { goesOn = sendGoaway() }
        } while goesOn && output.count - start < HTTP2Connection.drainBytes
    }

    /// Sends as much of the body as the peer's window allows. Returns true if the body is empty now and may get more.
    private func sendBody(into output: inout [UInt8]) -> Bool {
        while hasMore, let record = state.streams.first {
            let count = min(link.room, record.outboundBytes)
            link.spend(count)
            let isLast = count == record.outboundBytes
            var flags: UInt8 = 0
            if isLast, case .last = record.ending { flags = FrameHead.endStream }
            if count > 0 || flags != 0 {
                FrameHead(kind: .data, flags: flags, stream: link.stream, count: count).write(to: &output)
                record.take(count, onto: &output)
                if count > 0 { state.flood.countUsefulFrame() }
            }
            guard isLast else { continue }
            switch record.ending {
            case .open: return true
            case .last: break
            case .trailers(let trailers): write(trailers: trailers, into: &output)
            }
            link.ended()
            if link.phase.isOver { close(errorCode: ErrorCode.noError) }
            return false
        }
        return false
    }

    /// Trailers are literal fields: we keep no header table for this link.
    private func write(trailers: HeaderBlock, into output: inout [UInt8]) {
        var block: [UInt8] = []
        trailers.forEach { name, value in block.append(literal: name, value) }
        precondition(block.count <= FrameHead.payloadBytes, "trailers fit in one frame")
        FrameHead(
            kind: .headers, flags: FrameHead.endStream | FrameHead.endHeaders, stream: link.stream,
            count: block.count
        ).write(to: &output)
        output += block
    }

    /// Resets the stream, if `stream` is the one of this link.
    func reset(_ stream: Int32, errorCode: UInt32) {
        guard link.stream == stream else { return }
        link.reset(errorCode: errorCode)
        close(errorCode: errorCode)
    }

    func ping() {
        state.flood.expectEmptyFrame()
        link.write(.ping, stream: 0, payload: [UInt8](repeating: 0, count: 8))
    }

    private func fail(_ error: SessionError) {
        state.fail(error)
        _ = sendGoaway()
    }

    /// Sends a waiting GOAWAY if nothing else can be sent. Returns false if none was sent.
    private func sendGoaway() -> Bool {
        guard state.goaway.isWaiting, state.failure != nil || !hasMore,
            let (errorCode, debug, _) = state.goaway.take()
        else {
            return false
        }
        link.isGoing = true
        let lastStream = UInt32(max(0, state.lastStream))
        link.write(.goaway, stream: 0, payload: lastStream.bytes + errorCode.bytes + debug)
        return true
    }
}
