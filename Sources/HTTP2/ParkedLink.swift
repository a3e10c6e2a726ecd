/// What is left of a session on which one stream is open, nothing is under way and neither end has a header table: the
/// counters of flow control. A link that a device holds for hours needs no more (RFC 9113), where the library takes
/// 9 KiB for it.
///
/// It reads and writes the frames of that one stream and of the connection. Streams that the peer begins are refused,
/// as RFC 9113, section 8.7 lets us: it may begin them on another connection. Their header blocks are not decoded,
/// which nobody notices who keeps to the empty table.
struct ParkedLink {
    /// What a frame of the peer means for the session.
    enum Event: Equatable {
        /// Nothing that anybody has to be told of.
        case nothing
        /// These bytes of the frame's payload are body of the stream; perhaps the last ones.
        case body(Range<Int>, isLast: Bool)
        /// The peer has said everything on the stream.
        case ended
        /// The peer began a stream, which is refused.
        case refused
        /// The peer has reset the stream.
        case reset(errorCode: UInt32)
        case pingAcknowledged
        case settings(maxConcurrentStreams: UInt32)
        case goaway(lastStream: Int32, errorCode: UInt32)
    }

    /// A direction of flow control: how much may still be sent.
    struct Windows {
        var connection: Int
        var stream: Int
        /// What new streams begin with: a change of it changes theirs.
        var initial: Int
    }

    /// A direction of flow control: how much was received that was not given back, of how much there is.
    struct Receipts {
        var connection: Int
        var stream: Int
        var connectionWindow: Int
        var streamWindow: Int
    }

    let stream: Int32
    /// The last stream that the peer began, refused ones included.
    private(set) var lastStream: Int32
    /// Whether the peer has said everything on the stream, and whether we have.
    private(set) var isPeerDone = false
    var isOwnDone = false
    /// Whether one of both has reset it.
    private(set) var isReset = false
    private(set) var windows: Windows
    /// Bytes of a DATA frame at most.
    private(set) var frameBytes: Int
    /// Whether one of both has said that it is going.
    var isGoing = false
    /// Frames that wait to be sent, whole.
    private(set) var output: [UInt8] = []

    private var receipts: Receipts
    /// A header block that has begun and not ended.
    private var block: (stream: Int32, bytes: Int, endsStream: Bool)?

    /// Bytes of a header block that is not going to be read.
    private static let mostBlockBytes = 65_536
    private static let largestWindow = Int(Int32.max)

    init(stream: Int32, lastStream: Int32, windows: Windows, frameBytes: Int, receipts: Receipts) {
        self.stream = stream
        self.lastStream = lastStream
        self.windows = windows
        self.frameBytes = frameBytes
        self.receipts = receipts
    }

    /// Whether nothing can be said on the stream any more.
    var isClosed: Bool { isReset || isPeerDone && isOwnDone }

    /// How many bytes of body may leave in one frame now.
    var room: Int { max(0, min(windows.connection, windows.stream, frameBytes)) }
}

// MARK: - What comes

