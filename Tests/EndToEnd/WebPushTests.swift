import Testing

extension EndToEnd {
    @Suite("Web Push", .serialized)
    struct WebPushTests {
        @Test("carries messages of senders to browsers, and meets the abuses of its port as documented")
        func life() async throws {
            try await onStage { stage in
                let port = try await stage.lastingPorts()[0]
                let relay = try await stage.startRelay(options: ["--web-port", port])
                let program = try stage.python("web_push.py", [relay.file])
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
                #expect(relay.program.isRunning)
                let counters = try await stage.counters(of: relay)
                #expect(counters.isBalanced && counters.delivered > 100)
            }
        }
    }
}
