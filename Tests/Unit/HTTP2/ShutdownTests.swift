import PostriderHTTP2
import Testing

@Suite("A session that is shut down") struct ShutdownTests {
    /// The largest possible stream number.
    private static let all = Int32.max

    private let pair = Pair()

    init() throws {
        pair.atServer.onEnded = { [unowned pair] in pair.server.respond($0, ok) }
        try pair.run()
    }

    /// Last stream, error code and debug data of each GOAWAY of the server. If the client has no stream, nghttp2 does
    /// not report the second GOAWAY.
    private var goaways: [String] {
        Frame.all(in: pair.fromServer).filter { $0.kind == .goaway }.map { frame in
            let words = [0, 4].map { start in
                frame.payload[start..<start + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            }
            return "goaway \(words[0]) \(words[1]) \(String(decoding: frame.payload[8...], as: UTF8.self))"
        }
    }

    private func isAnswered(_ stream: Int32) -> Bool {
        pair.atClient.events.contains("head \(stream) end [:status: 200]")
    }

    @Test("answers a stream that is begun while its first GOAWAY is on the way", .bug(id: "R21"))
    func crossing() throws {
        pair.server.shutDown(debug: Array("bye".utf8), settles: false)
        let announced = pair.server.drained()
        let late = try pair.client.request(post)
        let begun = pair.client.drained()
        try pair.client.receive(announced)
        #expect(pair.atClient.events.last == "goaway \(Self.all) 0 bye")
        #expect(throws: SessionError.requestsRefused) { _ = try pair.client.request(post) }
        try pair.server.receive(begun)
        #expect(!pair.server.isFinished)
        try pair.run()
        #expect(isAnswered(late))
        #expect(pair.atClient.events.contains("goaway \(Self.all) 0 bye"))
        #expect(goaways == ["goaway \(late) 0 bye"])
        #expect(pair.server.isFinished && pair.server.failure == nil)
    }

    /// A client with several threads acknowledges the PING on one while another begins a stream.
    @Test("answers a stream that is begun between the PING and the first GOAWAY", .bug(id: "R21"))
    func between() throws {
        pair.atServer.onEnded = { _ in }
        let open = try pair.client.request(post)
        try pair.server.receive(pair.client.drained())
        pair.server.shutDown(debug: [], settles: false)
        let told = pair.server.drained()
        let goaway = try #require(Frame.all(in: told).last)
        #expect(goaway.kind == .goaway)
        try pair.client.receive(Array(told.dropLast(goaway.bytes.count)))
        let acknowledgement = pair.client.drained()
        let late = try pair.client.request(post)
        let begun = pair.client.drained()
        try pair.server.receive(acknowledgement)
        #expect(pair.server.drained().isEmpty, "the last GOAWAY waits for the open stream")
        try pair.server.receive(begun)
        try pair.client.receive(Array(told.suffix(goaway.bytes.count)))
        for stream in [open, late] { pair.server.respond(stream, ok) }
        try pair.run()
        #expect(isAnswered(open) && isAnswered(late))
        #expect(goaways == ["goaway \(late) 0 "])
        #expect(pair.server.isFinished && pair.server.failure == nil)
    }

    @Test("says no GOAWAY before the peer was silent for a round trip", .bug(id: "R21"))
    func settling() throws {
        pair.server.shutDown(debug: [], settles: true)
        var streams: [Int32] = []
        for _ in 0..<20 {
            let told = pair.server.drained()
            #expect(!told.isEmpty)
            streams.append(try pair.client.request(post))
            let begun = pair.client.drained()
            try pair.client.receive(told)
            try pair.server.receive(begun + pair.client.drained())
        }
        #expect(goaways.isEmpty)
        try pair.run()
        #expect(streams.allSatisfy(isAnswered))
        #expect(goaways == ["goaway \(Self.all) 0 ", "goaway \(streams.last ?? 0) 0 "])
        #expect(pair.server.isFinished)
    }

    @Test(
        "does not wait for long for a peer that acknowledges nothing", .bug(id: "R21"),
        arguments: [true, false])
    func silence(settles: Bool) throws {
        pair.server.shutDown(debug: [], settles: settles)
        let patience = Timeouts()
        var looks = 0
        var sent = pair.server.drained()
        while !pair.server.isFinished {
            #expect(pair.server.isKeptWaiting && looks < 10)
            #expect(pair.server.tick(patience) == nil)
            looks += 1
            sent += pair.server.drained()
        }
        #expect(looks == (settles ? patience.settlingSeconds + 1 : 0) + patience.goodbyeSeconds + 1)
        let last = Frame.all(in: sent).filter { $0.kind == .goaway }.map { Array($0.payload[..<4]) }
        #expect(last == [[127, 255, 255, 255], [0, 0, 0, 0]])
    }

    @Test("goes on with a request whose body is still to come, and answers it", .bug(id: "R21"))
    func halfRequest() throws {
        let stream = try pair.client.openRequest(post)
        try pair.run()
        pair.server.shutDown(debug: [], settles: false)
        try pair.run()
        #expect(goaways == ["goaway \(Self.all) 0 "])
        #expect(!pair.server.isFinished)
        pair.client.finish(stream)
        try pair.run()
        #expect(goaways == ["goaway \(Self.all) 0 ", "goaway \(stream) 0 "])
        #expect(isAnswered(stream) && pair.server.isFinished)
    }
}
