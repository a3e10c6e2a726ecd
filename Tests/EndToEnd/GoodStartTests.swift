import Foundation
import Testing

extension EndToEnd {
    /// `make test-package` looks at the same words in the journal of the package's units.
    @Suite("A good start", .serialized)
    struct GoodStartTests {
        private static let words = [
            "error", "fail", "fault", "warn", "cannot", "can't", "could not", "unable", "refused", "denied",
            "reject", "lost", "missing", "invalid", "wrong", "broken", "not found", "not there", "no such",
        ]

        /// The lines of a program that read like a failure.
        private func complaints(_ program: Program) -> [String] {
            (program.output + program.errors).filter { line in
                Self.words.contains { line.lowercased().contains($0) }
            }
        }

        @Test("of a relay and an agent, a push and a good end log nothing that reads like a failure")
        func silence() async throws {
            try await onStage { stage in
                let dev = try await stage.startRelay()
                dev.program.send(SIGTERM)
                #expect(try await dev.program.exitCode() == 0)
                let serve = try stage.startServe(
                    deviceAddress: "127.0.0.1:\(dev.description.devicePort)",
                    options: [
                        "--metrics-address", "off", "--control-address", dev.description.controlAddress,
                    ])
                try await serve.line { $0.contains("ready: ") }
                try stage.handle("exit 0", topic: dev.topic)
                let agent = try await stage.startAgent(
                    of: dev, options: ["--apps-directory", stage.path("apps")],
                    environment: ["DBUS_SYSTEM_BUS_ADDRESS": try await stage.startBus()])
                let token = try await stage.token(of: dev)
                let send = try stage.start(
                    "postrider",
                    [
                        "send", "--control", dev.description.controlAddress, "--topic", dev.topic, "--alert",
                        "x", "--wait", "done", "--timeout", "2m", token,
                    ])
                #expect(try await send.exitCode() == 0, "\(send.transcript)")
                for program in [agent, serve] {
                    program.send(SIGTERM)
                    #expect(try await program.exitCode() == 0, "\(program.transcript)")
                }
                for program in [dev.program, serve, agent] { #expect(complaints(program) == []) }
            }
        }
    }
}
