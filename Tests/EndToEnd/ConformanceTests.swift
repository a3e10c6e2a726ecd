import Foundation
import Testing

extension EndToEnd {
    @Suite("HTTP/2 is spoken as it is written", .serialized)
    struct ConformanceTests {
        @Test("in every case of h2spec, but those with a reason", .bug(id: "R25"))
        func cases() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let program = try stage.python("h2spec.py", [relay.file])
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
            }
        }

        @Test("with 100 for requests that expect it", .bug(id: "R26"))
        func expectations() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let program = try stage.python("expects.py", [relay.file])
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
                let file = try stage.write(String(repeating: "x", count: 60_000), to: "body")
                let (exitCode, output) = try await stage.run(
                    "curl",
                    [
                        "--silent", "--include", "--http2", "--cacert", relay.description.authorityFile,
                        "--header", "expect: 100-continue", "--data-binary", "@\(file)", relay.url("00"),
                    ])
                #expect(exitCode == 0)
                let statuses = output.filter { $0.hasPrefix("HTTP/2") }.map {
                    $0.trimmingCharacters(in: .whitespacesAndNewlines)
                }
                #expect(statuses == ["HTTP/2 100", "HTTP/2 403"])
            }
        }
    }

    @Suite("TLS 1.3 is spoken as it is written", .serialized)
    struct TLSConformanceTests {
        @Test("with the alerts of RFC 8446, as OpenSSL has them where it keeps to it", .bug(id: "R20"))
        func alerts() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let program = try stage.python("tls_alerts.py", [relay.file])
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
            }
        }
    }
}
