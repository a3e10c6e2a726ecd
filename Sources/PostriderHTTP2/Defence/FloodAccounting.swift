/// Counts a peer's frames by their heads (RFC 9113, section 4.1). It knows whether the peer's preface is complete,
/// whether a header block is open, how many requests the peer made, and how many frames without content it sent.
///
/// nghttp2 reports only complete and valid frames. These counts include the others: frames of unknown types, header
/// blocks of refused streams, frames that never end.
struct FloodAccounting {
    /// Whether the peer's preface and its first frame are complete.
    private(set) var hasPreface = false
    /// Whether a header block has begun and not ended, CONTINUATION included.
    private(set) var isInsideHeaderBlock = false
    /// HEADERS frames that have begun.
    private(set) var headerBlocks = 0
    /// Frames without content, minus the credit of frames with content.
    private(set) var emptyFrames = 0

    /// Bytes of the preface or of a payload that have not arrived.
    private var rest: Int
    private var headBytes = 0
    private var length = 0
    private var kind: UInt8 = 0
    private var flags: UInt8 = 0

    /// The length of the string that begins a client's connection preface (RFC 9113, section 3.4).
    static let magicBytes = 24
    /// How many frames without content one frame with content offsets.
    private static let worth = 100

    /// Counts the frames that arrive at an end of this role.
    init(role: HTTP2Connection.Role) {
        rest = role == .server ? Self.magicBytes : 0
    }

    /// Counts the frames in the next bytes. Returns false if the peer has sent more than `mostEmptyFrames` without
    /// content.
    mutating func advance(over bytes: Span<UInt8>, mostEmptyFrames: Int) -> Bool {
        var next = 0
        while next < bytes.count {
            if rest > 0 {
                let step = min(rest, bytes.count - next)
                next += step
                rest -= step
                if rest == 0 { endPayload() }
            } else {
                if headBytes == 0, bytes.count - next >= FrameHead.byteCount {
                    length = Int(bytes.bigEndianWord(at: next) >> 8)
                    kind = bytes[next + 3]
                    flags = bytes[next + 4]
                    next += FrameHead.byteCount
                    beginPayload()
                } else {
                    takeHead(bytes[next])
                    next += 1
                }
                if emptyFrames > mostEmptyFrames { return false }
            }
        }
        return true
    }

    /// Whether all bytes so far belong to complete frames.
    var isBetweenFrames: Bool { hasPreface && rest == 0 && headBytes == 0 && !isInsideHeaderBlock }

    /// Sets the count of frames without content to zero.
    mutating func forgiveEmptyFrames() { emptyFrames = 0 }

    /// Allows the peer one frame without content, because we asked for it: such as the acknowledgement of a PING.
    mutating func expectEmptyFrame() { emptyFrames -= 1 }

    /// Counts a frame with content, received or sent: it offsets frames without content.
    mutating func countUsefulFrame() { emptyFrames = max(min(emptyFrames, 0), emptyFrames - Self.worth) }

    private mutating func takeHead(_ byte: UInt8) {
        switch headBytes {
        case 0...2: length = length << 8 | Int(byte)
        case 3: kind = byte
        case 4: flags = byte
        default: break
        }
        headBytes += 1
        if headBytes == FrameHead.byteCount { beginPayload() }
    }

    private mutating func beginPayload() {
        headBytes = 0
        switch FrameHead.Kind(rawValue: kind) {
        case .headers:
            headerBlocks += 1
            isInsideHeaderBlock = true
            countUsefulFrame()
        case .data where length > 0 || flags & FrameHead.endStream != 0: countUsefulFrame()
        case .continuation where length > 0: break
        default: emptyFrames += 1
        }
        rest = length
        length = 0
        if rest == 0 { endPayload() }
    }

    private mutating func endPayload() {
        // The preface's string is not a frame, so no kind was read yet; the first frame is SETTINGS.
        let kind = FrameHead.Kind(rawValue: kind)
        guard hasPreface || kind != .data else { return }
        hasPreface = true
        if kind == .headers || kind == .continuation, flags & FrameHead.endHeaders != 0 {
            isInsideHeaderBlock = false
        }
    }
}
