import Testing

extension EndToEnd {
    @Suite("Abuse", .serialized)
    struct AbuseTests {
        @Test(
            "is met as the documentation says, and a good provider and a good device beside it miss nothing")
        func abuse() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let program = try stage.python("abuse.py", [relay.file])
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
                #expect(relay.program.isRunning)
            }
        }
    }
}
