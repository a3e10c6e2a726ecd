import PostriderHTTP2
import Testing

@Suite struct StreamingTests {
    private let pair = Pair()

    private func manual(window: UInt32) -> SessionSettings {
        var settings = SessionSettings()
        settings.initialWindowSize = window
        settings.connectionWindowSize = 1 << 20
        settings.automaticWindowUpdates = false
        return settings
    }

    @Test("Both directions stream at once and end with trailers", arguments: [Int.max, 1])
    func bothWays(step: Int) throws {
        pair.step = step
        pair.atServer.onHeaders = { [pair] stream, _ in pair.server.openResponse(stream, ok) }
        let stream = try pair.client.openRequest(post)
        for round in 1...3 {
            pair.client.send(stream, Array("ask\(round)".utf8))
            try pair.run()
            pair.server.send(stream, Array("say\(round)".utf8))
            try pair.run()
        }
        pair.server.send(stream, Array("bye".utf8))
        pair.server.finish(stream, trailers: ["grpc-status": "0"])
        pair.client.finish(stream)
        try pair.run()
        #expect(pair.atServer.bodies[1] == Array("ask1ask2ask3".utf8))
        #expect(pair.atClient.bodies[1] == Array("say1say2say3bye".utf8))
        #expect(
            pair.atClient.streamEvents.suffix(3) == [
                "trailers 1 end [grpc-status: 0]", "ended 1", "closed 1 0",
            ])
        #expect(pair.atServer.streamEvents.suffix(2) == ["ended 1", "closed 1 0"])
        #expect(pair.atServer.events.filter { $0 == "writable 1" }.count == 3)
    }

    @Test("Trailers follow without an empty DATA frame when nothing waits")
    func trailersAlone() throws {
        let stream = try pair.client.openRequest(post)
        try pair.run()
        pair.server.openResponse(stream, ok)
        try pair.run()
        pair.server.finish(stream, trailers: ["grpc-status": "0"])
        try pair.run()
        let answer = Frame.all(in: pair.fromServer).filter { $0.stream == 1 }
        #expect(answer.map(\.description) == ["headers 1", "headers+end 1"])
    }

    @Test("An exhausted window holds bytes back until the peer has consumed")
    func flowControl() throws {
        let pair = Pair(client: manual(window: 100))
        let stream = try pair.client.openRequest(post)
        try pair.run()
        pair.server.openResponse(stream, ok)
        pair.server.send(stream, [UInt8](repeating: 7, count: 250))
        try pair.run()
        #expect(pair.atClient.bodies[stream]?.count == 100)
        #expect(pair.server.outboundBytes(stream) == 150)
        #expect(!pair.atServer.events.contains("writable 1"))
        pair.client.consume(stream, 100)
        try pair.run()
        #expect(pair.atClient.bodies[stream]?.count == 200)
        #expect(pair.server.outboundBytes(stream) == 50)
        pair.client.consume(stream, 100)
        try pair.run()
        #expect(pair.atClient.bodies[stream]?.count == 250)
        #expect(pair.server.outboundBytes(stream) == 0)
        #expect(pair.atServer.events.filter { $0 == "writable 1" }.count == 1)
    }

    @Test("The connection's window bounds all streams together and opens again for closed ones")
    func connectionWindow() throws {
        var settings = manual(window: 65_535)
        settings.connectionWindowSize = 65_535
        let pair = Pair(client: settings)
        pair.atServer.onHeaders = { stream, _ in
            pair.server.openResponse(stream, ok)
            pair.server.send(stream, [UInt8](repeating: 1, count: 40_000))
        }
        let streams = [try pair.client.openRequest(post), try pair.client.openRequest(post)]
        try pair.run()
        #expect(pair.atClient.bodies.values.reduce(0) { $0 + $1.count } == 65_535)
        pair.client.reset(streams[0], errorCode: ErrorCode.cancel)
        try pair.run()
        pair.client.consume(streams[0], pair.atClient.bodies[streams[0]]?.count ?? 0)
        try pair.run()
        #expect(pair.atClient.bodies[streams[1]]?.count == 40_000)
    }

    @Test("Large bodies cross with automatic window updates")
    func large() throws {
        let body = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        pair.atServer.onHeaders = { [pair] stream, _ in pair.server.openResponse(stream, ok) }
        pair.atServer.onData = { [pair] stream, _ in
            let echo = pair.atServer.bodies.removeValue(forKey: stream) ?? []
            pair.server.send(stream, echo)
        }
        pair.atServer.onEnded = { [pair] in pair.server.finish($0) }
        let stream = try pair.client.request(post, body: body)
        try pair.run()
        #expect(pair.atClient.bodies[stream] == body)
        #expect(pair.atClient.closings == ["closed 1 0"])
    }

    @Test("What a handler sends when its buffer is taken leaves in the same drain, up to a bound")
    func writableRefills() throws {
        var settings = SessionSettings()
        settings.initialWindowSize = 1 << 30
        settings.connectionWindowSize = 1 << 30
        let pair = Pair(client: settings)
        let stream = try pair.client.openRequest(post)
        try pair.run()
        pair.atServer.onWritable = { pair.server.send($0, [UInt8](repeating: 1, count: 10_000)) }
        pair.server.openResponse(stream, ok)
        pair.server.send(stream, [1])
        let first = pair.server.drained()
        #expect((256 * 1024...300 * 1024).contains(first.count))
        #expect(pair.server.wantsToSend)
    }

    @Test(
        "Shared bytes and a stream's own arrive in their order, whatever the window",
        arguments: [1, 7, 65_535])
    func shared(window: UInt32) throws {
        let pair = Pair(client: manual(window: window))
        let shared = (0..<1000).map { UInt8(truncatingIfNeeded: $0) }
        let streams = [try pair.client.openRequest(post), try pair.client.openRequest(post)]
        try pair.run()
        var expected: [UInt8] = []
        for stream in streams {
            pair.server.openResponse(stream, ok)
            expected = []
            for round in 0..<4 {
                let own = [UInt8](repeating: UInt8(round), count: round * 300)
                pair.server.send(stream, own)
                pair.server.send(stream, shared: shared)
                pair.server.send(stream, shared: [])
                if round.isMultiple(of: 2) { pair.server.send(stream, shared: shared) }
                expected += own + shared + (round.isMultiple(of: 2) ? shared : [])
            }
            pair.server.send(stream, [9])
            expected.append(9)
            #expect(pair.server.outboundBytes(stream) == expected.count)
            pair.server.finish(stream, trailers: ["grpc-status": "0"])
        }
        var taken = 0
        while true {
            try pair.run()
            let received = streams.map { pair.atClient.bodies[$0]?.count ?? 0 }
            guard received[0] > taken else { break }
            #expect(received[0] == received[1])
            for stream in streams { pair.client.consume(stream, received[0] - taken) }
            taken = received[0]
        }
        for stream in streams { #expect(pair.atClient.bodies[stream] == expected) }
        #expect(pair.atClient.events.filter { $0.hasPrefix("ended") }.count == 2)
    }

    @Test("A stream that takes shared bytes again and again is as good as new in between")
    func sharedAgain() throws {
        let stream = try pair.client.openRequest(post)
        try pair.run()
        pair.server.openResponse(stream, ok)
        var expected: [UInt8] = []
        for round in 0..<50 {
            let bytes = [UInt8](repeating: UInt8(round), count: round * 17)
            if round.isMultiple(of: 3) {
                pair.server.send(stream, bytes)
            } else {
                pair.server.send(stream, shared: bytes)
            }
            expected += bytes
            if round.isMultiple(of: 5) { try pair.run() }
        }
        try pair.run()
        #expect(pair.atClient.bodies[stream] == expected && pair.server.outboundBytes(stream) == 0)
    }

    @Test("What a stream leaves behind when it is reset is not sent on the next one")
    func leftBehind() throws {
        let pair = Pair(client: manual(window: 10))
        for isReset in [true, false] {
            let stream = try pair.client.openRequest(post)
            try pair.run()
            pair.server.openResponse(stream, ok)
            if isReset {
                for _ in 0..<3 { pair.server.send(stream, shared: [UInt8](repeating: 7, count: 100)) }
                try pair.run()
                pair.client.reset(stream, errorCode: ErrorCode.cancel)
            } else {
                pair.server.send(stream, [1, 2, 3])
            }
            try pair.run()
            if !isReset { #expect(pair.atClient.bodies[stream] == [1, 2, 3]) }
        }
    }

    @Test("A body sent before anything was drained arrives whole")
    func early() throws {
        let stream = try pair.client.openRequest(post)
        pair.client.send(stream, Array("one".utf8))
        pair.client.send(stream, Array("two".utf8))
        #expect(pair.client.outboundBytes(stream) == 6)
        pair.client.finish(stream)
        pair.client.finish(stream)
        try pair.run()
        #expect(pair.atServer.bodies[stream] == Array("onetwo".utf8))
        #expect(pair.atServer.streamEvents.last == "ended 1")
        let frames = Frame.all(in: pair.fromClient).filter { $0.stream == 1 }
        #expect(frames.map(\.description) == ["headers 1", "data+end 1"])
    }
}
