import PostriderHTTP2

/// Gives a peer's frames to a lean session and to one that uses nghttp2: both must send and report the same.
///
/// The input is a list of steps of four bytes, whose first byte is the kind (``LeanLinkStep``). The first byte of the
/// input is the mode: its low six bits are the size of the pieces in which frames arrive, with 0 for complete frames;
/// 0x40 makes the windows of both ends small.
enum LeanLinks {
    static func run(_ input: [UInt8]) throws(Contradiction) {
        guard let mode = input.first else { return }
        let isNarrow = mode & 0x40 != 0
        let plain = LeanLinkEnd(isLean: false, isNarrow: isNarrow)
        let lean = LeanLinkEnd(isLean: true, isNarrow: isNarrow)
        try hold(lean.session.isLean && !plain.session.isLean, "one of both is lean")
        let size = Int(mode & 0x3F)
        var held: [[UInt8]] = []
        var steps: [LeanLinkStep] = []
        // Whether everything has arrived in complete frames, one at a time.
        var isSingle = size == 0
        for start in stride(from: 1, to: input.count - 3, by: 4) {
            let step = LeanLinkStep(input[start], input[start + 1], input[start + 2], input[start + 3])
            steps.append(step)
            switch step.deed {
            case .frames(let bytes, let waits):
                held.append(bytes)
                guard !waits else { continue }
                if held.count > 1 { isSingle = false }
                let all = held.flatMap(\.self)
                for end in [plain, lean] { end.receive(all, piece: size == 0 ? all.count : size) }
            case .verb(let act):
                for end in [plain, lean] { act(end) }
            }
            if try !agree(plain, lean, steps, isSingle: isSingle) { return }
            if !step.isVerb { (held, steps) = ([], []) }
        }
    }

    /// Compares what both have sent and reported since the last comparison. Returns false if the connection is over.
    private static func agree(
        _ plain: LeanLinkEnd, _ lean: LeanLinkEnd, _ steps: [LeanLinkStep], isSingle: Bool
    ) throws(Contradiction) -> Bool {
        plain.drain()
        lean.drain()
        let end = plain.goaway
        if isElsewhere(lean, plain) { return false }
        // After several violations at once, either may be reported, and one frame may contain several.
        // LeanViolationTests checks the report of each one alone.
        if end != nil, lean.goaway != nil { return false }
        // Nothing is compared after the end.
        guard !plain.session.isFinished || end != nil else {
            try hold(lean.session.isFinished, "\(steps): only one is finished")
            return false
        }
        try hold(
            lean.goaway == end,
            "\(steps): GOAWAY \(lean.goaway ?? []) instead of \(end ?? []), \(plain.events)")
        try hold(lean.events == plain.events, "\(steps): \(lean.events) instead of \(plain.events)")
        guard end == nil else { return false }
        // nghttp2 discards pending frames of a closed stream, and returns windows at a later time.
        let comparesWindows = isSingle && plain.session.streamCount > 0
        for kind in 0...9 as ClosedRange<UInt8> where kind != 8 || comparesWindows {
            let (ours, theirs) = (lean.said(kind), plain.said(kind))
            try hold(ours == theirs, "\(steps): frames of kind \(kind), \(ours) instead of \(theirs)")
        }
        try hold(lean.session.isFinished == plain.session.isFinished, "\(steps): only one is finished")
        plain.forget()
        lean.forget()
        return true
    }

    /// Whether the two have reached a point at which they may differ.
    private static func isElsewhere(_ lean: LeanLinkEnd, _ plain: LeanLinkEnd) -> Bool {
        // nghttp2 ignores frames on a stream that both ends have closed; RFC 9113, section 5.1, does not.
        if plain.hasClosed { return lean.hasClosed || lean.goaway != nil }
        // The same holds after a reset.
        if plain.wasReset, lean.goaway == [0, 0, 0, 5] { return true }
        // nghttp2 keeps the end of a body, which needs no window, until there is a window.
        if lean.hasSaidEnd, !plain.hasSaidEnd { return plain.goaway == nil || lean.goaway != nil }
        // nghttp2 reads frames on a refused stream until its refusal is sent; a lean session ignores them at once.
        if plain.hasRefused, [plain.goaway, lean.goaway].contains([0, 0, 0, 5]) { return true }
        if plain.isRefusing, lean.goaway == nil, plain.goaway == [0, 0, 0, 1] { return true }
        // nghttp2 counts each piece of a CONTINUATION's head as another frame, of which it permits few.
        if plain.goaway == [0, 0, 0, 11] { return true }
        // nghttp2 compares windows with pieces of frames and with what it has sent, a lean session with frames and
        // with what it is about to send. And nghttp2 resets the stream where a lean session ends the connection
        // (section 5.4 allows both).
        let (overflow, malformed) = ([0, 0, 0, 3] as [UInt8], [0, 0, 0, 1] as [UInt8])
        if [lean.goaway, plain.goaway, plain.reset(of: 1)].contains(overflow) { return true }
        return lean.goaway == malformed && plain.reset(of: 1) == malformed
    }
}

