import Foundation
import Testing

extension EndToEnd {
    /// Apps over dbus-fast on a session bus of the test's own, and a sender over HTTP/1.1.
    @Suite("UnifiedPush", .serialized)
    struct UnifiedPushTests {
        @Test("keeps every MUST of the D-Bus specification, also when agent and bus are killed")
        func specification() async throws {
            try await onStage { stage in
                let port = try await stage.lastingPorts()[0]
                let relay = try await stage.startRelay(options: ["--web-port", port])
                let program = try stage.python(
                    "unifiedpush.py", [relay.file, stage.product("postrider").path, stage.path("")])
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
                #expect(program.output.contains("all of it"))
            }
        }
    }
}
