/// The nine bytes before each frame (RFC 9113, section 4.1).
struct FrameHead: Equatable {
    enum Kind: UInt8 {
        case data, headers, priority, reset, settings, push, ping, goaway, windowUpdate, continuation
    }

    static let byteCount = 9
    /// The largest payload that we send. We receive no larger ones either: it is the initial SETTINGS_MAX_FRAME_SIZE.
    static let payloadBytes = 16_384
    static let acknowledgement: UInt8 = 0x1
    static let endStream: UInt8 = 0x1
    static let endHeaders: UInt8 = 0x4
    private static let padded: UInt8 = 0x8
    static let priority: UInt8 = 0x20
    private static let priorityBytes = 5

    /// Nil if the type is unknown: such a frame is ignored (section 4.1).
    let kind: Kind?
    let flags: UInt8
    let stream: Int32
    /// The length of the payload.
    let count: Int

    init(kind: Kind, flags: UInt8, stream: Int32, count: Int) {
        self.kind = kind
        self.flags = flags
        self.stream = stream
        self.count = count
    }

    /// Reads the head that begins at a place in these bytes; nil if it is not complete.
    init?(_ bytes: Span<UInt8>, at start: Int) {
        guard bytes.count - start >= Self.byteCount else { return nil }
        count = Int(bytes.bigEndianWord(at: start) >> 8)
        kind = Kind(rawValue: bytes[start + 3])
        flags = bytes[start + 4]
        stream = Int32(bytes.bigEndianWord(at: start + 5) & 0x7FFF_FFFF)
    }

    var isAcknowledgement: Bool { flags & Self.acknowledgement != 0 }
    var endsStream: Bool { flags & Self.endStream != 0 }
    var endsHeaders: Bool { flags & Self.endHeaders != 0 }
    var isPadded: Bool { flags & Self.padded != 0 }
    var hasPriority: Bool { kind == .headers && flags & Self.priority != 0 }

    /// The range of the content in the payload of DATA or HEADERS: without padding (RFC 9113, section 6.1) and priority
    /// (section 6.2). Nil if these are longer than the payload.
    func content(of payload: Span<UInt8>) -> Range<Int>? {
        var (start, end) = (0, payload.count)
        if isPadded {
            guard end > 0, Int(payload[0]) < end else { return nil }
            (start, end) = (1, end - Int(payload[0]))
        }
        if hasPriority { start += Self.priorityBytes }
        return start <= end ? start..<end : nil
    }

    /// Appends the nine bytes of a frame of our own.
    func write(to output: inout [UInt8]) {
        output.append(addingCapacity: Self.byteCount) { bytes in
            bytes.appendBigEndian(UInt32(count) << 8 | UInt32(kind?.rawValue ?? 0))
            bytes.append(flags)
            bytes.appendBigEndian(UInt32(stream))
        }
    }
}

extension Array where Element == UInt8 {
    /// Sets the length of the frame that begins at `start` so that it ends with these bytes.
    mutating func endFrame(from start: Int) {
        let bytes = count - start - FrameHead.byteCount
        for place in 0..<3 { self[start + place] = UInt8(truncatingIfNeeded: bytes >> (16 - 8 * place)) }
    }
}

extension Array where Element == UInt8 {
    /// Writes four bytes over others, most significant first.
    mutating func overwriteWord(at start: Int, with word: UInt32) {
        for place in 0..<4 { self[start + place] = UInt8(truncatingIfNeeded: word >> UInt32(24 - 8 * place)) }
    }

    /// Sets SETTINGS_MAX_CONCURRENT_STREAMS in the SETTINGS frame that begins at `start` (RFC 9113, section 6.5.1), if
    /// the frame has it: settings have an identifier of two bytes and a value of four.
    mutating func setMaxConcurrentStreams(_ count: UInt32, inFrameAt start: Int) {
        let head = FrameHead(span, at: start)
        guard let head, head.kind == .settings, !head.isAcknowledgement else {
            preconditionFailure("a frame of SETTINGS comes first")
        }
        let payload = start + FrameHead.byteCount
        for setting in stride(from: payload, to: payload + head.count, by: 6)
        where self[setting] == 0 && self[setting + 1] == 3 {
            overwriteWord(at: setting + 2, with: count)
        }
    }
}

extension UInt32 {
    /// The four bytes, most significant first.
    var bytes: [UInt8] { [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: self >> $0) } }
}

extension OutputSpan where Element == UInt8 {
    /// Appends four bytes, most significant first.
    fileprivate mutating func appendBigEndian(_ word: UInt32) {
        append(UInt8(truncatingIfNeeded: word >> 24))
        append(UInt8(truncatingIfNeeded: word >> 16))
        append(UInt8(truncatingIfNeeded: word >> 8))
        append(UInt8(truncatingIfNeeded: word))
    }
}

extension Span where Element == UInt8 {
    /// Reads four bytes, most significant first.
    func bigEndianWord(at start: Int) -> UInt32 {
        var word: UInt32 = 0
        for index in start..<start + 4 { word = word << 8 | UInt32(self[index]) }
        return word
    }
}
