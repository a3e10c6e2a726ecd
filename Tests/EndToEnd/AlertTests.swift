import Foundation
import Testing

extension EndToEnd {
    @Suite("Alerts", .serialized)
    struct AlertTests {
        @Test("each fire, and reach a webhook through a real Prometheus and a real Alertmanager")
        func firing() async throws {
            try await onStage { stage in
                let ports = try await stage.lastingPorts()
                let relay = try await stage.startRelay(options: ["--metrics-address", "127.0.0.1:0"])
                try await stage.addEndingKey(to: relay)
                let rules = Place.root.appending(path: "deploy/monitoring/postrider.rules.yml").path
                let program = try stage.python("alerted.py", [relay.file, stage.folder.path, rules] + ports)
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
                #expect(program.output.contains { $0.hasSuffix("alerts reached the webhook") })
            }
        }
    }
}

extension Stage {
    /// Gives a relay a provider key with an end, whose metric and alert there are then.
    func addEndingKey(to relay: RelayUnderTest) async throws {
        let added = try start(
            "postrider",
            [
                "keys", "add", path("dev/AuthKey_DEVKEY0001.p8"), "--key-id", "ENDING", "--team-id", "ENDING",
                "--valid-days", "30", "--control", relay.description.controlAddress,
            ])
        #expect(try await added.exitCode() == 0, "\(added.transcript)")
    }
}
