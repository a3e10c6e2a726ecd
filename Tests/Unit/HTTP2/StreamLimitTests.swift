import PostriderHTTP2
import Testing

@Suite("An announced stream limit")
struct StreamLimitTests {
    private func settings(_ bytes: [UInt8]) -> [[UInt8]] {
        Frame.all(in: bytes).filter { $0.kind == .settings && $0.flags == 0 }.map(\.payload)
    }

    @Test("stands in the first frame in place of the session's own, and changes nothing else of it")
    func firstFrame() {
        let (plain, announced) = (Pair(), Pair())
        announced.server.announceStreamLimit(1)
        let usual = settings(plain.server.drained())
        var expected = usual
        // SETTINGS_MAX_CONCURRENT_STREAMS with the value 1000.
        let setting = [UInt8]([0, 3, 0, 0, 3, 0xE8])
        guard let start = (0..<usual[0].count).first(where: { usual[0][$0...].starts(with: setting) }) else {
            Issue.record("the usual frame says \(usual)")
            return
        }
        expected[0].replaceSubrange(start..<start + 6, with: [0, 3, 0, 0, 0, 1])
        #expect(settings(announced.server.drained()) == expected)
    }

    @Test("holds a client back until the rest is told")
    func client() throws {
        let pair = Pair()
        pair.server.announceStreamLimit(2)
        try pair.run()
        for _ in 1...5 { _ = try pair.client.request(post) }
        try pair.run()
        #expect(pair.server.streamCount == 2)
        pair.server.updateMaxConcurrentStreams(1000)
        try pair.run()
        #expect(pair.server.streamCount == 5)
        #expect(pair.atClient.events.contains("settings 2") && pair.atClient.events.contains("settings 1000"))
    }

    @Test("resets no stream above it, acknowledged or not")
    func overtaken() throws {
        let pair = Pair()
        pair.server.announceStreamLimit(1)
        func head(_ stream: UInt32) -> [UInt8] {
            Frame(kind: .headers, flags: 5, stream: stream, payload: Frame.postBlock).bytes
        }
        try pair.server.receive(Frame.opening + head(1) + head(3))
        _ = pair.server.drained()
        try pair.server.receive(Frame(kind: .settings, flags: 1).bytes + head(5) + head(7))
        let answer = Frame.all(in: pair.server.drained())
        #expect(pair.server.streamCount == 4)
        #expect(!answer.contains { $0.kind == .reset || $0.kind == .goaway })
    }
}
