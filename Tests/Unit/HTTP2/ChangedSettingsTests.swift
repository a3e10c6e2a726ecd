import PostriderHTTP2
import Testing

@Suite("Settings that change in the middle of a connection")
struct ChangedSettingsTests {
    private static func server(readsHeaderBlocks: Bool = true, opensWindows: Bool = true) -> SessionSettings {
        var settings = SessionSettings()
        settings.readsHeaderBlocks = readsHeaderBlocks
        settings.automaticWindowUpdates = opensWindows
        return settings
    }

    @Test("hold back streams above a new limit, until the first one is restored")
    func streams() throws {
        let pair = Pair()
        try pair.run()
        pair.server.update([(.maxConcurrentStreams, 0)])
        try pair.run()
        _ = try pair.client.request(post)
        try pair.run()
        #expect(pair.server.streamCount == 0)
        pair.server.restore([.maxConcurrentStreams])
        try pair.run()
        #expect(pair.server.streamCount == 1)
        #expect(pair.atClient.events.suffix(2).contains("settings 1000"))
    }

    @Test("hold back bodies with an empty window, and those under way too")
    func window() throws {
        let pair = Pair(server: Self.server(opensWindows: false))
        try pair.run()
        pair.server.update([(.initialWindowSize, 4)])
        try pair.run()
        let stream = try pair.client.request(post, body: Array("1234567".utf8))
        try pair.run()
        #expect(pair.atServer.bodies[stream] == Array("1234".utf8))
        pair.server.restore([.initialWindowSize])
        pair.server.consumeOnConnection(4)
        try pair.run()
        #expect(pair.atServer.bodies[stream] == Array("1234567".utf8))
    }

    @Test(
        "let header blocks be read when the header table changes, whoever reads them",
        arguments: [true, false])
    func headerTable(readsHeaderBlocks: Bool) throws {
        let pair = Pair(server: Self.server(readsHeaderBlocks: readsHeaderBlocks))
        func request() throws -> String? {
            let stream = try pair.client.request(post)
            try pair.run()
            return pair.atServer.events.last { $0.hasPrefix("head \(stream) ") }.map {
                String($0.drop { $0 != "[" })
            }
        }
        let first = try request()
        for size in [0, 100, 4096, 0] as [UInt32] {
            pair.server.update([(.headerTableSize, size)])
            try pair.run()
            for _ in 1...3 { #expect(try request() == first) }
        }
        #expect(first != nil && pair.server.failure == nil && pair.client.failure == nil)
    }

    @Test("need no update of the header table from a client whose table was as small before")
    func emptyTableBefore() throws {
        for readsHeaderBlocks in [true, false] {
            let recorder = Recorder()
            let server = HTTP2Connection(
                role: .server, settings: Self.server(readsHeaderBlocks: readsHeaderBlocks), handler: recorder)
            // A table size update to 0, then literals without indexing and fields of the static table.
            let fields: [UInt8] = [0x83, 0x84, 0x87, 0x01, 0x01, 0x78]
            func head(_ stream: UInt32, _ block: [UInt8]) -> [UInt8] {
                Frame(kind: .headers, flags: 5, stream: stream, payload: block).bytes
            }
            try server.receive(Frame.opening + head(1, [0x20] + fields) + head(3, fields))
            server.update([(.headerTableSize, 0)])
            _ = server.drained()
            let acknowledgement = Frame(kind: .settings, flags: 1).bytes
            try server.receive(acknowledgement + acknowledgement + head(5, fields))
            #expect(server.streamCount == 3 && server.failure == nil, "\(recorder.events)")
        }
    }

    @Test("follow a client that makes its header table smaller and larger again", arguments: [true, false])
    func clientsTable(readsHeaderBlocks: Bool) throws {
        let recorder = Recorder()
        let server = HTTP2Connection(
            role: .server, settings: Self.server(readsHeaderBlocks: readsHeaderBlocks), handler: recorder)
        // Table size updates to these sizes, before literals without indexing and fields of the static table.
        let updates: [[UInt8]] = [
            [0x3F, 0x21], [], [0x20], [], [0x3F, 0x0B], [], [0x3F, 0x0C], [], [0x20, 0x3F, 0x21], [],
        ]
        var bytes = Frame.opening
        for (index, update) in updates.enumerated() {
            let block = update + [0x83, 0x84, 0x87, 0x01, 0x01, 0x78]
            bytes += Frame(kind: .headers, flags: 5, stream: UInt32(2 * index + 1), payload: block).bytes
        }
        try server.receive(bytes)
        #expect(server.streamCount == updates.count && server.failure == nil, "\(recorder.events)")
    }

    @Test("end a connection whose client does not take note of a smaller header table")
    func heedlessClient() throws {
        for readsHeaderBlocks in [true, false] {
            let recorder = Recorder()
            let server = HTTP2Connection(
                role: .server, settings: Self.server(readsHeaderBlocks: readsHeaderBlocks),
                handler: recorder)
            func head(_ stream: UInt32) -> [UInt8] {
                Frame(kind: .headers, flags: 5, stream: stream, payload: Frame.postBlock).bytes
            }
            try server.receive(Frame.opening + head(1))
            server.update([(.headerTableSize, 0)])
            _ = server.drained()
            let acknowledgement = Frame(kind: .settings, flags: 1).bytes
            try? server.receive(acknowledgement + acknowledgement + head(3))
            // COMPRESSION_ERROR (RFC 9113, section 7).
            let end = Frame.all(in: server.drained()).last { $0.kind == .goaway }
            #expect(end?.payload.dropFirst(4).prefix(4) == [0, 0, 0, 9], "\(recorder.events)")
        }
    }

    @Test("A GOAWAY that names an earlier stream closes later ones without an answer, and answers the others")
    func earlierLastStream() throws {
        let pair = Pair()
        let streams = try (1...3).map { _ in try pair.client.request(post) }
        try pair.run()
        pair.server.respond(streams[0], ok)
        pair.server.goaway(lastStream: streams[0])
        try pair.run()
        #expect(pair.atClient.events.contains("goaway 1 0 "))
        // REFUSED_STREAM (RFC 9113, section 7).
        #expect(pair.atClient.closings == ["closed 1 0", "closed 3 7", "closed 5 7"])
        #expect(pair.atServer.closings == ["closed 1 0", "closed 3 7", "closed 5 7"])
        #expect(pair.server.isFinished)
    }

    @Test("A GOAWAY names no stream that the client has not begun")
    func laterLastStream() throws {
        let pair = Pair()
        let stream = try pair.client.request(post)
        try pair.run()
        pair.server.goaway(lastStream: 99)
        pair.server.respond(stream, ok)
        try pair.run()
        #expect(pair.atClient.events.contains("goaway 1 0 ") && pair.atClient.closings == ["closed 1 0"])
    }
}