/// One session with one stream on which both ends continue to send.
final class LeanLinkEnd: SessionHandler {
    private(set) lazy var session = HTTP2Connection(role: .server, settings: settings, handler: self)
    private let settings: SessionSettings
    /// Whether the owner has sent everything on the stream.
    private(set) var hasFinished = false
    private(set) var events: [String] = []
    private var output: [UInt8] = []
    private var frames: [(kind: UInt8, flags: UInt8, stream: [UInt8], payload: [UInt8])] = []
    private var bodyBytes: [UInt8] = []
    /// The error code of the last GOAWAY. The streams in it differ, because a lean session has seen only one.
    private(set) var goaway: [UInt8]?

    init(isLean: Bool, isNarrow: Bool) {
        var settings = SessionSettings()
        settings.encoderTableSize = 0
        settings.connectionWindowSize = 65_535
        if isNarrow { settings.initialWindowSize = 1000 }
        self.settings = settings
        let first = isNarrow ? LeanLinkStep.setting(4, 300) : []
        receive(
            Connections.preface + LeanLinkStep.frame(4, payload: first)
                + LeanLinkStep.frame(1, flags: 4, stream: 1, payload: LeanLinkStep.request), piece: .max)
        drain()
        if isLean { session.becomeLeanWhenQuiet() }
        receive(LeanLinkStep.frame(4, flags: 1), piece: .max)
        forget()
    }

    /// Gives the session these bytes, in pieces.
    func receive(_ bytes: [UInt8], piece: Int) {
        for start in stride(from: 0, to: bytes.count, by: max(1, piece)) {
            let end = min(start + min(piece, bytes.count), bytes.count)
            do { try session.receive(bytes.span.extracting(start..<end)) } catch { return }
        }
    }

    /// Whether both ends have closed the stream.
    private(set) var hasClosed = false
    /// Whether the stream was reset.
    private(set) var wasReset = false
    /// Whether the end of the body was sent.
    private(set) var hasSaidEnd = false
    /// Whether a stream was refused.
    private(set) var hasRefused = false
    /// Whether a stream was refused since the last comparison.
    private(set) var isRefusing = false

    /// Ends the session's side of the stream.
    func finish(trailers: HeaderBlock?) {
        hasFinished = true
        session.finish(1, trailers: trailers)
    }

    /// Sends everything that can be sent now.
    func drain() {
        while session.wantsToSend {
            let before = output.count
            session.drain(into: &output)
            if output.count == before { break }
        }
        var rest = output[...]
        while rest.count >= 9 {
            let head = Array(rest.prefix(9))
            let count = head[..<3].reduce(0) { $0 << 8 | Int($1) }
            let payload = Array(rest.dropFirst(9).prefix(count))
            rest = rest.dropFirst(9 + count)
            if head[3] < 2, head[4] & 1 != 0 { hasSaidEnd = true }
            if head[3] == 7 { goaway = Array(payload[4..<8]) }
            frames.append((head[3], head[4], Array(head[5...]), payload))
        }
        output = []
    }

    /// Returns the contents of the sent frames of a kind, independent of their division into frames.
    func said(_ kind: UInt8) -> [[UInt8]] {
        let those = frames.filter { $0.kind == kind }
        switch kind {
        case 0: return [those.flatMap(\.payload), those.filter { $0.flags & 1 != 0 }.flatMap(\.stream)]
        // nghttp2 compresses trailers where it can.
        case 1: return those.map { [$0.flags] + $0.stream }
        default: return those.map { [$0.flags] + $0.stream + $0.payload }
        }
    }

    /// Returns the error code with which a stream was reset.
    func reset(of stream: UInt8) -> [UInt8]? {
        frames.last { $0.kind == 3 && $0.stream == [0, 0, 0, stream] }?.payload
    }

    /// Forgets what was sent and reported so far.
    func forget() {
        frames = []
        events = []
        isRefusing = false
    }

    // MARK: SessionHandler

    func headers(_ stream: Int32, _ block: inout HeaderBlock, kind: BlockKind, endStream: Bool) {
        guard kind == .head else { return }
        // A lean session does this by itself.
        if stream == 1 {
            session.openResponse(stream, [":status": "200"])
        } else {
            (hasRefused, isRefusing) = (true, true)
            session.reset(stream, errorCode: ErrorCode.refusedStream)
        }
    }

    func data(_ stream: Int32, _ bytes: Span<UInt8>) {
        guard stream == 1 else { return }
        if events.last != "data" { events.append("data") }
        for index in bytes.indices { bodyBytes.append(bytes[index]) }
    }

    func ended(_ stream: Int32) { note(stream, "ended") }

    func closed(_ stream: Int32, errorCode: UInt32) {
        if stream == 1, errorCode == ErrorCode.noError {
            hasClosed = true
        } else if stream == 1 {
            wasReset = true
        }
        note(stream, "closed \(errorCode)")
    }

    func writable(_ stream: Int32) { note(stream, "writable") }

    func goawayReceived(lastStream: Int32, errorCode: UInt32, debug: [UInt8]) {
        events.append("goaway \(lastStream) \(errorCode) \(debug)")
    }

    func pingAcknowledged() { events.append("pong") }

    func settingsReceived(maxConcurrentStreams: UInt32) { events.append("settings \(maxConcurrentStreams)") }

    private func note(_ stream: Int32, _ event: String) {
        if stream == 1 { events.append("\(event) after \(bodyBytes.count) bytes: \(bodyBytes.suffix(8))") }
    }
}
