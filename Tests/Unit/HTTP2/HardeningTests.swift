import PostriderHTTP2
import Testing

@Suite struct HardeningTests {
    private let handler = Recorder()

    private func server(_ change: (inout SessionSettings) -> Void = { _ in }) -> HTTP2Connection {
        var settings = SessionSettings()
        change(&settings)
        return HTTP2Connection(role: .server, settings: settings, handler: handler)
    }

    private func goaways(_ session: HTTP2Connection) -> [String] {
        Frame.all(in: session.drained()).filter { $0.kind == .goaway }
            .map { String(decoding: $0.payload.dropFirst(8), as: UTF8.self) }
    }

    @Test(
        "Whoever does not speak HTTP/2 is told so after SETTINGS, an HTTP/1 client in the owner's words",
        arguments: [
            (
                "POST /3/device/00 HTTP/1.1\r\nhost: x\r\n\r\n", "Not here: ",
                "Not here: POST /3/device/00 HTTP/1.1"
            ),
            ("POST / HTTP/1.0\r\n\r\n", nil, "the peer does not speak HTTP/2"),
            ("\u{16}\u{3}\u{1}garbage", "Not here: ", "the peer does not speak HTTP/2"),
            ("PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n", "Not here: ", "the peer does not speak HTTP/2"),
        ])
    func foreigners(text: String, greeting: StaticString?, answer: String) {
        let session = server { $0.http1Greeting = greeting }
        #expect(throws: SessionError.notHTTP2) { try session.receive(Array(text.utf8)) }
        let frames = Frame.all(in: session.drained())
        #expect(frames.first?.kind == .settings)
        #expect(frames.last?.kind == .goaway)
        #expect(String(decoding: frames.last?.payload.dropFirst(8) ?? [], as: UTF8.self) == answer)
        #expect(session.isFinished)
        #expect(throws: SessionError.notHTTP2) { try session.receive([1]) }
    }

    @Test("A hundred fields are taken, one more costs the connection")
    func fieldCount() throws {
        let atClient = Recorder()
        let (session, client) = (server(), HTTP2Connection(role: .client, handler: atClient))
        defer { withExtendedLifetime(atClient) {} }
        var head = post
        for number in head.count..<100 { head.add("x-\(number)", "") }
        _ = try client.request(head)
        try session.receive(client.drained())
        #expect(handler.events.contains { $0.hasPrefix("head 1") })
        head.add("x-100", "")
        _ = try client.request(head)
        #expect(throws: SessionError.tooManyHeaderFields) { try session.receive(client.drained()) }
        #expect(goaways(session) == ["a header block has too many fields"])
        #expect(session.isFinished)
        session.end()
        #expect(handler.closings == ["closed 1 8"])
    }

