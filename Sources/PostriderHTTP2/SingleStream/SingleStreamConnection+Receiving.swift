/// What the peer says on a lean link, and what is wrong with it.
extension SingleStreamConnection {
    /// Bytes of a header block that is not going to be read.
    private static let mostBlockBytes = 65_536

    /// Takes a whole frame of the peer.
    func take(_ frame: FrameHead, _ payload: Span<UInt8>) throws(SessionError) -> Event {
        if let block {
            guard frame.kind == .continuation, frame.stream == block.stream else {
                throw .violation(ErrorCode.protocolError, "a header block is interrupted")
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
        case .push, .continuation: throw .violation(ErrorCode.protocolError, "a frame comes out of turn")
        case nil: return .nothing
        }
    }

    private func takeData(
        _ frame: FrameHead, _ payload: Span<UInt8>
    ) throws(SessionError) -> Event {
        guard isKnown(frame.stream) else { throw .wrongStream }
        receipts.connection += payload.count
        guard receipts.connection <= receipts.connectionWindow else { throw .overflow }
        if isWindowDue(receipts.connection, of: receipts.connectionWindow) {
            writeWindow(0, receipts.connection)
            receipts.connection = 0
        }
        guard frame.stream == stream, !isReset else {
            // What was under way when a stream was refused or reset by us means nothing, up to its end.
            guard cutStreams.mayHold(frame.stream) else {
                throw .violation(ErrorCode.streamClosed, "the stream is closed")
            }
            if frame.endsStream { _ = cutStreams.forgive(frame.stream) }
            return .nothing
        }
        guard !isPeerDone else { throw .violation(ErrorCode.streamClosed, "the stream has ended") }
        let content = try content(of: frame, payload)
        receipts.stream += payload.count
        guard receipts.stream <= receipts.streamWindow else { throw .overflow }
        isPeerDone = frame.endsStream
        if !isPeerDone, isWindowDue(receipts.stream, of: receipts.streamWindow) {
            writeWindow(stream, receipts.stream)
            receipts.stream = 0
        }
        return .body(content, isLast: isPeerDone)
    }

    /// Whether as much was received as is worth a frame that gives it back.
    private func isWindowDue(_ count: Int, of window: Int) -> Bool { count > 0 && count >= window / 2 }

    private func writeWindow(_ stream: Int32, _ count: Int) {
        write(.windowUpdate, stream: stream, payload: UInt32(count).bytes)
    }

    private func content(
        of frame: FrameHead, _ payload: Span<UInt8>
    ) throws(SessionError) -> Range<Int> {
        if let content = frame.content(of: payload) { return content }
        guard frame.isPadded else { throw .size }
        throw .violation(ErrorCode.protocolError, "there is more padding than frame")
    }

    private func takeHeaders(_ frame: FrameHead, _ payload: Span<UInt8>) throws(SessionError) -> Event {
        guard frame.stream & 1 == 1 else { throw .wrongStream }
        let count = payload.count
        _ = try content(of: frame, payload)
        if frame.stream == stream, !isReset {
            guard !isPeerDone else { throw .violation(ErrorCode.streamClosed, "the stream has ended") }
            guard frame.endsStream else {
                throw .violation(ErrorCode.protocolError, "trailers do not end their stream")
            }
            return try takeBlock(frame, count, endsStream: true)
        }
        guard frame.stream > lastStream else {
            guard cutStreams.forgive(frame.stream) else {
                throw .violation(ErrorCode.streamClosed, "the stream is closed")
            }
            return try takeBlock(frame, count, endsStream: false)
        }
        lastStream = frame.stream
        if !frame.endsStream { cutStreams.remember(frame.stream) }
        write(.reset, stream: frame.stream, payload: ErrorCode.refusedStream.bytes)
        _ = try takeBlock(frame, count, endsStream: false)
        return .refused
    }

    /// A header block goes on, `count` bytes of it so far.
    private func takeBlock(
        _ frame: FrameHead, _ count: Int, endsStream: Bool
    ) throws(SessionError) -> Event {
        guard count <= Self.mostBlockBytes else { throw .headerListTooLarge }
        guard frame.endsHeaders else {
            block = (frame.stream, count, endsStream)
            return .nothing
        }
        block = nil
        guard endsStream else { return .nothing }
        isPeerDone = true
        return .ended
    }

    private func takeReset(
        _ frame: FrameHead, _ payload: Span<UInt8>
    ) throws(SessionError) -> Event {
        guard isKnown(frame.stream) else { throw .wrongStream }
        guard payload.count == 4 else { throw .size }
        guard frame.stream == stream, !isClosed else { return .nothing }
        isReset = true
        return .reset(errorCode: payload.bigEndianWord(at: 0))
    }

    private func takeSettings(
        _ frame: FrameHead, _ payload: Span<UInt8>
    ) throws(SessionError) -> Event {
        guard frame.stream == 0 else { throw .wrongStream }
        guard !frame.isAcknowledgement else {
            guard payload.isEmpty else { throw .size }
            throw .violation(ErrorCode.protocolError, "there are no settings to acknowledge")
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
    private func set(_ setting: UInt16, to value: UInt32) throws(SessionError) {
        switch setting {
        case 2, 8, 9:
            guard value <= 1 else { throw .violation(ErrorCode.protocolError, "a setting is no truth value") }
        case 3: maxConcurrentStreams = value
        case 4:
            guard value <= UInt32(Int32.max) else { throw .overflow }
            windows.stream += Int(value) - windows.initial
            windows.initial = Int(value)
            guard windows.stream <= Self.largestWindow else { throw .overflow }
        case 5:
            guard (16_384...16_777_215).contains(value) else {
                throw .violation(ErrorCode.protocolError, "no such size of frames is allowed")
            }
            frameBytes = min(Int(value), FrameBuffer.payloadBytes)
        default: break
        }
    }

    private func takePing(
        _ frame: FrameHead, _ payload: Span<UInt8>
    ) throws(SessionError) -> Event {
        guard frame.stream == 0 else { throw .wrongStream }
        guard payload.count == 8 else { throw .size }
        if frame.isAcknowledgement { return .pingAcknowledged }
        let echo = payload.indices.map { payload[$0] }
        write(.ping, flags: FrameHead.acknowledgement, stream: 0, payload: echo)
        return .nothing
    }

    private func takeWindow(
        _ frame: FrameHead, _ payload: Span<UInt8>
    ) throws(SessionError) -> Event {
        guard frame.stream == 0 || isKnown(frame.stream) else { throw .wrongStream }
        guard payload.count == 4 else { throw .size }
        let step = Int(payload.bigEndianWord(at: 0) & 0x7FFF_FFFF)
        // Whatever was under way to a stream that is closed means nothing.
        let isOfStream = frame.stream == stream && !isClosed
        guard frame.stream == 0 || isOfStream else { return .nothing }
        guard step > 0 else { throw .violation(ErrorCode.protocolError, "a window grows by nothing") }
        if isOfStream { windows.stream += step } else { windows.connection += step }
        guard max(windows.connection, windows.stream) <= Self.largestWindow else { throw .overflow }
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
        violation(ErrorCode.frameSizeError, "a frame has a wrong size")
    }
    fileprivate static var overflow: SessionError {
        violation(ErrorCode.flowControlError, "a window overflows")
    }
    fileprivate static var wrongStream: SessionError {
        violation(ErrorCode.protocolError, "a frame is for a stream that it cannot be for")
    }
}
