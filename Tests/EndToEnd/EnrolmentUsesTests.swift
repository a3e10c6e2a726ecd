import Foundation
import Testing

extension EndToEnd {
    @Suite("An enrolment key with a number of uses", .serialized)
    struct EnrolmentUsesTests {
        @Test("has no more of them after the relay was killed and started again")
        func restart() async throws {
            try await onStage { stage in
                let ports = try await stage.lastingPorts()
                var relay = try await stage.startRelay(ports)
                let made = try stage.start(
                    "postrider",
                    [
                        "enrolment-keys", "add", "pair", "--uses", "2", "--control",
                        relay.description.controlAddress,
                    ])
                #expect(try await made.exitCode() == 0, "\(made.transcript)")
                let file = try stage.write(try #require(made.output.first), to: "pair.key")
                func enrol(_ number: Int) throws -> Program {
                    try stage.start(
                        "postrider",
                        [
                            "device", "--relay", "127.0.0.1:\(ports[1])", "--ca",
                            relay.description.authorityFile,
                            "--enrolment-key-file", file, "--name", "device-\(number)",
                            "--topic", relay.description.topics[0], "--json",
                        ])
                }
                let first = try enrol(1)
                try await first.line { $0.contains("deviceToken") || $0.contains("token") }
                relay.program.send(SIGKILL)
                _ = try await relay.program.exitCode()
                relay = try await stage.startRelay(ports)
                let second = try enrol(2)
                try await second.line { $0.contains("deviceToken") || $0.contains("token") }
                let third = try enrol(3)
                #expect(try await third.exitCode() != 0)
                #expect(third.transcript.contains("was for 2 devices"))
                for program in [first, second] { program.send(SIGTERM) }
            }
        }
    }
}
