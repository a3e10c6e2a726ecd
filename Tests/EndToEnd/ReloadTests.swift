import Foundation
import Testing

extension EndToEnd {
    @Suite("SIGHUP", .serialized)
    struct ReloadTests {
        @Test("has the relay take new certificates without dropping a connection, and refuse bad files")
        func certificates() async throws {
            try await onStage { stage in
                let postrider = Place.products.appending(path: "postrider").path
                let program = try stage.python("reload.py", [postrider, stage.folder.path])
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
            }
        }

        @Test("has a relay say of a new certificate that nobody will take it")
        func useless() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                for kind in ["pem", "key"] {
                    let files = FileManager.default
                    try files.removeItem(atPath: stage.path("dev/relay.\(kind)"))
                    // The provider's certificate is for clients only.
                    try files.copyItem(
                        atPath: stage.path("dev/provider.\(kind)"), toPath: stage.path("dev/relay.\(kind)"))
                }
                relay.program.send(SIGHUP)
                try await relay.program.line { $0.contains("relay.pem is not for a server") }
                relay.program.send(SIGTERM)
                #expect(try await relay.program.exitCode() == 0)
            }
        }

        @Test("has a relay for development read its files again too")
        func development() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                relay.program.send(SIGHUP)
                try await relay.program.line { $0.contains("reloaded: ") && $0.contains("relay.pem") }
                relay.program.send(SIGTERM)
                #expect(try await relay.program.exitCode() == 0)
            }
        }
    }
}
