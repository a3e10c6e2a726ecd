import CPostriderNghttp2

// What arrives goes to the library, but for header blocks: see ``HeaderBlockInterceptor``.
extension HTTP2Connection {
    /// Has the library take what arrived. Negative: its error.
    func read(_ bytes: UnsafeBufferPointer<UInt8>) -> Int {
        guard let gate else { return unsafe give(bytes) }
        var (next, given) = (0, 0)
        gate.justBegun = 0
        // Whether the library has not been given a RST_STREAM.
        var owesReset = false
        while next < bytes.count, !gate.isOpen {
            if gate.passing > 0 {
                let step = min(gate.passing, bytes.count - next)
                next += step
                gate.passing -= step
                continue
            }
            let frame = gate.partial.isEmpty ? unsafe FrameHead(bytes.span, at: next) : nil
            if let frame, !gate.keeps(frame) {
                if frame.kind == .reset {
                    owesReset = true
                    gate.justBegun = 0
                } else if frame.kind == .data, frame.stream != gate.justBegun,
                    owesReset || mayBeClosed(frame.stream)
                {
                    // What came before may close the stream, or begin it.
                    let verdict = unsafe give(UnsafeBufferPointer(rebasing: bytes[given..<next]))
                    guard verdict >= 0, !hasEnded else { return verdict }
                    (given, owesReset) = (next, false)
                    judge(frame)
                }
                next += FrameHead.byteCount
                gate.passing = frame.count
                continue
            }
            if given < next {
                let verdict = unsafe give(UnsafeBufferPointer(rebasing: bytes[given..<next]))
                guard verdict >= 0, !hasEnded else { return verdict }
                given = next
            }
            let rest = unsafe UnsafeBufferPointer(rebasing: bytes[next...])
            let verdict: Int
            if let frame, !gate.isTooLong(frame), case let end = FrameHead.byteCount + frame.count,
                end <= rest.count
            {
                next += end
                verdict = unsafe take(frame, UnsafeBufferPointer(rebasing: rest[..<end]), gate)
            } else {
                let step = unsafe gate.keepPart(of: rest)
                next += step
                verdict = takePart(gate)
            }
            guard verdict >= 0, !hasEnded else { return verdict }
            given = next
        }
        return given < bytes.count ? unsafe give(UnsafeBufferPointer(rebasing: bytes[given...])) : 0
    }

    private func give(_ bytes: UnsafeBufferPointer<UInt8>) -> Int {
        unsafe nghttp2_session_mem_recv(raw, bytes.baseAddress, bytes.count)
    }

    /// Takes the frame that has come in parts, if it is complete now.
    private func takePart(_ gate: HeaderBlockInterceptor) -> Int {
        guard let frame = gate.partialHead else { return 0 }
        let isKept = gate.keeps(frame) && !gate.isTooLong(frame)
        guard !isKept || gate.partial.count == FrameHead.byteCount + frame.count else { return 0 }
        let whole = gate.partial
        gate.partial = []
        guard !isKept else { return unsafe whole.withUnsafeBufferPointer { unsafe take(frame, $0, gate) } }
        gate.isOpen = gate.keeps(frame)
        gate.passing = frame.count
        if frame.kind == .data { judge(frame) }
        return unsafe whole.withUnsafeBufferPointer { unsafe give($0) }
    }

    /// Takes a whole frame that the gate keeps: its head, too, lies in `bytes`.
    private func take(_ frame: FrameHead, _ bytes: UnsafeBufferPointer<UInt8>, _ gate: HeaderBlockInterceptor)
        -> Int
    {
        let payload = unsafe UnsafeBufferPointer(rebasing: bytes[FrameHead.byteCount...])
        switch unsafe gate.take(frame, payload, into: &block) {
        case .nothing: return 0
        case .replaced(let isRead):
            isBlockRead = isRead
            defer { isBlockRead = false }
            return unsafe gate.replacement.withUnsafeBufferPointer { unsafe give($0) }
        case .violation:
            gate.isOpen = true
            let verdict = unsafe gate.replacement.withUnsafeBufferPointer { unsafe give($0) }
            return verdict < 0 ? verdict : unsafe give(bytes)
        case .failed(let error):
            failure = error
            return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue)
        }
    }
}
