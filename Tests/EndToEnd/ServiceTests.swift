import Foundation
import Testing

extension EndToEnd {
    @Suite("A service under systemd", .serialized)
    struct ServiceTests {
        @Test(
            "says that it is ready, alive, reloading and stopping, and nothing while it hangs",
            arguments: ["relay", "agent"])
        func states(_ service: String) async throws {
            try await onStage { stage in
                let program = try stage.python(
                    "service.py", [service, stage.product("postrider").path, stage.folder.path])
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
            }
        }
    }
}
