import PostriderHTTP2
import Testing

@Suite struct LifetimeTests {
    private let pair = Pair()

    @Test("A reset closes the stream once at both ends")
    func reset() throws {
        let stream = try pair.client.openRequest(post)
        try pair.run()
        pair.server.reset(stream, errorCode: ErrorCode.refusedStream)
        pair.server.reset(stream, errorCode: ErrorCode.cancel)
        try pair.run()
        #expect(pair.atServer.closings == ["closed 1 7"])
        #expect(pair.atClient.closings == ["closed 1 7"])
        pair.server.respond(stream, ok)
        pair.server.send(stream, [1])
        pair.server.finish(stream)
        #expect(!pair.server.wantsToSend)
    }

    @Test("A request taken back before it left is reported closed and never seen")
    func resetBeforeSent() throws {
        let stream = try pair.client.openRequest(post)
        pair.client.send(stream, [1, 2])
        pair.client.reset(stream, errorCode: ErrorCode.cancel)
        try pair.run()
        #expect(pair.atClient.closings == ["closed 1 8"])
        #expect(pair.atServer.streamEvents.isEmpty)
    }

    @Test("A GOAWAY carries its reason; open streams finish, then the session is finished")
    func goaway() throws {
        let stream = try pair.client.request(post)
        try pair.run()
        pair.server.goaway(debug: Array(#"{"reason":"Shutdown"}"#.utf8))
        try pair.run()
        #expect(pair.atClient.events.contains(#"goaway 1 0 {"reason":"Shutdown"}"#))
        #expect(!pair.server.isFinished)
        #expect(throws: SessionError.requestsRefused) { try pair.client.request(post) }
        pair.server.respond(stream, ok)
        try pair.run()
        #expect(pair.server.isFinished && pair.client.isFinished)
        #expect(pair.server.failure == nil && pair.client.failure == nil)
        #expect(pair.atClient.closings == ["closed 1 0"])
    }

    @Test("A GOAWAY leaves after the answers that were given before it, bodies included")
    func goawayComesLast() throws {
        let stream = try pair.client.request(post)
        try pair.run()
        pair.server.goaway()
        pair.server.respond(stream, ok, body: Array("{}".utf8))
        var output: [UInt8] = []
        pair.server.drain(into: &output)
        #expect(Self.frameTypes(output) == [0x1, 0x0, 0x7], "HEADERS, DATA, GOAWAY")
        #expect(!pair.server.wantsToSend && pair.server.isFinished)
    }

    @Test("A request that comes after the farewell and before it leaves can be repeated, and is not served")
    func requestDuringFarewell() throws {
        _ = try pair.client.request(post)
        try pair.run()
        pair.server.goaway()
        _ = try pair.client.request(post)
        var output: [UInt8] = []
        pair.client.drain(into: &output)
        try pair.server.receive(output.span)
        #expect(pair.atServer.streamEvents.filter { $0.hasPrefix("head") }.count == 1)
        try pair.run()
        #expect(pair.atClient.closings == ["closed 3 \(ErrorCode.refusedStream)"])
        #expect(pair.atClient.events.contains("goaway 1 0 "))
    }

    /// Returns the types of the frames, in order (RFC 9113, section 4.1).
    private static func frameTypes(_ bytes: [UInt8]) -> [UInt8] {
        var types: [UInt8] = []
        var start = 0
        while start + 9 <= bytes.count {
            types.append(bytes[start + 3])
            start += 9 + bytes[start..<start + 3].reduce(0) { $0 << 8 | Int($1) }
        }
        return types
    }

    @Test("A PING is answered")
    func ping() throws {
        pair.server.ping()
        try pair.run()
        #expect(pair.atServer.events.contains("pong"))
        #expect(!pair.atClient.events.contains("pong"))
    }

    @Test("A changed stream limit is told, and requests above it wait their turn")
    func streamLimit() throws {
        var settings = SessionSettings()
        settings.maxConcurrentStreams = 1
        let pair = Pair(server: settings)
        try pair.run()
        for _ in 0..<3 { _ = try pair.client.request(post) }
        try pair.run()
        #expect(pair.atServer.streamEvents.filter { $0.hasPrefix("head") }.count == 1)
        pair.server.updateMaxConcurrentStreams(1000)
        try pair.run()
        #expect(pair.atClient.events.contains("settings 1000"))
        #expect(pair.atServer.streamEvents.filter { $0.hasPrefix("head") }.count == 3)
    }

    @Test("At the end of a session every open stream is reported closed, once, and then nothing more")
    func end() throws {
        for _ in 0..<3 { _ = try pair.client.openRequest(post) }
        try pair.run()
        _ = try pair.client.openRequest(post)
        pair.server.end()
        pair.server.end()
        pair.client.end()
        #expect(pair.atServer.closings.sorted() == ["closed 1 8", "closed 3 8", "closed 5 8"])
        #expect(pair.atClient.closings.sorted() == ["closed 1 8", "closed 3 8", "closed 5 8", "closed 7 8"])
        let seen = (pair.atServer.events.count, pair.atClient.events.count)
        pair.client.send(1, [1])
        try pair.server.receive(Frame(kind: .data, flags: 1, stream: 1, payload: [1]).bytes)
        _ = pair.client.drained() + pair.server.drained()
        #expect(seen == (pair.atServer.events.count, pair.atClient.events.count))
    }

    @Test(
        "A request cut within its headers was never there; cut within its body it is closed by the end",
        arguments: 0..<60)
    func cut(length: Int) throws {
        let stream = try pair.client.request(post, body: Array("body".utf8))
        let bytes = pair.client.drained()
        try pair.server.receive(bytes.prefix(max(0, bytes.count - length)).map { $0 })
        pair.server.end()
        let heads = pair.atServer.events.filter { $0.hasPrefix("head") }.count
        #expect(pair.atServer.closings.count == heads)
        #expect(pair.atServer.events.contains("ended \(stream)") == (length == 0))
    }

    @Test("A handler answers, streams, resets and ends from inside its calls")
    func reentrancy() throws {
        let (client, server) = (pair.client, pair.server)
        pair.atServer.onHeaders = { stream, _ in
            switch stream {
            case 1: server.respond(stream, ok, body: [1])
            case 3: server.reset(stream, errorCode: ErrorCode.cancel)
            case 5:
                server.openResponse(stream, ok)
                server.send(stream, [1, 2, 3])
                server.ping()
            default: server.updateMaxConcurrentStreams(50)
            }
        }
        pair.atServer.onWritable = { server.finish($0, trailers: ["grpc-status": "0"]) }
        pair.atServer.onEnded = { if $0 > 5 { server.respond($0, ok) } }
        var again = 0
        pair.atClient.onClosed = { _ in
            again += 1
            if again < 10 { _ = try? client.request(post, body: [9]) }
        }
        for _ in 0..<4 { _ = try client.request(post, body: [1, 2]) }
        try pair.run()
        #expect(pair.atClient.closings.count == 13)
        #expect(Set(pair.atClient.closings).count == 13)
        #expect(pair.atClient.closings.contains("closed 3 8"))
        #expect(client.streamCount == 0)
    }

    @Test("A handler may end the session from inside a call")
    func endInside() throws {
        pair.atServer.onHeaders = { [pair] _, _ in pair.server.end() }
        _ = try pair.client.request(post, body: [1, 2])
        try pair.run()
        #expect(pair.atServer.closings == ["closed 1 8"])
        #expect(!pair.atServer.events.contains("ended 1"))
    }

    @Test("Sessions of several threads build their frames in shared memory without disturbing each other")
    func threads() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    let pairs = (0..<50).map { _ in Pair() }
                    for pair in pairs {
                        pair.atServer.onEnded = { [unowned pair] stream in
                            pair.server.respond(stream, ok, body: pair.atServer.bodies[stream])
                        }
                    }
                    for round in 0..<10 {
                        let body = [UInt8](repeating: UInt8(round), count: 1 + 30 * round)
                        for pair in pairs {
                            let stream = try pair.client.request(post, body: body)
                            try pair.run()
                            #expect(pair.atClient.bodies[stream] == body)
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test("A session is freed with streams open and bytes waiting")
    func freed() throws {
        let atClient = Recorder()
        weak var freed: HTTP2Connection?
        do {
            let session = HTTP2Connection(role: .client, handler: atClient)
            freed = session
            let stream = try session.openRequest(post)
            session.send(stream, [UInt8](repeating: 1, count: 100_000))
            _ = session.drained()
            _ = try session.request(post, body: [1])
        }
        #expect(freed == nil)
    }
}