    @Test("A block that grows in the HPACK table costs the connection before it is large")
    func bomb() {
        let session = server()
        // An entry of 3000 bytes is added to the table; each further byte repeats it.
        let value = [0x40, 0x01, 0x61, 0x7F, 0xB9, 0x16] + [UInt8](repeating: 0x62, count: 3000)
        let block = Frame.postBlock + value + [UInt8](repeating: 0xBE, count: 4000)
        let frame = Frame(kind: .headers, flags: 5, stream: 1, payload: block)
        #expect(throws: SessionError.headerListTooLarge) {
            try session.receive((Frame.opening + frame.bytes))
        }
        #expect(handler.streamEvents.isEmpty)
        #expect(goaways(session) == ["a header block is too large"])
    }

    @Test(
        "Frames that carry nothing are bounded; frames with content pay for them, and the owner may forgive")
    func emptyFrames() throws {
        let session = server { $0.maxEmptyFrames = 50 }
        try session.receive(Frame.opening)
        let ping = Frame(kind: .ping, payload: [UInt8](repeating: 0, count: 8)).bytes
        for round in 0..<4 {
            for _ in 0..<40 { try session.receive(ping) }
            if round == 1 {
                session.forgiveEmptyFrames()
            } else {
                let stream = UInt32(2 * round + 1)
                let request = Frame(kind: .headers, flags: 5, stream: stream, payload: Frame.postBlock)
                try session.receive(request.bytes)
            }
            _ = session.drained()
        }
        let flood = (0..<51).flatMap { _ in ping }
        #expect(throws: SessionError.flooded) { try session.receive(flood) }
    }

    @Test("A peer that provokes answers without reading them is cut")
    func queuedFrames() throws {
        let session = server { $0.maxQueuedFrames = 20 }
        try session.receive(Frame.opening)
        let ping = Frame(kind: .ping, payload: [UInt8](repeating: 0, count: 8)).bytes
        #expect(throws: SessionError.flooded) { try session.receive((0..<30).flatMap { _ in ping }) }
    }

    @Test(
        "Frames of unknown types, and empty frames of known ones, count like every frame that carries nothing"
    )
    func unknownFrames() throws {
        let junk = [
            [0, 0, 0, 0xEE, 0, 0, 0, 0, 0],
            [0, 0, 3, 0xEE, 0, 0, 0, 0, 1, 1, 2, 3],
            Frame(kind: .priority, stream: 9, payload: [0, 0, 0, 0, 1]).bytes,
            Frame(kind: .windowUpdate, payload: [0, 0, 0, 1]).bytes,
            Frame(kind: .ping, flags: 1, payload: [UInt8](repeating: 0, count: 8)).bytes,
        ]
        for frame in junk {
            let session = server { $0.maxEmptyFrames = 50 }
            try session.receive(Frame.opening)
            for _ in 0..<49 { try session.receive(frame) }
            #expect(throws: SessionError.flooded, "\(frame)") {
                for _ in 0..<2 { try session.receive(frame) }
            }
        }
    }

    @Test("PING frames that we asked to be answered cost the peer nothing")
    func pongs() throws {
        let session = server { $0.maxEmptyFrames = 5 }
        try session.receive(Frame.opening)
        let pong = Frame(kind: .ping, flags: 1, payload: [UInt8](repeating: 0, count: 8)).bytes
        for _ in 0..<100 {
            session.ping()
            _ = session.drained()
            try session.receive(pong)
        }
        #expect(handler.events.filter { $0 == "pong" }.count == 100)
    }

    @Test("A header block that never ends is cut off")
    func continuations() throws {
        let session = server()
        try session.receive(Frame.opening)
        let head = Frame(kind: .headers, flags: 1, stream: 1, payload: Frame.postBlock).bytes
        let more = Frame(kind: .continuation, stream: 1, payload: [0x00, 0x01, 0x61, 0x01, 0x62]).bytes
        #expect(throws: SessionError.flooded) { try session.receive(head + (0..<20).flatMap { _ in more }) }
        #expect(handler.streamEvents.isEmpty)
    }

    @Test("A field without a name costs the stream")
    func namelessField() throws {
        let session = server()
        let block = Frame.postBlock + [0x00, 0x00, 0x01, 0x61]
        let frame = Frame(kind: .headers, flags: 5, stream: 1, payload: block)
        try session.receive(Frame.opening + frame.bytes)
        #expect(Frame.all(in: session.drained()).contains { $0.kind == .reset && $0.stream == 1 })
        #expect(handler.streamEvents.isEmpty)
    }

    @Test(
        "A body that grows beyond its bound is noted, so that the owner cuts the peer that does not take it")
    func overfull() throws {
        let session = server { $0.maxOutboundBytes = 100_000 }
        let request = Frame(kind: .headers, flags: 4, stream: 1, payload: Frame.postBlock)
        try session.receive(Frame.opening + request.bytes)
        session.openResponse(1, ok)
        session.send(1, [UInt8](repeating: 0, count: 100_000))
        #expect(!session.isOverfull)
        _ = session.drained()
        // The window was large enough for 65,535 bytes of it.
        session.send(1, [UInt8](repeating: 0, count: 65_535))
        #expect(!session.isOverfull)
        session.send(1, [0])
        #expect(session.isOverfull)
    }

    @Test(
        "A violation of the protocol shows as failure once its GOAWAY is sent",
        arguments: [
            Frame(kind: .data, stream: 1, payload: [1]),
            Frame(kind: .headers, flags: 5, stream: 2, payload: Frame.postBlock),
            Frame(kind: .headers, flags: 5, stream: 1, payload: [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F]),
            Frame(kind: .windowUpdate, payload: [0, 0, 0, 0]),
            Frame(kind: .ping, payload: [1]),
            Frame(kind: .continuation, flags: 4, stream: 1, payload: []),
            Frame(kind: .push, flags: 4, stream: 1, payload: [0, 0, 0, 2]),
        ])
    func violations(frame: Frame) throws {
        let session = server()
        try session.receive((Frame.opening + frame.bytes))
        #expect(goaways(session).count == 1)
        #expect(session.isFinished)
        let failure = try #require(session.failure)
        #expect(failure.description.hasPrefix("HTTP/2 connection error"))
        #expect(throws: failure) { try session.receive([0]) }
        #expect(handler.streamEvents.isEmpty)
    }

    @Test("A request without its pseudo-header fields is reset and never shown")
    func malformed() throws {
        let session = server()
        let frame = Frame(kind: .headers, flags: 5, stream: 1, payload: [0x84])
        try session.receive((Frame.opening + frame.bytes))
        let answer = Frame.all(in: session.drained()).filter { $0.stream == 1 }
        #expect(answer.map(\.kind) == [.reset])
        #expect(handler.streamEvents.isEmpty)
        #expect(!session.isFinished)
    }

    @Test("A body that contradicts its content-length is closed, not ended")
    func contentLength() throws {
        let session = server()
        let block = Frame.postBlock + [0x0F, 0x0D, 0x01, 0x35]  // content-length: 5
        let head = Frame(kind: .headers, flags: 4, stream: 1, payload: block)
        let body = Frame(kind: .data, flags: 1, stream: 1, payload: [1, 2])
        try session.receive((Frame.opening + head.bytes + body.bytes))
        _ = session.drained()
        #expect(handler.closings == ["closed 1 1"])
        #expect(!handler.events.contains("ended 1"))
    }

    @Test("More streams than allowed before the limit is acknowledged are refused, not shown")
    func refused() throws {
        let session = server { $0.maxConcurrentStreams = 1 }
        _ = session.drained()
        let frames = [1, 3].map {
            Frame(kind: .headers, flags: 5, stream: $0, payload: Frame.postBlock).bytes
        }
        try session.receive((Frame.opening + frames[0] + frames[1]))
        #expect(handler.streamEvents.filter { $0.hasPrefix("head") }.count == 1)
        let reset = Frame.all(in: session.drained()).filter { $0.kind == .reset }
        #expect(reset.map(\.payload) == [[0, 0, 0, 7]])
    }
}
