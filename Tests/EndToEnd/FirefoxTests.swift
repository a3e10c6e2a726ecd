import Foundation
import Testing

extension EndToEnd {
    /// Runs Debian's Firefox, driven by Marionette, as a device, and pywebpush and curl as senders.
    @Suite("Firefox as a device", .serialized)
    struct FirefoxTests {
        @Test("subscribes, is killed, and gets each message once and in order")
        func messages() async throws {
            try await onStage { stage in
                let ports = try await stage.lastingPorts()
                let relay = try await stage.startRelay(options: ["--web-port", ports[0]])
                let program = try stage.python("firefox.py", [relay.file])
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
            }
        }
    }
}
