/// Stands before the library of a server and tells its frames apart. It keeps header blocks from the library: it reads
/// them itself (``HPACKDecoder``) and gives the library a frame in place of each that has the same consequences. Every
/// other byte passes as it is. Without a decoder it keeps nothing.
///
/// A block in which the library would find nothing wrong becomes the smallest request there is; one that it has
/// to judge is spelled out for it, without tables and codes; one that cannot be read becomes one that it cannot read
/// either. So streams, windows, the rules of HTTP and what is said to those who break them stay the library's.
final class HeaderBlockInterceptor {
    /// What comes of a frame that the gate has kept.
    enum Outcome {
        /// Nothing yet: the block goes on.
        case nothing
        /// The library gets ``replacement``; `isRead`: the fields are in the session's block already.
        case replaced(isRead: Bool)
        /// The frame breaks the protocol in a way that the library finds out by itself: it gets ``replacement``, the
        /// frame, and all that follows.
        case violation
        /// The connection is over.
        case failed(SessionError)
    }

    /// What the library gets in place of the frame.
    private(set) var replacement: [UInt8] = []
    /// Bytes of a frame that passes, or of the preface, which are still to come.
    var passing = FloodAccounting.magicBytes
    /// The beginning of a frame of which the rest has not come.
    var partial: [UInt8] = []
    /// Whether all passes from now on.
    var isOpen = false

    /// Nil for sessions with another table than the usual, or with larger blocks than one frame holds.
    private var decoder: HPACKDecoder?
    /// The last stream that was begun with a frame of the input at hand, if nothing has come on it that may close it.
    var justBegun: Int32 = 0
    private let mostBytes: Int
    private let mostFrameBytes: Int
    /// The block that goes on in CONTINUATION frames: its first frame's head and priority, and its bytes so far.
    private var head: FrameHead?
    private var priority: [UInt8] = []
    private var collected: [UInt8] = []
    private var continuations = 0
    /// Whether the library knows the smallest request by numbers.
    private var isInTable = false
    /// The youngest stream whose first block has come: others on it are trailers.
    private var lastStream: Int32 = 0

    /// As many as the library is told to take.
    static let mostContinuations = 8
    /// `:method: POST`, `:path: /`, `:scheme: https` by number, `:authority: x` so that it gets one: nothing else
    /// enters the library's table, so that it stays the youngest there.
    private static let first: [UInt8] = [0x83, 0x84, 0x87, 0x41, 0x01, 0x78]
    /// The same afterwards.
    private static let smallest: [UInt8] = [0x83, 0x84, 0x87, 0xBE]
    /// A field of number 0, which there is none of.
    private static let unreadable: UInt8 = 0x80

    init(_ settings: SessionSettings) {
        if settings.readsHeaderBlocks, settings.headerTableSize == HPACKTable.usualSize,
            settings.maxHeaderListBytes <= FrameBuffer.payloadBytes / 2
        {
            decoder = HPACKDecoder(
                mostFields: settings.maxHeaderFields, mostBytes: settings.maxHeaderListBytes)
        }
        mostBytes = settings.maxHeaderListBytes
        mostFrameBytes = Int(settings.maxFrameSize)
    }

    /// Whether a frame is the gate's, and not to pass.
    func keeps(_ frame: FrameHead) -> Bool {
        if head != nil { return true }
        return frame.kind == .headers && decoder != nil
    }

    /// Whether it is not even worth waiting for.
    func isTooLong(_ frame: FrameHead) -> Bool { frame.count > mostFrameBytes }

    /// The head of the frame that has come in part; nil: not even that is complete.
    var partialHead: FrameHead? {
        let partial = partial
        return FrameHead(partial.span, at: 0)
    }

    /// Keeps the beginning of a frame, up to its end, or up to the end of its head: how many bytes these are.
    func keepPart(of bytes: UnsafeBufferPointer<UInt8>) -> Int {
        let whole = partialHead.map { FrameHead.byteCount + $0.count }
        let step = min((whole ?? FrameHead.byteCount) - partial.count, bytes.count)
        unsafe partial.append(contentsOf: bytes[..<step])
        return step
    }

