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
