import PostriderHTTP2
import Testing

@Suite("A connection that has something to send")
struct FlushSchedulerTests {
    private final class Scheduler: FlushScheduler {
        var count = 0
        func setNeedsFlush() { count += 1 }
    }

    @Test("asks for a flush with each verb, and not while it receives or is drained")
    func verbs() throws {
        var settings = SessionSettings()
        settings.automaticWindowUpdates = false
        let pair = Pair(server: settings)
        let scheduler = Scheduler()
        defer { withExtendedLifetime(scheduler) {} }
        pair.server.flushScheduler = scheduler
        pair.atServer.onHeaders = { [unowned pair] stream, _ in pair.server.openResponse(stream, ok) }
        pair.atServer.onWritable = { [unowned pair] stream in
            if stream == 1 { pair.server.finish(stream) }
        }
        let streams = try (0..<4).map { _ in try pair.client.openRequest(post) }
        for stream in streams { pair.client.send(stream, [1]) }
        try pair.run()
        #expect(scheduler.count == 0 && pair.server.streamCount == 4)
        let server = pair.server
        let verbs: [(String, () -> Void)] = [
            ("send", { server.send(streams[0], [1]) }),
            ("send(shared:)", { server.send(streams[1], shared: [1]) }),
            ("finish", { server.finish(streams[2]) }),
            ("consume", { server.consume(streams[1], 1) }),
            ("reset", { server.reset(streams[3], errorCode: ErrorCode.cancel) }),
            ("ping", { server.ping() }),
            ("updateMaxConcurrentStreams", { server.updateMaxConcurrentStreams(7) }),
            ("shutDown", { server.shutDown(debug: [], settles: true) }),
            ("goaway", { server.goaway() }),
        ]
        for (name, verb) in verbs {
            let before = scheduler.count
            verb()
            #expect(scheduler.count == before + 1, "\(name)")
            try pair.run()
            #expect(scheduler.count == before + 1, "\(name), while it leaves")
        }
        #expect(pair.atClient.closings.contains("closed \(streams[3]) 8"))
    }
}
