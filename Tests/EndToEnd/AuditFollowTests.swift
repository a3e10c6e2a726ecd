import Foundation
import Testing

extension EndToEnd {
    @Suite("The audit, followed", .serialized)
    struct AuditFollowTests {
        @Test("shows each change as it is recorded")
        func follow() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                func add(_ topic: String) async throws {
                    let control = relay.description.controlAddress
                    let program = try stage.start(
                        "postrider",
                        ["topics", "add", topic, "--team-id", "DEVTEAM000", "--control", control])
                    #expect(try await program.exitCode() == 0, "\(program.transcript)")
                }
                try await add("com.example.first")
                let all = try stage.start(
                    "postrider",
                    ["audit", "--follow", "--json", "--since", "1h", "--directory", stage.path("dev")])
                try await all.line { $0.contains(#""object":"com.example.first""#) }
                let table = try stage.start(
                    "postrider", ["audit", "-f", "--since", "1h", "--directory", stage.path("dev")])
                try await table.line { $0.contains("topics add  com.example.first") }
                try await add("com.example.second")
                try await all.line { $0.contains(#""object":"com.example.second""#) }
                try await table.line {
                    $0.contains("topics add  com.example.second") && $0.hasSuffix("done")
                }
                for program in [all, table] { program.send(SIGTERM) }
            }
        }
    }
}
