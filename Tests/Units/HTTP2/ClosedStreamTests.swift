import HTTP2
import Testing

@Suite("Header blocks on closed streams") struct ClosedStreamTests {
    private let handler = Recorder()
    private let session: Session

    init() throws {
        session = Session(role: .server, settings: SessionSettings(), handler: handler)
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
            let session = Session(role: .server, settings: settings, handler: handler)
            let begin = { (stream: UInt32, flags: UInt8) in
                Frame(kind: .headers, flags: flags, stream: stream, payload: Frame.postBlock).bytes
            }
            let kinds = { Frame.all(in: session.drained()).map(\.kind) }
            try session.receive(Frame.opening + begin(1, 4) + begin(3, isWhole ? 5 : 4))
            #expect(kinds().last == .reset)
            if !isWhole {
                // Trailers, sent before the peer learned that nobody wants the request.
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
