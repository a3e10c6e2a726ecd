import Foundation
import Testing

extension EndToEnd {
    /// An agent whose relay has two addresses.
    @Suite("Several addresses of a relay", .serialized)
    struct RelayAddressTests {
        private func status(_ stage: Stage) async throws -> String? {
            try await stage.agentSays(["status"]).first { $0.contains("connected") }
        }

        @Test("are tried in turn, to enrol and to connect, and the first one is used again when it serves")
        func turns() async throws {
            try await onStage { stage in
                let ports = try await stage.lastingPorts()
                let relay = try await stage.startRelay(["0", ports[0]])
                let host = relay.description.host
                // Nobody listens on the preferred port.
                let places = ["\(host):\(ports[1])", "\(host):\(ports[0])"]
                let agent = try await stage.startAgent(of: relay, through: "\(ports[1]),\(places[1])")
                try await agent.line {
                    $0.contains("not enrolled at \(places[0]): ")
                        && $0.hasSuffix("next attempt at \(places[1])")
                }
                try await agent.line {
                    $0.contains("no link to \(places[0]): ") && $0.hasSuffix(" ms at \(places[1])")
                }
                try await agent.line { $0.contains("connected to \(places[1]),") }
                #expect(try await status(stage)?.contains("yes, to \(places[1])") == true)

                // The same relay, with the same store, comes back at its preferred address only.
                try await relay.program.strike()
                _ = try await stage.startRelay(["0", ports[1]])
                try await agent.line { $0.contains("connected to \(places[0]),") }
                #expect(try await status(stage)?.contains("yes, to \(places[0])") == true)
                #expect(!agent.transcript.contains("enrolling again"))
            }
        }

        @Test("get past one that takes connections and says nothing")
        func blackHole() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let enrolled = try await stage.startAgent(of: relay)
                try await enrolled.line { $0.contains("connected to ") }
                enrolled.send(SIGTERM)
                #expect(try await enrolled.exitCode() == 0)
                let hole = try await stage.python("hole.py", []).line { !$0.isEmpty }
                let place = "\(relay.description.host):\(relay.description.devicePort)"
                let agent = try await stage.startAgent(of: relay, through: "\(hole),\(place)")
                try await agent.line { $0.contains("no link to ") && $0.hasSuffix(" ms at \(place)") }
                try await agent.line { $0.contains("connected to \(place),") }
            }
        }
    }
}