    /// Takes a complete frame that it keeps.
    func take(
        _ frame: FrameHead, _ payload: UnsafeBufferPointer<UInt8>, into block: inout HeaderBlock
    ) -> Outcome {
        if let head {
            guard frame.kind == .continuation, frame.stream == head.stream else { return breakOff(head) }
            continuations += 1
            guard continuations <= Self.mostContinuations else { return .failed(.flooded) }
            unsafe collected.append(contentsOf: payload)
            // A code of 30 bits for each byte is the longest.
            guard collected.count <= 4 * mostBytes else { return .failed(.headerListTooLarge) }
            guard frame.endsHeaders else { return .nothing }
            self.head = nil
            let whole = collected
            collected = []
            return unsafe whole.withUnsafeBufferPointer { unsafe replace(head, $0, into: &block) }
        }
        replacement.removeAll(keepingCapacity: true)
        guard frame.stream > 0, let range = unsafe frame.content(of: payload.span) else { return .violation }
        let content = unsafe UnsafeBufferPointer(rebasing: payload[range])
        priority.removeAll(keepingCapacity: true)
        if frame.hasPriority {
            // Behind the length of the padding, where there is one.
            let start = frame.isPadded ? 1 : 0
            unsafe priority.append(contentsOf: payload[start..<range.lowerBound])
        }
        guard frame.endsHeaders else {
            self.head = frame
            collected = unsafe Array(content)
            continuations = 0
            return .nothing
        }
        return unsafe replace(frame, content, into: &block)
    }

    /// Reads a block and makes the frame that the library gets.
    private func replace(
        _ head: FrameHead, _ bytes: UnsafeBufferPointer<UInt8>, into block: inout HeaderBlock
    ) -> Outcome {
        let isFirst = head.stream > lastStream
        if isFirst { lastStream = head.stream }
        guard let verdict = unsafe decoder?.read(bytes, into: &block) else { return .violation }
        switch verdict {
        case .plain where isFirst:
            justBegun = head.stream
            beginFrame(head)
            replacement.append(contentsOf: isInTable ? Self.smallest : Self.first)
            isInTable = true
            if let range = decoder?.contentLength {
                // A literal that enters no table, whose name is number 28.
                replacement.append(0x0F)
                replacement.append(0x0D)
                replacement.append(UInt8(range.count))
                unsafe block.bytes.withBytes(range) { unsafe replacement.append(contentsOf: $0) }
            }
            replacement.endFrame(from: 0)
            return .replaced(isRead: true)
        case .plain, .doubtful:
            beginFrame(head)
            block.forEach { name, value in replacement.append(spelling: name, value) }
            replacement.endFrame(from: 0)
            return .replaced(isRead: false)
        case .broken:
            beginFrame(head)
            replacement.append(Self.unreadable)
            replacement.endFrame(from: 0)
            return .replaced(isRead: false)
        case .tooManyFields: return .failed(.tooManyHeaderFields)
        case .tooLarge: return .failed(.headerListTooLarge)
        }
    }

    /// Begins the frame that the library gets: what was around the block, but for padding.
    private func beginFrame(_ head: FrameHead) {
        replacement.removeAll(keepingCapacity: true)
        let flags = FrameHead.endHeaders | head.flags & (FrameHead.endStream | FrameHead.priority)
        FrameHead(kind: .headers, flags: flags, stream: head.stream, count: 0).write(to: &replacement)
        if !priority.isEmpty { replacement.append(contentsOf: priority) }
    }

    /// Something else comes in the middle of a block. The library is told of a block without end first.
    private func breakOff(_ head: FrameHead) -> Outcome {
        beginFrame(head)
        replacement.endFrame(from: 0)
        replacement[4] &= ~FrameHead.endHeaders
        return .violation
    }
}
