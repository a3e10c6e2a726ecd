import PostriderHTTP2
import Testing

@Suite struct ResetTests {
    private let handler = Recorder()

    private func server(judgedStreams: Int = 20) throws -> HTTP2Connection {
        var settings = SessionSettings()
        settings.judgedStreams = judgedStreams
        let session = HTTP2Connection(role: .server, settings: settings, handler: handler)
        try session.receive(Frame.opening)
        return session
    }

    private func head(_ number: Int, ends: Bool = true) -> [UInt8] {
        let flags: UInt8 = ends ? 5 : 4
        return Frame(kind: .headers, flags: flags, stream: UInt32(2 * number + 1), payload: Frame.postBlock)
            .bytes
    }

    private func reset(_ number: Int) -> [UInt8] {
        Frame(kind: .reset, stream: UInt32(2 * number + 1), payload: [0, 0, 0, 8]).bytes
    }

    @Test("A peer that resets most requests as soon as it makes them loses the connection")
    func rapidReset() throws {
        let session = try server()
        #expect(throws: SessionError.tooManyResets) {
            for number in 0..<20 { try session.receive(head(number, ends: false) + reset(number)) }
        }
        let goaway = Frame.all(in: session.drained()).last { $0.kind == .goaway }
        #expect(goaway?.payload[7] == UInt8(ErrorCode.enhanceYourCalm))
        #expect(session.isFinished)
        session.end()
        #expect(handler.closings.count == 20)
    }

    @Test("An answer that has not left makes a reset no better: the work was for nothing")
    func answeredInVain() throws {
        let session = try server()
        handler.onEnded = { session.respond($0, ok, body: [1]) }
        #expect(throws: SessionError.tooManyResets) {
            for number in 0..<20 { try session.receive(head(number) + reset(number)) }
        }
    }

    @Test("Finished streams may be reset at any rate", arguments: [true, false])
    func honest(endsRequest: Bool) throws {
        let session = try server()
        handler.onHeaders = { stream, _ in session.respond(stream, ok, body: [1]) }
        for number in 0..<20_000 {
            try session.receive(head(number, ends: endsRequest))
            _ = session.drained()
            try session.receive(reset(number))
        }
        #expect(session.streamCount == 0)
    }

    @Test("Requests that were waited for, or are a minority, may be reset")
    func patient() throws {
        let session = try server()
        for number in 0..<100 {
            try session.receive(head(number))
            // Each tick is a second.
            _ = session.tick(Timeouts())
            _ = session.tick(Timeouts())
            try session.receive(reset(number))
        }
        let other = try server()
        for number in 0..<1000 {
            try other.receive(head(number))
            if number % 3 == 0 { try other.receive(reset(number)) }
        }
        _ = other.drained()
        #expect(other.failure == nil)
    }

    @Test("A good past does not pay for a bad present")
    func fading() throws {
        let session = try server()
        handler.onEnded = { session.respond($0, ok) }
        for number in 0..<10_000 {
            try session.receive(head(number))
            _ = session.drained()
        }
        #expect(throws: SessionError.tooManyResets) {
            for number in 10_000..<10_100 { try session.receive(head(number, ends: false) + reset(number)) }
        }
    }

    @Test("A peer that makes us reset its streams loses the connection as well")
    func madeYouReset() throws {
        let overflow = { (number: Int) in
            Frame(kind: .windowUpdate, stream: UInt32(2 * number + 1), payload: [0x7F, 0xFF, 0xFF, 0xFF])
                .bytes
        }
        let malformed = { (number: Int) in
            Frame(kind: .headers, flags: 5, stream: UInt32(2 * number + 1), payload: [0x84]).bytes
        }
        for attack in [{ head($0, ends: false) + overflow($0) }, malformed] {
            let session = try server()
            #expect(throws: SessionError.tooManyResets) {
                for number in 0..<100 {
                    try session.receive(attack(number))
                    _ = session.drained()
                }
            }
            #expect(session.isFinished)
        }
    }

    @Test("What was answered leaves before the reset that follows the answer")
    func answerBeforeReset() throws {
        let session = try server()
        try session.receive(head(0, ends: false))
        session.respond(1, ok, body: [1, 2, 3])
        session.reset(1, errorCode: ErrorCode.noError)
        let frames = Frame.all(in: session.drained()).filter { $0.stream == 1 }
        #expect(frames.map(\.kind) == [.headers, .data, .reset])
        #expect(handler.closings == ["closed 1 0"])
        #expect(!session.wantsToSend)
    }

    @Test("A reset that follows the answer of a finished request changes nothing")
    func resetAfterAll() throws {
        let session = try server()
        try session.receive(head(0))
        session.respond(1, ok)
        session.reset(1, errorCode: ErrorCode.cancel)
        let frames = Frame.all(in: session.drained()).filter { $0.stream == 1 }
        #expect(frames.map(\.kind) == [.headers])
    }

    @Test("GOAWAY names the last stream that was shown: one whose head has partly arrived may be repeated")
    func partialHead() throws {
        let session = try server()
        try session.receive(head(0))
        try session.receive(Frame(kind: .headers, flags: 1, stream: 3, payload: Frame.postBlock).bytes)
        session.goaway(debug: [])
        let goaway = Frame.all(in: session.drained()).last { $0.kind == .goaway }
        #expect(goaway?.payload.prefix(4) == [0, 0, 0, 1])
        try session.receive(Frame(kind: .continuation, flags: 4, stream: 3, payload: []).bytes)
        #expect(!handler.events.contains { $0.hasPrefix("head 3") })
        session.respond(1, ok)
        _ = session.drained()
        #expect(session.isFinished)
    }

    @Test("So does the GOAWAY of the library for a block that another frame interrupts")
    func interruptedHead() throws {
        let session = try server()
        try session.receive(head(0))
        let partial = Frame(kind: .headers, flags: 1, stream: 3, payload: Frame.postBlock).bytes
        try session.receive(partial + Frame(kind: .ping, payload: [UInt8](repeating: 0, count: 8)).bytes)
        let goaway = Frame.all(in: session.drained()).last { $0.kind == .goaway }
        #expect(goaway?.payload.prefix(8) == [0, 0, 0, 1, 0, 0, 0, 1])
        #expect(session.failure != nil)
    }
}
