import Testing

extension EndToEnd {
    @Suite("HTTP/2 is spoken as it is written", .serialized)
    struct ConformanceTests {
        @Test("in every case of h2spec, but those with a reason")
        func cases() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let program = try stage.python("h2spec.py", [relay.file])
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
            }
        }
    }
}
