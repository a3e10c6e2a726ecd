// Reads the peer's frames and finds protocol errors.
extension SingleStreamState {
    /// The longest header block, in bytes; it is not decoded.
    private static let mostBlockBytes = 65_536

    /// Takes a complete frame of the peer.
    mutating func take(_ frame: FrameHead, _ payload: Span<UInt8>) throws(SessionError) -> Event {
        if let block {
            guard frame.kind == .continuation, frame.stream == block.stream else {
                throw .violation(ErrorCode.protocolError, "a header block is interrupted by another frame")
            }
            return try takeBlock(frame, block.bytes + payload.count, endsStream: block.endsStream)
        }
        switch frame.kind {
        case .data: return try takeData(frame, payload)
        case .headers: return try takeHeaders(frame, payload)
        case .priority:
            guard payload.count == 5 else { throw .size }
            guard frame.stream != 0 else { throw .wrongStream }
            return .nothing
        case .reset: return try takeReset(frame, payload)
        case .settings: return try takeSettings(frame, payload)
        case .ping: return try takePing(frame, payload)
        case .goaway:
            guard frame.stream == 0 else { throw .wrongStream }
            guard payload.count >= 8 else { throw .size }
            isGoing = true
            return .goaway(
                lastStream: Int32(payload.bigEndianWord(at: 0) & 0x7FFF_FFFF),
                errorCode: payload.bigEndianWord(at: 4))
        case .windowUpdate: return try takeWindow(frame, payload)
        case .push, .continuation: throw .violation(ErrorCode.protocolError, "a frame that cannot come now")
        case nil: return .nothing
        }
    }

    private mutating func takeData(
        _ frame: FrameHead, _ payload: Span<UInt8>
    ) throws(SessionError) -> Event {
        guard isKnown(frame.stream) else { throw .wrongStream }
        received.connection += payload.count
        guard received.connection <= received.connectionWindow else { throw .overflow }
        if isWindowDue(received.connection, of: received.connectionWindow) {
            writeWindow(0, received.connection)
            received.connection = 0
        }
        guard frame.stream == stream, phase != .reset else {
            // Frames that were under way when we refused or reset a stream are ignored.
            guard closedStreams.mayHold(frame.stream) else {
                throw .violation(ErrorCode.streamClosed, "the stream is closed")
            }
            if frame.endsStream { _ = closedStreams.forgive(frame.stream) }
            return .nothing
        }
        guard !hasPeerEnded else { throw .violation(ErrorCode.streamClosed, "the stream has ended") }
        let content = try content(of: frame, payload)
        received.stream += payload.count
        guard received.stream <= received.streamWindow else { throw .overflow }
        if frame.endsStream {
            peerEnded()
        } else if isWindowDue(received.stream, of: received.streamWindow) {
            writeWindow(stream, received.stream)
            received.stream = 0
        }
        return .body(content, isLast: frame.endsStream)
    }

    /// Whether enough bytes were received for a WINDOW_UPDATE to be worth sending.
    private func isWindowDue(_ count: Int, of window: Int) -> Bool { count > 0 && count >= window / 2 }

    private mutating func writeWindow(_ stream: Int32, _ count: Int) {
        write(.windowUpdate, stream: stream, payload: UInt32(count).bytes)
    }

    private func content(
        of frame: FrameHead, _ payload: Span<UInt8>
    ) throws(SessionError) -> Range<Int> {
        if let content = frame.content(of: payload) { return content }
        guard frame.isPadded else { throw .size }
        throw .violation(ErrorCode.protocolError, "the padding is longer than the frame")
    }

    private mutating func takeHeaders(_ frame: FrameHead, _ payload: Span<UInt8>) throws(SessionError)
        -> Event
    {
        guard frame.stream & 1 == 1 else { throw .wrongStream }
        let count = payload.count
        _ = try content(of: frame, payload)
        if frame.stream == stream, phase != .reset {
            guard !hasPeerEnded else { throw .violation(ErrorCode.streamClosed, "the stream has ended") }
            guard frame.endsStream else {
                throw .violation(ErrorCode.protocolError, "trailers without END_STREAM")
            }
            return try takeBlock(frame, count, endsStream: true)
        }
        guard frame.stream > lastStream else {
            guard closedStreams.forgive(frame.stream) else {
                throw .violation(ErrorCode.streamClosed, "the stream is closed")
            }
            return try takeBlock(frame, count, endsStream: false)
        }
        lastStream = frame.stream
        if !frame.endsStream { closedStreams.remember(frame.stream) }
        write(.reset, stream: frame.stream, payload: ErrorCode.refusedStream.bytes)
        _ = try takeBlock(frame, count, endsStream: false)
        return .refused
    }

