import Testing

extension LongEndToEnd {
    @Suite("Abuse", .serialized)
    struct AbuseTests {
        @Test(
            "is met as the documentation says, and a good provider and a good device beside it miss nothing",
            arguments: [[], ["--request-headers", "nghttp2", "--device-links", "nghttp2"]])
        func abuse(options: [String]) async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay(options: options)
                let program = try stage.python("abuse.py", [relay.file])
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
                #expect(relay.program.isRunning)
            }
        }
    }
}
