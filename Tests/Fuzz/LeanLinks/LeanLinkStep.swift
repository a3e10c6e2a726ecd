import PostriderHTTP2

/// One step of a link's peer or owner: four bytes of a fuzzer's input. Header blocks are always valid, because a lean
/// session does not decode them.
struct LeanLinkStep: CustomStringConvertible {
    enum Deed {
        /// Frames arrive, at once or together with the frames of the next step.
        case frames([UInt8], waits: Bool)
        /// The owner of the session acts.
        case verb((LeanLinkEnd) -> Void)
    }

    private let kind: UInt8
    private let (first, second, third): (UInt8, UInt8, UInt8)

    /// A complete POST: entries of HPACK's static table, and `:authority: x` as a literal.
    static let request: [UInt8] = [0x83, 0x84, 0x87, 0x01, 0x01, 0x78]
    /// Increments of windows, values of settings, error codes.
    private static let words: [UInt32] = [
        0, 1, 2, 100, 1000, 16_384, 65_535, 70_000, 1 << 24, 0x7FFF_0000, 0x7FFF_FFFF, 0x8000_0001, .max,
    ]

    init(_ kind: UInt8, _ first: UInt8, _ second: UInt8, _ third: UInt8) {
        self.kind = kind
        (self.first, self.second, self.third) = (first, second, third)
    }

    var description: String { "step \(kind & 0x1F) \(first) \(second) \(third)" }

    /// Whether the owner acts.
    var isVerb: Bool { if case .verb = deed { true } else { false } }

    /// Makes the bytes of a frame.
    static func frame(
        _ kind: UInt8, flags: UInt8 = 0, stream: UInt32 = 0, payload: [UInt8] = [], claims count: Int? = nil
    ) -> [UInt8] {
        let count = count ?? payload.count
        let head = [UInt8(count >> 16 & 255), UInt8(count >> 8 & 255), UInt8(count & 255), kind, flags]
        return head + word(stream) + payload
    }

    /// Makes an entry of SETTINGS.
    static func setting(_ identifier: UInt16, _ value: UInt32) -> [UInt8] {
        [UInt8(identifier >> 8), UInt8(identifier & 255)] + word(value)
    }

    private static func word(_ value: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }

    var deed: Deed {
        let waits = kind & 0x80 != 0
        switch kind & 0x1F {
        case 0...11: return .frames(data, waits: waits)
        case 12, 13:
            return .frames(Self.frame(8, stream: stream, payload: short(Self.word(value))), waits: waits)
        case 14, 15: return .frames(settings, waits: waits)
        case 16:
            let payload = short([first, second, third, 4, 5, 6, 7, 8])
            return .frames(
                Self.frame(6, flags: second & 1, stream: rarely(1), payload: payload), waits: waits)
        case 17: return .frames(Self.frame(3, stream: stream, payload: short(Self.word(value))), waits: waits)
        case 18, 19: return .frames(headers, waits: waits)
        case 20:
            let payload = short(Self.word(0) + Self.word(value) + (first > 9 ? [first] : []))
            return .frames(Self.frame(7, stream: rarely(1), payload: payload), waits: waits)
        case 21: return .frames(Self.frame(2, stream: stream, payload: short([0, 0, 0, 0, 1])), waits: waits)
        case 22: return .frames(odd, waits: waits)
        default: return .verb(verb)
        }
    }

    /// A length from 0 to 16,384; small numbers are more frequent.
    private var length: Int { first < 192 ? Int(first) : (Int(first) - 191) * 256 }
    private var value: UInt32 { first < 240 ? Self.words[Int(first) % Self.words.count] : UInt32(first) * 40 }
    /// The number of a stream, usually the link's.
    private var stream: UInt32 { second < 176 ? 1 : [0, 2, 3, 5, 7, 9, 11, 1001][Int(second) % 8] }

    private func rarely(_ value: UInt32) -> UInt32 { third > 250 ? value : 0 }

    /// Returns the payload, sometimes without its last byte.
    private func short(_ payload: [UInt8]) -> [UInt8] { third == 249 ? Array(payload.dropLast()) : payload }

    private var data: [UInt8] {
        let stream = kind & 0x1F < 9 ? 1 : stream
        let body = (0..<length).map { UInt8(truncatingIfNeeded: $0 + Int(second)) }
        var flags: UInt8 = third > 240 ? 1 : 0
        guard stream == 1, third & 7 == 3 else {
            return Self.frame(0, flags: flags, stream: stream, payload: body)
        }
        flags |= 8
        // Padding that is longer than the frame is a violation. nghttp2 returns the window for padding before it
        // looks at the content; the frames here are smaller than any window.
        let content = body.prefix(300)
        return Self.frame(0, flags: flags, stream: stream, payload: [second] + content)
    }

    private var settings: [UInt8] {
        if third == 248 { return Self.frame(4, flags: 1, payload: short([])) }
        var entries: [UInt8] = []
        for index in 0..<Int(third) % 4 {
            // The setting that must not change after the first frame (9) is left out, because nghttp2 checks that.
            let identifier = (Int(second) + index * 3) % 9
            entries += Self.setting(
                UInt16(identifier), Self.words[(Int(first) + index * 5) % Self.words.count])
        }
        return Self.frame(4, stream: rarely(1), payload: entries + (third == 249 ? [0] : []))
    }

    private var headers: [UInt8] {
        let isOwn = stream == 1
        // The session has announced an empty table, and the block confirms that (RFC 7541, section 4.2).
        let block = [0x20] + (isOwn ? [] : Self.request)
        var flags: UInt8 = third & 1
        var before: [UInt8] = []
        var behind: [UInt8] = []
        if third & 0x10 != 0 {
            flags |= 8
            before = [third == 0xFF ? 200 : third >> 6]
            behind = [UInt8](repeating: 0, count: Int(third >> 6))
        }
        if third & 0x08 != 0 {
            flags |= 0x20
            before += [0, 0, 0, 0, 7]
        }
        guard third & 0x06 == 0x06 else {
            return Self.frame(1, flags: flags | 4, stream: stream, payload: before + block + behind)
        }
        let half = block.count / 2
        let next = third & 0x20 != 0 ? stream : stream + UInt32(first & 2)
        return Self.frame(1, flags: flags, stream: stream, payload: before + block[..<half] + behind)
            + Self.frame(9, flags: 4, stream: next, payload: Array(block[half...]))
    }

    /// Frames that no peer should send.
    private var odd: [UInt8] {
        switch first % 5 {
        case 0: Self.frame(5, flags: 4, stream: stream, payload: [0, 0, 0, 2] + Self.request)
        case 1: Self.frame(9, flags: 4, stream: stream, payload: Self.request)
        case 2: Self.frame(third & 3, stream: 1, payload: [UInt8](repeating: 0, count: 16_385))
        default: Self.frame(32 + (third & 63), flags: second, stream: stream, payload: [first, second])
        }
    }

    private func verb(_ end: LeanLinkEnd) {
        let bytes = (0..<length * 4).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ Int(third)) }
        switch kind & 0x1F {
        // It would be the owner's mistake to send after the end.
        case 23...26 where !end.hasFinished: end.session.send(1, bytes.span)
        case 27 where !end.hasFinished: end.session.send(1, shared: bytes)
        case 28: end.session.ping()
        case 29 where second > 128: end.finish(trailers: ["grpc-status": "0"])
        case 29 where second > 100: end.finish(trailers: nil)
        case 30 where second > 220: end.session.reset(1, errorCode: UInt32(first))
        default: end.session.forgiveEmptyFrames()
        }
    }
}
