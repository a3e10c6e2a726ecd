import PostriderHTTP2
import Testing

@Suite("Header blocks and bodies on closed streams") struct ClosedStreamTests {
    private let handler = Recorder()
    private let session: HTTP2Connection

    init() throws {
        session = HTTP2Connection(role: .server, settings: SessionSettings(), handler: handler)
        try session.receive(Frame.opening)
    }

    private func receive(_ stream: UInt32, flags: UInt8 = 5) throws {
        let frame = Frame(kind: .headers, flags: flags, stream: stream, payload: Frame.postBlock)
        try session.receive(frame.bytes)
    }

    private var goaways: [[UInt8]] {
        Frame.all(in: session.drained()).filter { $0.kind == .goaway }.map { Array($0.payload[4..<8]) }
    }

    @Test("after the request was ended and answered, or passed over, end the connection", arguments: [1, 3])
    func ended(_ stream: UInt32) throws {
        try receive(1)
        session.respond(1, [":status": "200"])
        try receive(5)
        #expect(goaways.isEmpty)
        try receive(stream)
        #expect(goaways == [[0, 0, 0, 5]])
        #expect(session.isFinished && session.failure != nil)
    }

    private func server(own: Bool) throws -> HTTP2Connection {
        var settings = SessionSettings()
        settings.readsHeaderBlocks = own
        let session = HTTP2Connection(role: .server, settings: settings, handler: handler)
        try session.receive(Frame.opening)
        return session
    }

    private func ends(_ session: HTTP2Connection) -> [[UInt8]] {
        Frame.all(in: session.drained()).filter { $0.kind == .goaway }.map { Array($0.payload[4..<8]) }
    }

    private static let begin = Frame(kind: .headers, flags: 4, stream: 1, payload: Frame.postBlock).bytes
    private static let whole = Frame(kind: .headers, flags: 5, stream: 1, payload: Frame.postBlock).bytes
    private static let reset = Frame(kind: .reset, stream: 1, payload: [0, 0, 0, 8]).bytes

    private static func data(_ stream: UInt32 = 1, flags: UInt8 = 0) -> [UInt8] {
        Frame(kind: .data, flags: flags, stream: stream, payload: [1, 2]).bytes
    }

    @Test(
        "DATA on a stream that was ended and answered, or reset by the peer, ends the connection",
        .bug(id: "R25"), arguments: [true, false], [1, 5, .max])
    func lateData(own: Bool, piece: Int) throws {
        let answered = try server(own: own)
        try answered.receive(Self.whole)
        answered.respond(1, [":status": "200"])
        #expect(ends(answered).isEmpty)
        try take(Self.data(), by: answered, piece)
        #expect(ends(answered) == [[0, 0, 0, 5]])
        #expect(answered.isFinished)
        for bytes in [
            Self.begin + Self.reset + Self.data(), Self.begin + Self.data() + Self.reset + Self.data(),
        ] {
            let session = try server(own: own)
            try take(bytes, by: session, piece)
            #expect(ends(session) == [[0, 0, 0, 5]])
        }
        // A stream whose number the peer skipped.
        let passed = try server(own: own)
        try take(
            Frame(kind: .headers, flags: 4, stream: 3, payload: Frame.postBlock).bytes + Self.data(),
            by: passed,
            piece)
        #expect(ends(passed) == [[0, 0, 0, 5]])
    }

    @Test(
        "DATA on a stream that we have reset is borne until the peer ends it", .bug(id: "R25"),
        arguments: [true, false])
    func dataUnderWay(own: Bool) throws {
        let session = try server(own: own)
        try session.receive(Self.begin)
        session.reset(1, errorCode: ErrorCode.enhanceYourCalm)
        #expect(ends(session).isEmpty)
        for _ in 0..<3 { try session.receive(Self.data()) }
        try session.receive(Self.data(flags: 1))
        #expect(ends(session).isEmpty && !session.isFinished)
        try session.receive(Self.data())
        #expect(ends(session) == [[0, 0, 0, 5]])
    }

    @Test(
        "DATA on one of hundreds of streams that were refused is borne, however old it is", .bug(id: "R25"),
        arguments: [true, false])
    func refusedData(own: Bool) throws {
        var settings = SessionSettings()
        settings.readsHeaderBlocks = own
        settings.maxConcurrentStreams = 1
        let session = HTTP2Connection(role: .server, settings: settings, handler: handler)
        let numbers = (0..<400).map { UInt32(2 * $0 + 1) }
        try session.receive(
            Frame.opening
                + numbers.flatMap {
                    Frame(kind: .headers, flags: 4, stream: $0, payload: Frame.postBlock).bytes
                })
        #expect(Frame.all(in: session.drained()).count { $0.kind == .reset } == 399)
        for number in numbers { try session.receive(Self.data(number, flags: 1)) }
        #expect(ends(session).isEmpty && !session.isFinished)
    }

    private func take(_ bytes: [UInt8], by session: HTTP2Connection, _ piece: Int) throws {
        for start in stride(from: 0, to: bytes.count, by: min(piece, bytes.count)) {
            try session.receive(Array(bytes[start..<min(start + min(piece, bytes.count), bytes.count)]))
        }
    }

    @Test("after the peer reset the stream end the connection")
    func resetByPeer() throws {
        try receive(1, flags: 4)
        try session.receive(Frame(kind: .reset, stream: 1, payload: [0, 0, 0, 8]).bytes)
        #expect(goaways.isEmpty)
        try receive(1)
        #expect(goaways == [[0, 0, 0, 5]])
    }

    @Test("after we reset the stream are borne once")
    func reset() throws {
        try receive(1, flags: 4)
        session.reset(1, errorCode: ErrorCode.enhanceYourCalm)
        #expect(goaways.isEmpty)
        try receive(1)
        #expect(goaways.isEmpty && !session.isFinished)
        try receive(3)
        #expect(handler.events.contains { $0.hasPrefix("head 3") })
        try receive(1)
        #expect(goaways == [[0, 0, 0, 5]])
    }

    @Test("above the limit of streams are borne once, and not at all where the request was whole")
    func refused() throws {
        for isWhole in [false, true] {
            var settings = SessionSettings()
            settings.maxConcurrentStreams = 1
            let session = HTTP2Connection(role: .server, settings: settings, handler: handler)
            let begin = { (stream: UInt32, flags: UInt8) in
                Frame(kind: .headers, flags: flags, stream: stream, payload: Frame.postBlock).bytes
            }
            let kinds = { Frame.all(in: session.drained()).map(\.kind) }
            try session.receive(Frame.opening + begin(1, 4) + begin(3, isWhole ? 5 : 4))
            #expect(kinds().last == .reset)
            if !isWhole {
                // Trailers that were sent before the peer knew that the request is no longer wanted.
                try session.receive(begin(3, 5))
                #expect(kinds().isEmpty && !session.isFinished)
            }
            try session.receive(begin(3, 5))
            #expect(kinds() == [.goaway])
            #expect(session.isFinished && session.failure != nil)
        }
    }

    @Test("after the stream of a malformed request was reset are borne once")
    func malformed() throws {
        try session.receive(Frame(kind: .headers, flags: 4, stream: 1, payload: [0x83]).bytes)
        #expect(Frame.all(in: session.drained()).map(\.kind).last == .reset)
        try receive(1)
        #expect(goaways.isEmpty && !session.isFinished)
        try receive(1)
        #expect(goaways == [[0, 0, 0, 5]])
    }
}
