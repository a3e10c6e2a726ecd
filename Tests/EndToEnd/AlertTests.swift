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
                let rules = Place.root.appending(path: "deploy/monitoring/postrider.rules.yml").path
                let program = try stage.python("alerted.py", [relay.file, stage.folder.path, rules] + ports)
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
                #expect(program.output.contains { $0.hasSuffix("alerts reached the webhook") })
            }
        }
    }
}