    /// A header block continues; `count` bytes of it have arrived.
    private mutating func takeBlock(
        _ frame: FrameHead, _ count: Int, endsStream: Bool
    ) throws(SessionError) -> Event {
        guard count <= Self.mostBlockBytes else { throw .headerListTooLarge }
        guard frame.endsHeaders else {
            block = (frame.stream, count, endsStream)
            return .nothing
        }
        block = nil
        guard endsStream else { return .nothing }
        peerEnded()
        return .ended
    }

    private mutating func takeReset(
        _ frame: FrameHead, _ payload: Span<UInt8>
    ) throws(SessionError) -> Event {
        guard isKnown(frame.stream) else { throw .wrongStream }
        guard payload.count == 4 else { throw .size }
        guard frame.stream == stream, !phase.isOver else { return .nothing }
        phase = .reset
        return .reset(errorCode: payload.bigEndianWord(at: 0))
    }

    private mutating func takeSettings(
        _ frame: FrameHead, _ payload: Span<UInt8>
    ) throws(SessionError) -> Event {
        guard frame.stream == 0 else { throw .wrongStream }
        guard !frame.isAcknowledgement else {
            guard payload.isEmpty else { throw .size }
            throw .violation(ErrorCode.protocolError, "no SETTINGS wait for an acknowledgement")
        }
        guard payload.count % 6 == 0 else { throw .size }
        for start in stride(from: 0, to: payload.count, by: 6) {
            let value = payload.bigEndianWord(at: start + 2)
            try set(UInt16(payload[start]) << 8 | UInt16(payload[start + 1]), to: value)
        }
        write(.settings, flags: FrameHead.acknowledgement, stream: 0, payload: [])
        return .settings(maxConcurrentStreams: maxConcurrentStreams)
    }

    /// A setting of the peer (RFC 9113, section 6.5.2; RFC 8441, section 3; RFC 9218, section 2.1).
    private mutating func set(_ setting: UInt16, to value: UInt32) throws(SessionError) {
        switch setting {
        case 2, 8, 9:
            guard value <= 1 else {
                throw .violation(ErrorCode.protocolError, "a setting that is 0 or 1 has another value")
            }
        case 3: maxConcurrentStreams = value
        case 4:
            guard value <= UInt32(Int32.max) else { throw .overflow }
            windows.stream += Int(value) - windows.initial
            windows.initial = Int(value)
            guard windows.stream <= FlowControl.largestWindow else { throw .overflow }
        case 5:
            guard (16_384...16_777_215).contains(value) else {
                throw .violation(ErrorCode.protocolError, "SETTINGS_MAX_FRAME_SIZE is out of range")
            }
            frameBytes = min(Int(value), FrameHead.payloadBytes)
        default: break
        }
    }

    private mutating func takePing(
        _ frame: FrameHead, _ payload: Span<UInt8>
    ) throws(SessionError) -> Event {
        guard frame.stream == 0 else { throw .wrongStream }
        guard payload.count == 8 else { throw .size }
        if frame.isAcknowledgement { return .pingAcknowledged }
        let echo = payload.indices.map { payload[$0] }
        write(.ping, flags: FrameHead.acknowledgement, stream: 0, payload: echo)
        return .nothing
    }

    private mutating func takeWindow(
        _ frame: FrameHead, _ payload: Span<UInt8>
    ) throws(SessionError) -> Event {
        guard frame.stream == 0 || isKnown(frame.stream) else { throw .wrongStream }
        guard payload.count == 4 else { throw .size }
        let step = Int(payload.bigEndianWord(at: 0) & 0x7FFF_FFFF)
        // Frames that were under way when the stream was closed are ignored.
        let isOfStream = frame.stream == stream && !phase.isOver
        guard frame.stream == 0 || isOfStream else { return .nothing }
        guard step > 0 else {
            throw .violation(ErrorCode.protocolError, "WINDOW_UPDATE with an increment of 0")
        }
        if isOfStream { windows.stream += step } else { windows.connection += step }
        guard max(windows.connection, windows.stream) <= FlowControl.largestWindow else { throw .overflow }
        return .nothing
    }

    /// Whether the peer has begun this stream.
    private func isKnown(_ stream: Int32) -> Bool { stream & 1 == 1 && stream <= lastStream }
}

extension SessionError {
    fileprivate static func violation(_ code: UInt32, _ reason: String) -> SessionError {
        .protocolViolation(errorCode: code, reason: reason)
    }
    fileprivate static var size: SessionError {
        violation(ErrorCode.frameSizeError, "a frame has a wrong length")
    }
    fileprivate static var overflow: SessionError {
        violation(ErrorCode.flowControlError, "a flow-control window overflows")
    }
    fileprivate static var wrongStream: SessionError {
        violation(ErrorCode.protocolError, "a frame has a stream identifier that it cannot have")
    }
}
