import Foundation
import Testing

extension EndToEnd {
    @Suite("postrider doctor", .serialized)
    struct DoctorTests {
        private struct Finding: Decodable {
            let severity: String
            let place: String
            let problem: String
            let remedy: String
        }

        /// Runs the command with a limit of open files, and returns its failures and its exit code.
        private func failures(
            _ stage: Stage, nofile: Int, _ arguments: [String]
        ) async throws -> (found: [Finding], code: Int32) {
            let program = try stage.start(
                URL(filePath: "/usr/bin/prlimit"),
                ["--nofile=\(nofile):\(nofile)", Place.products.appending(path: "postrider").path, "doctor"]
                    + arguments + ["--json"])
            let code = try await program.exitCode()
            let text = program.output.joined(separator: "\n")
            let findings = try JSONDecoder().decode([Finding].self, from: Data(text.utf8))
            return (findings.filter { $0.severity == "failure" }, code)
        }

        @Test("names the limit of open files and the port in use, and is content with a relay that runs")
        func relay() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                func write(_ name: String, control: String, data: String) throws -> String {
                    try stage.write(
                        """
                        certificate: \(stage.path("dev/relay.pem"))
                        private-key: \(stage.path("dev/relay.key"))
                        control-address: \(control)
                        provider-address: 127.0.0.1:\(relay.description.providerPort)
                        device-address: 127.0.0.1:\(relay.description.devicePort)
                        data-directory: \(data)
                        shards: 1
                        """, to: name)
                }
                let own = try write(
                    "own.yaml", control: relay.description.controlAddress, data: stage.path("dev/data"))
                let content = try await failures(stage, nofile: 4096, ["--config", own])
                #expect(content.found.isEmpty && [0, 4].contains(content.code), "\(content)")
                let other = try write(
                    "other.yaml", control: "unix:\(stage.path("other.sock"))", data: stage.path("new"))
                let taken = try await failures(stage, nofile: 4096, ["--config", other])
                #expect(taken.code == 1 && taken.found.count == 2)
                #expect(taken.found.first?.place == "127.0.0.1:\(relay.description.providerPort)")
                let few = try await failures(stage, nofile: 64, ["--config", own])
                #expect(few.code == 1 && few.found.map(\.place) == ["nofile"])
                #expect(!FileManager.default.fileExists(atPath: stage.path("new")))
                relay.program.send(SIGTERM)
                #expect(try await relay.program.exitCode() == 0)
            }
        }
    }
}
