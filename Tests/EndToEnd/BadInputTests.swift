import Testing

extension EndToEnd {
    @Suite("Bad input", .serialized)
    struct BadInputTests {
        @Test("gets its clear answer or a timely close, and the next good push works")
        func misbehaviour() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let program = try stage.python("misbehave.py", [relay.file])
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
                #expect(relay.program.isRunning)
            }
        }
    }
}
