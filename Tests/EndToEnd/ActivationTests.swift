import Foundation
import Testing

extension EndToEnd {
    @Suite("Socket activation", .serialized)
    struct ActivationTests {
        @Test("keeps connections waiting while the relay restarts, so that none is refused")
        func restarts() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let device = try await stage.startDevice(of: relay)
                let token = device.token
                relay.program.send(SIGTERM)
                #expect(try await relay.program.exitCode() == 0)
                let program = try stage.python(
                    "activation.py",
                    [
                        relay.file, Place.products.appending(path: "postrider").path, stage.folder.path,
                        token,
                        device.bearer,
                    ])
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
                #expect(program.output.contains { $0.contains("no connection refused") })
            }
        }
    }
}
