import PostriderHTTP2
import Testing

@Suite struct TimeoutsTests {
    private let handler = Recorder()
    private static let acknowledgement = Frame(kind: .settings, flags: 1).bytes

    /// Makes a server that has received these frames and sent its answers.
    private func server(
        _ bytes: [UInt8], _ change: (inout SessionSettings) -> Void = { _ in }
    ) throws -> HTTP2Connection {
        var settings = SessionSettings()
        change(&settings)
        let session = HTTP2Connection(role: .server, settings: settings, handler: handler)
        _ = session.drained()
        try session.receive(bytes)
        _ = session.drained()
        return session
    }

    private static func head(_ stream: UInt32, flags: UInt8) -> [UInt8] {
        Frame(kind: .headers, flags: flags, stream: stream, payload: Frame.postBlock).bytes
    }

    @Test(
        "A peer may owe so long only",
        arguments: [
            ([], AwaitedAction.preface, 5),
            (Frame.preface, .preface, 5),
            (Frame.preface + Frame(kind: .settings).bytes.prefix(8), .preface, 5),
            (Frame.opening, .settingsAcknowledgement, 10),
            (Frame.opening + acknowledgement + head(1, flags: 1), .headerBlock, 10),
            (Frame.opening + acknowledgement + head(1, flags: 5).dropLast(), .headerBlock, 10),
            (
                Frame.opening + acknowledgement + head(1, flags: 1)
                    + Frame(kind: .continuation, stream: 1, payload: [0]).bytes.dropLast(), .headerBlock, 10
            ),
        ])
    func debts(bytes: [UInt8], debt: AwaitedAction, seconds: Int) throws {
        let session = try server(bytes)
        #expect(session.isKeptWaiting)
        for _ in 0..<seconds { #expect(session.tick(Timeouts()) == nil) }
        #expect(session.tick(Timeouts()) == debt)
    }

    @Test("A block of a stream that is refused is waited for like any other")
    func refusedBlock() throws {
        let session = try server(
            Frame.opening + Self.acknowledgement + Self.head(1, flags: 5) + Self.head(3, flags: 1)
        ) { $0.maxConcurrentStreams = 1 }
        for _ in 0..<10 { #expect(session.tick(Timeouts()) == nil) }
        #expect(session.tick(Timeouts()) == .headerBlock)
    }

    @Test("A peer that owes nothing is not waited for")
    func nothingOwed() throws {
        let session = try server(Frame.opening + Self.acknowledgement)
        #expect(!session.isKeptWaiting)
        try session.receive(Self.head(1, flags: 5))
        #expect(session.isKeptWaiting)
        session.respond(1, ok)
        _ = session.drained()
        #expect(!session.isKeptWaiting)
        session.updateMaxConcurrentStreams(5)
        #expect(session.isKeptWaiting)
    }

    @Test("Each block has its own time, and what is owed besides goes on to be owed")
    func ownTime() throws {
        let session = try server(Frame.opening)
        for number in 0..<10 as Range<UInt32> {
            try session.receive(Self.head(2 * number + 1, flags: 1))
            #expect(session.tick(Timeouts()) == nil)
            try session.receive(Frame(kind: .continuation, flags: 4, stream: 2 * number + 1).bytes)
        }
        #expect(session.tick(Timeouts()) == .settingsAcknowledgement)
    }

    @Test("A body that does not end costs its stream, and no other")
    func body() throws {
        let session = try server(
            Frame.opening + Self.acknowledgement + Self.head(1, flags: 4) + Self.head(3, flags: 5))
        for _ in 0..<20 { _ = session.tick(Timeouts()) }
        try session.receive(Self.head(5, flags: 4))
        for _ in 0..<10 { _ = session.tick(Timeouts()) }
        #expect(session.drained().isEmpty)
        #expect(session.tick(Timeouts()) == nil)
        let frames = Frame.all(in: session.drained())
        #expect(frames == [Frame(kind: .reset, stream: 1, payload: [0, 0, 0, 8])])
        #expect(handler.closings == ["closed 1 8"])
    }

    @Test("An answer that the peer's window does not let out costs its stream")
    func closedWindow() throws {
        let settings = Frame(kind: .settings, payload: [0, 4, 0, 0, 0, 0]).bytes
        let session = try server(Frame.preface + settings + Self.acknowledgement + Self.head(1, flags: 5))
        session.respond(1, ok, body: [1])
        #expect(Frame.all(in: session.drained()).filter { $0.stream == 1 }.map(\.kind) == [.headers])
        for _ in 0..<20 { _ = session.tick(Timeouts()) }
        #expect(session.drained().isEmpty)
        _ = session.tick(Timeouts())
        #expect(Frame.all(in: session.drained()).map(\.kind) == [.reset])
    }

    @Test("A stream that answers as it goes on is not waited for until it is finished")
    func streaming() throws {
        let session = try server(Frame.opening + Self.acknowledgement + Self.head(1, flags: 4))
        session.openResponse(1, ok)
        #expect(!session.isKeptWaiting)
        _ = session.drained()
        for _ in 0..<1000 { #expect(session.tick(Timeouts()) == nil) }
        #expect(session.drained().isEmpty)
        session.finish(1)
        #expect(session.isKeptWaiting)
        _ = session.drained()
        for _ in 0..<30 { _ = session.tick(Timeouts()) }
        #expect(session.drained().isEmpty)
        _ = session.tick(Timeouts())
        #expect(Frame.all(in: session.drained()).map(\.kind) == [.reset])
        #expect(!session.isKeptWaiting)
    }
}