extension ParkedLink {
    /// Takes a whole frame of the peer.
    mutating func take(_ frame: FrameHead, _ payload: Span<UInt8>) throws(SessionError) -> Event {
        if let block {
            guard frame.kind == .continuation, frame.stream == block.stream else {
                throw .violation(ErrorCode.protocolError, "a header block is interrupted")
            }
            return try takeBlock(frame, block.bytes + payload.count, endsStream: block.endsStream)
        }
        switch frame.kind {
        case .data: return try takeData(frame, payload)
        case .headers: return try takeHeaders(frame, payload.count)
        case .priority:
            guard payload.count == 5 else { throw .size }
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

    private mutating func takeData(
        _ frame: FrameHead, _ payload: Span<UInt8>
    ) throws(SessionError) -> Event {
        guard isKnown(frame.stream) else { throw .wrongStream }
        receipts.connection += payload.count
        guard receipts.connection <= receipts.connectionWindow else { throw .overflow }
        if receipts.connection * 2 >= receipts.connectionWindow {
            writeWindow(0, receipts.connection)
            receipts.connection = 0
        }
        // What was under way when a stream was refused means nothing.
        guard frame.stream == stream, !isReset else { return .nothing }
        guard !isPeerDone else { throw .violation(ErrorCode.streamClosed, "the stream has ended") }
        let padding = try paddingBytes(frame, payload)
        receipts.stream += payload.count
        guard receipts.stream <= receipts.streamWindow else { throw .overflow }
        isPeerDone = frame.endsStream
        if !isPeerDone, receipts.stream * 2 >= receipts.streamWindow {
            writeWindow(stream, receipts.stream)
            receipts.stream = 0
        }
        return .body(padding.before..<payload.count - padding.behind, isLast: isPeerDone)
    }

    private func paddingBytes(
        _ frame: FrameHead, _ payload: Span<UInt8>
    ) throws(SessionError) -> (before: Int, behind: Int) {
        guard frame.isPadded else { return (0, 0) }
        guard payload.count > 0, Int(payload[0]) < payload.count else {
            throw .violation(ErrorCode.protocolError, "there is more padding than frame")
        }
        return (1, Int(payload[0]))
    }

    private mutating func takeHeaders(_ frame: FrameHead, _ count: Int) throws(SessionError) -> Event {
        guard frame.stream & 1 == 1 else { throw .wrongStream }
        if frame.stream == stream, !isReset {
            guard !isPeerDone else { throw .violation(ErrorCode.streamClosed, "the stream has ended") }
            guard frame.endsStream else {
                throw .violation(ErrorCode.protocolError, "trailers do not end their stream")
            }
            return try takeBlock(frame, count, endsStream: true)
        }
        guard frame.stream > lastStream else {
            throw .violation(ErrorCode.streamClosed, "the stream is closed")
        }
        lastStream = frame.stream
        write(.reset, stream: frame.stream, payload: ErrorCode.refusedStream.bytes)
        _ = try takeBlock(frame, count, endsStream: false)
        return .refused
    }

    /// A header block goes on, `count` bytes of it so far.
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
        isPeerDone = true
        return .ended
    }

    private mutating func takeReset(
        _ frame: FrameHead, _ payload: Span<UInt8>
    ) throws(SessionError) -> Event {
        guard isKnown(frame.stream) else { throw .wrongStream }
        guard payload.count == 4 else { throw .size }
        guard frame.stream == stream, !isClosed else { return .nothing }
        isReset = true
        return .reset(errorCode: payload.bigEndianWord(at: 0))
    }

    private mutating func takeSettings(
        _ frame: FrameHead, _ payload: Span<UInt8>
    ) throws(SessionError) -> Event {
        guard frame.stream == 0 else { throw .wrongStream }
        guard !frame.isAcknowledgement else {
            guard payload.isEmpty else { throw .size }
            return .nothing
        }
        guard payload.count % 6 == 0 else { throw .size }
        var most = UInt32.max
        for start in stride(from: 0, to: payload.count, by: 6) {
            let value = payload.bigEndianWord(at: start + 2)
            switch UInt16(payload[start]) << 8 | UInt16(payload[start + 1]) {
            case 3: most = value
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
        write(.settings, flags: FrameHead.acknowledgement, stream: 0, payload: [])
        return .settings(maxConcurrentStreams: most)
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
        guard step > 0 else { throw .violation(ErrorCode.protocolError, "a window grows by nothing") }
        if frame.stream == 0 {
            windows.connection += step
        } else if frame.stream == stream {
            windows.stream += step
        }
        guard max(windows.connection, windows.stream) <= Self.largestWindow else { throw .overflow }
        return .nothing
    }

    /// Whether the peer has begun this stream.
    private func isKnown(_ stream: Int32) -> Bool { stream & 1 == 1 && stream <= lastStream }
}

// MARK: - What goes

extension ParkedLink {
    /// Adds a frame that waits to be sent.
    mutating func write(_ kind: FrameHead.Kind, flags: UInt8 = 0, stream: Int32, payload: [UInt8]) {
        FrameHead(kind: kind, flags: flags, stream: stream, count: payload.count).write(to: &output)
        output += payload
    }

    private mutating func writeWindow(_ stream: Int32, _ count: Int) {
        write(.windowUpdate, stream: stream, payload: UInt32(count).bytes)
    }

    /// Takes the frames that wait.
    mutating func takeOutput() -> [UInt8] {
        defer { output = [] }
        return output
    }

    /// So much body leaves.
    mutating func spend(_ count: Int) {
        windows.connection -= count
        windows.stream -= count
    }

    /// The stream is over at our end, whatever the peer does.
    mutating func reset(errorCode: UInt32) {
        guard !isClosed else { return }
        isReset = true
        write(.reset, stream: stream, payload: errorCode.bytes)
    }
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
