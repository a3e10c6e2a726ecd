/// Decodes the header blocks of a server's requests in place of nghttp2 (``HPACKDecoder``), and gives nghttp2 a
/// replacement frame that has the same consequences.
///
/// A block in which nghttp2 would find nothing wrong is replaced by the smallest possible request. A block that nghttp2
/// has to check is rewritten as literals, without tables and Huffman codes. A block that cannot be decoded is replaced
/// by one that nghttp2 cannot decode either. So nghttp2 still enforces streams, windows, the rules of HTTP, and the
/// errors for peers that break them.
final class HeaderBlockInterceptor {
    /// What became of a frame.
    enum Outcome {
        /// Nothing yet: the block goes on in another frame.
        case nothing
        /// nghttp2 gets ``replacement``. If `isDecoded`, the connection's block has the fields already.
        case replaced(isDecoded: Bool)
        /// The frame breaks the protocol in a way that nghttp2 notices itself: it gets ``replacement``, then this frame
        /// and all others unchanged.
        case violation
        /// The connection has failed.
        case failed(SessionError)
    }

    /// A block that goes on in CONTINUATION frames (RFC 9113, section 6.10).
    private struct OpenBlock {
        /// The head of its HEADERS frame.
        let head: FrameHead
        var bytes: [UInt8]
        var continuations = 0
    }

    /// The bytes that nghttp2 gets in place of the frame.
    private(set) var replacement: [UInt8] = []
    /// Nil if nghttp2 decodes header blocks. It does if the settings say so, if the connection's header table does not
    /// have the initial size, and if a block written out as literals may not fit into one frame.
    private var decoder: HPACKDecoder?
    private let maxBytes: Int
    private var open: OpenBlock?
    /// The priority fields of the block's HEADERS frame (section 6.2).
    private var priority: [UInt8] = []
    /// Whether nghttp2's table has the `:authority` of the smallest request.
    private var isInTable = false
    /// Whether this side has changed the size of the header table, so that nghttp2's may be too small for that.
    private var hasChangedTable = false
    /// The youngest stream whose first block has arrived: later blocks on it are trailers.
    private var lastStream: Int32 = 0

    /// The same bound that nghttp2 is given (CVE-2024-28182).
    static let mostContinuations = 8
    /// `:method: POST`, `:path: /`, `:scheme: https` from the static table, and `:authority: x` as a literal with
    /// indexing: nothing else enters nghttp2's table, so that it stays the youngest entry there.
    private static let first: [UInt8] = [0x83, 0x84, 0x87, 0x41, 0x01, 0x78]
    /// The smallest request once its `:authority` is in nghttp2's table.
    private static let smallest: [UInt8] = [0x83, 0x84, 0x87, 0xBE]
    /// The size of that entry (RFC 7541, section 4.1).
    private static let entryBytes = ":authority".utf8.count + "x".utf8.count + 32
    /// An indexed field with index 0, which is a decoding error (RFC 7541, section 6.1).
    private static let undecodable: UInt8 = 0x80

    /// - Parameter decodes: whether to decode header blocks, if the settings allow it.
    init(_ settings: SessionSettings, decodes: Bool) {
        maxBytes = settings.maxHeaderListBytes
        guard decodes, settings.headerTableSize == HPACKTable.initialSize,
            settings.maxHeaderListBytes <= FrameHead.payloadBytes / 2
        else { return }
        decoder = HPACKDecoder(maxFields: settings.maxHeaderFields, maxBytes: settings.maxHeaderListBytes)
    }

    /// Whether a frame is to be given to ``take(_:_:into:)`` and not to nghttp2.
    func intercepts(_ frame: FrameHead) -> Bool {
        open != nil || frame.kind == .headers && decoder != nil
    }

    /// The size of nghttp2's table may change: it may not keep the `:authority`.
    func headerTableChanges() {
        hasChangedTable = true
        isInTable = false
    }

    /// Takes a complete frame.
    func take(
        _ frame: FrameHead, _ payload: UnsafeBufferPointer<UInt8>, into block: inout HeaderBlock
    ) -> Outcome {
        if open != nil { return unsafe goOn(frame, payload, into: &block) }
        replacement.removeAll(keepingCapacity: true)
        guard frame.stream > 0, let range = unsafe frame.content(of: payload.span) else { return .violation }
        let content = unsafe UnsafeBufferPointer(rebasing: payload[range])
        priority.removeAll(keepingCapacity: true)
        if frame.hasPriority {
            // The length of the padding comes first, if there is padding.
            let start = frame.isPadded ? 1 : 0
            unsafe priority.append(contentsOf: payload[start..<range.lowerBound])
        }
        guard frame.endsHeaders else {
            open = unsafe OpenBlock(head: frame, bytes: Array(content))
            return .nothing
        }
        return unsafe replace(frame, content, into: &block)
    }

