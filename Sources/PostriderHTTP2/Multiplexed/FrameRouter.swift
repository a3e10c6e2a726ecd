/// Receives a peer's bytes from the ``FrameRouter`` on their way to nghttp2, and decides about DATA on streams that may
/// be closed: the sink knows the streams, the router does not.
protocol FrameSink {
    /// Gives bytes to nghttp2. A negative result is an error of the library.
    func give(_ bytes: UnsafeBufferPointer<UInt8>) -> Int
    /// Whether nghttp2 has no open stream of this number. Bytes that the router still holds may open it.
    func mayBeClosed(_ stream: Int32) -> Bool
    /// A DATA frame begins; nghttp2 has been given nothing of it.
    func judge(_ data: FrameHead)
    /// Fails the connection. Returns a negative number, as an error of the library would.
    func refuse(_ error: SessionError) -> Int
    /// Whether the connection has ended meanwhile: nghttp2 is given nothing more.
    var hasEnded: Bool { get }
}

/// Inspects a client's frames before nghttp2 sees them. Header blocks go to the ``HeaderBlockInterceptor``, DATA on
/// streams that may be closed is judged, and every other byte passes unchanged.
final class FrameRouter {
    private let interceptor: HeaderBlockInterceptor
    /// Bytes of the current frame or the preface that have not arrived and will pass unchanged.
    private var passing = FloodAccounting.magicBytes
    /// The beginning of a frame whose rest has not arrived.
    private var partial: [UInt8] = []
    /// Whether everything passes unchanged from now on.
    private var passesAll: Bool
    /// The last stream that began in the current input, unless a later frame of the input may have closed it; 0 if
    /// there is none.
    private var justBegun: Int32 = 0
    private let maxFrameBytes: Int

    /// A router for the peer of a connection. At a client everything passes unchanged.
    init(_ role: HTTP2Connection.Role, _ settings: SessionSettings) {
        // A client needs no decoder, which would take memory.
        interceptor = HeaderBlockInterceptor(settings, decodes: role == .server && settings.readsHeaderBlocks)
        passesAll = role == .client
        maxFrameBytes = Int(settings.maxFrameSize)
    }

    /// Takes bytes that arrived. When nghttp2 is given a replacement for a header block, `block` has its fields.
    ///
    /// - Returns: 0 or more, or a negative error of the library.
    func route(_ bytes: UnsafeBufferPointer<UInt8>, to sink: some FrameSink, _ block: InboundBlock) -> Int {
        var (next, given) = (0, 0)
        justBegun = 0
        // Whether the bytes that are held back contain a RST_STREAM.
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
                    // Earlier frames may open or close the stream, so nghttp2 gets them first.
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

    /// The size of the header table is about to change.
    func headerTableChanges() { interceptor.headerTableChanges() }

    /// The head of the frame that has arrived in part; nil if the head itself is incomplete.
    private var partialHead: FrameHead? {
        let partial = partial
        return FrameHead(partial.span, at: 0)
    }

    /// Keeps an incomplete frame up to its end, or, if its head is incomplete, up to the end of the head.
    ///
    /// - Returns: how many bytes were kept.
    private func keepPart(of bytes: UnsafeBufferPointer<UInt8>) -> Int {
        let whole = partialHead.map { FrameHead.byteCount + $0.count }
        let step = min((whole ?? FrameHead.byteCount) - partial.count, bytes.count)
        unsafe partial.append(contentsOf: bytes[..<step])
        return step
    }

    /// Handles the frame that was kept, if it is complete now.
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

    /// Gives a complete frame to the interceptor, and its replacement to nghttp2.
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
