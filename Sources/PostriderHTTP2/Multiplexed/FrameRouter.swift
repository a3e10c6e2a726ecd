/// Takes a peer's bytes on their way to nghttp2. The router says what has to be judged or replaced; whoever stands
/// behind it knows the streams.
protocol FrameSink {
    /// Gives bytes to nghttp2. Negative: the library's error.
    func give(_ bytes: UnsafeBufferPointer<UInt8>) -> Int
    /// Whether nghttp2, which may not have been given all that came, has no open stream of this number.
    func mayBeClosed(_ stream: Int32) -> Bool
    /// A DATA frame begins, of which nghttp2 has been given nothing.
    func judge(_ data: FrameHead)
    /// The connection is over. Negative: an error for the library's.
    func refuse(_ error: SessionError) -> Int
    /// Whether the connection has been ended meanwhile: nothing more is to be given.
    var hasEnded: Bool { get }
}

/// Tells the frames of a client apart before nghttp2 sees them. Header blocks go to the ``HeaderBlockInterceptor``,
/// DATA on streams that may be closed is judged, and every other byte passes as it is.
final class FrameRouter {
    private let interceptor: HeaderBlockInterceptor
    /// Bytes of a frame that passes, or of the preface, which are still to come.
    private var passing = FloodAccounting.magicBytes
    /// The beginning of a frame of which the rest has not come.
    private var partial: [UInt8] = []
    /// Whether everything passes from now on.
    private var passesAll: Bool
    /// The last stream that began in the input at hand, if nothing has come since that may close it.
    private var justBegun: Int32 = 0
    private let maxFrameBytes: Int

    /// A router for the peer of a connection. What comes to a client passes.
    init(_ role: HTTP2Connection.Role, _ settings: SessionSettings) {
        // Without a decoder, which takes memory, on a client.
        interceptor = HeaderBlockInterceptor(settings, decodes: role == .server && settings.readsHeaderBlocks)
        passesAll = role == .client
        maxFrameBytes = Int(settings.maxFrameSize)
    }

    /// Takes what arrived. `block` has the fields of a header block when nghttp2 is given its replacement.
    ///
    /// - Returns: 0 or more; negative: the library's error.
    func route(_ bytes: UnsafeBufferPointer<UInt8>, to sink: some FrameSink, _ block: InboundBlock) -> Int {
        var (next, given) = (0, 0)
        justBegun = 0
        // Whether there is a RST_STREAM that nghttp2 has not been given.
        var owesReset = false
        while next < bytes.count, !passesAll {
            if passing > 0 {
                let step = min(passing, bytes.count - next)
                next += step
                passing -= step
                continue
            }
            let frame = partial.isEmpty ? unsafe FrameHead(bytes.span, at: next) : nil
            if let frame, !interceptor.intercepts(frame) {
                if frame.kind == .reset {
                    owesReset = true
                    justBegun = 0
                } else if frame.kind == .data, frame.stream != justBegun,
                    owesReset || sink.mayBeClosed(frame.stream)
                {
                    // What came before may close the stream, or begin it.
                    let verdict = unsafe sink.give(UnsafeBufferPointer(rebasing: bytes[given..<next]))
                    guard verdict >= 0, !sink.hasEnded else { return verdict }
                    (given, owesReset) = (next, false)
                    sink.judge(frame)
                }
                next += FrameHead.byteCount
                passing = frame.count
                continue
            }
            if given < next {
                let verdict = unsafe sink.give(UnsafeBufferPointer(rebasing: bytes[given..<next]))
                guard verdict >= 0, !sink.hasEnded else { return verdict }
                given = next
            }
            let rest = unsafe UnsafeBufferPointer(rebasing: bytes[next...])
            let verdict: Int
            if let frame, frame.count <= maxFrameBytes, case let end = FrameHead.byteCount + frame.count,
                end <= rest.count
            {
                next += end
                verdict = unsafe intercept(frame, UnsafeBufferPointer(rebasing: rest[..<end]), sink, block)
            } else {
                next += unsafe keepPart(of: rest)
                verdict = takePart(sink, block)
            }
            guard verdict >= 0, !sink.hasEnded else { return verdict }
            given = next
        }
        return given < bytes.count ? unsafe sink.give(UnsafeBufferPointer(rebasing: bytes[given...])) : 0
    }

    /// The head of the frame that has come in part; nil if that is not complete either.
    private var partialHead: FrameHead? {
        let partial = partial
        return FrameHead(partial.span, at: 0)
    }

    /// Keeps the beginning of a frame, up to its end, or up to the end of its head.
    ///
    /// - Returns: how many bytes were kept.
    private func keepPart(of bytes: UnsafeBufferPointer<UInt8>) -> Int {
        let whole = partialHead.map { FrameHead.byteCount + $0.count }
        let step = min((whole ?? FrameHead.byteCount) - partial.count, bytes.count)
        unsafe partial.append(contentsOf: bytes[..<step])
        return step
    }

    /// Takes the frame that has come in parts, if it is complete now.
    private func takePart(_ sink: some FrameSink, _ block: InboundBlock) -> Int {
        guard let frame = partialHead else { return 0 }
        let isKept = interceptor.intercepts(frame) && frame.count <= maxFrameBytes
        guard !isKept || partial.count == FrameHead.byteCount + frame.count else { return 0 }
        let whole = partial
        partial = []
        guard !isKept else {
            return unsafe whole.withUnsafeBufferPointer { unsafe intercept(frame, $0, sink, block) }
        }
        passesAll = interceptor.intercepts(frame)
        if interceptor.breaksOff(before: frame) {
            let verdict = unsafe interceptor.replacement.withUnsafeBufferPointer { unsafe sink.give($0) }
            guard verdict >= 0, !sink.hasEnded else { return verdict }
        }
        passing = frame.count
        if frame.kind == .data { sink.judge(frame) }
        return unsafe whole.withUnsafeBufferPointer { unsafe sink.give($0) }
    }

    /// Has a whole frame, its head included, read in place of nghttp2, and gives nghttp2 what replaces it.
    private func intercept(
        _ frame: FrameHead, _ bytes: UnsafeBufferPointer<UInt8>, _ sink: some FrameSink, _ block: InboundBlock
    ) -> Int {
        let payload = unsafe UnsafeBufferPointer(rebasing: bytes[FrameHead.byteCount...])
        switch unsafe interceptor.take(frame, payload, into: &block.fields) {
        case .nothing: return 0
        case .replaced(let isDecoded):
            if isDecoded { justBegun = frame.stream }
            block.isDecoded = isDecoded
            defer { block.isDecoded = false }
            return unsafe interceptor.replacement.withUnsafeBufferPointer { unsafe sink.give($0) }
        case .violation:
            passesAll = true
            let verdict = unsafe interceptor.replacement.withUnsafeBufferPointer { unsafe sink.give($0) }
            return verdict < 0 ? verdict : unsafe sink.give(bytes)
        case .failed(let error):
            return sink.refuse(error)
        }
    }
}