    /// Takes a frame that comes after HEADERS without END_HEADERS.
    private func goOn(
        _ frame: FrameHead, _ payload: UnsafeBufferPointer<UInt8>, into block: inout HeaderBlock
    ) -> Outcome {
        guard var goingOn = open.take() else { return .violation }
        guard frame.kind == .continuation, frame.stream == goingOn.head.stream else {
            return breakOff(goingOn.head)
        }
        goingOn.continuations += 1
        guard goingOn.continuations <= Self.mostContinuations else { return .failed(.flooded) }
        unsafe goingOn.bytes.append(contentsOf: payload)
        // The longest Huffman code has 30 bits for a byte.
        guard goingOn.bytes.count <= 4 * maxBytes else { return .failed(.headerListTooLarge) }
        guard frame.endsHeaders else {
            open = goingOn
            return .nothing
        }
        return unsafe goingOn.bytes.withUnsafeBufferPointer {
            unsafe replace(goingOn.head, $0, into: &block)
        }
    }

    /// Decodes a block and makes the frame that nghttp2 gets.
    private func replace(
        _ head: FrameHead, _ bytes: UnsafeBufferPointer<UInt8>, into block: inout HeaderBlock
    ) -> Outcome {
        let isFirst = head.stream > lastStream
        if isFirst { lastStream = head.stream }
        guard let verdict = unsafe decoder?.read(bytes, into: &block) else { return .violation }
        switch verdict {
        case .plain where isFirst:
            beginFrame(head)
            unsafe passSizeUpdates(of: bytes)
            replacement.append(contentsOf: isInTable ? Self.smallest : Self.first)
            isInTable = !hasChangedTable && (decoder?.tableSize ?? 0) >= Self.entryBytes
            if let range = decoder?.contentLength {
                // A literal without indexing, whose name is entry 28 of the static table (`content-length`).
                replacement.append(0x0F)
                replacement.append(0x0D)
                replacement.append(UInt8(range.count))
                unsafe block.bytes.withBytes(range) { unsafe replacement.append(contentsOf: $0) }
            }
            replacement.endFrame(from: 0)
            return .replaced(isDecoded: true)
        case .plain, .doubtful:
            beginFrame(head)
            unsafe passSizeUpdates(of: bytes)
            block.forEach { name, value in replacement.append(literal: name, value) }
            replacement.endFrame(from: 0)
            return .replaced(isDecoded: false)
        case .broken:
            beginFrame(head)
            replacement.append(Self.undecodable)
            replacement.endFrame(from: 0)
            return .replaced(isDecoded: false)
        case .tooManyFields: return .failed(.tooManyHeaderFields)
        case .tooLarge: return .failed(.headerListTooLarge)
        }
    }

    /// nghttp2 gets the table size updates of blocks, because it has to know whether another one is due after a change
    /// of SETTINGS (RFC 7541, section 4.2). They may have removed the `:authority` from its table.
    private func passSizeUpdates(of block: UnsafeBufferPointer<UInt8>) {
        guard let count = decoder?.sizeUpdateBytes, count > 0 else { return }
        isInTable = false
        unsafe replacement.append(contentsOf: block[..<count])
    }

    /// Begins the frame that nghttp2 gets, with the original's head and priority but without its padding.
    private func beginFrame(_ head: FrameHead) {
        replacement.removeAll(keepingCapacity: true)
        let flags = FrameHead.endHeaders | head.flags & (FrameHead.endStream | FrameHead.priority)
        FrameHead(kind: .headers, flags: flags, stream: head.stream, count: 0).write(to: &replacement)
        if !priority.isEmpty { replacement.append(contentsOf: priority) }
    }

    /// Prepares for giving nghttp2 this frame and all later ones unchanged. Returns true if a header block is open:
    /// nghttp2 gets ``replacement`` first.
    func breaksOff(before frame: FrameHead) -> Bool {
        guard let head = open?.head, frame.kind != .continuation || frame.stream != head.stream else {
            return false
        }
        _ = breakOff(head)
        return true
    }

    /// Another frame interrupts a header block. nghttp2 first gets HEADERS without END_HEADERS, so that it notices.
    private func breakOff(_ head: FrameHead) -> Outcome {
        beginFrame(head)
        replacement.endFrame(from: 0)
        replacement[4] &= ~FrameHead.endHeaders
        return .violation
    }
}
