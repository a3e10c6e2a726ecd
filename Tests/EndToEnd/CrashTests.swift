import Foundation
import Testing

extension EndToEnd {
    @Suite("A relay in the middle of many pushes", .serialized)
    struct CrashTests {
        @Test("that is killed, several times, and started again loses nothing that it accepted")
        func kills() async throws {
            try await onStage { stage in
                let ports = try await stage.lastingPorts()
                var relay = try await stage.startRelay(ports)
                let flood = try stage.python(
                    "flood.py", [relay.file, "--pushes", "2400", "--devices", "20", "--away", "--unordered"])
                for accepted in [300, 975, 1725] {
                    try await flood.line { $0 == "accepted \(accepted)" }
                    try await relay.program.cutOff()
                    relay = try await stage.startRelay(ports)
                }
                #expect(try await flood.exitCode() == 0, "\(flood.transcript)")
                #expect(flood.output.last?.hasPrefix("all 2424 notifications arrived once") == true)
            }
        }

        @Test("that is asked to end, and started again, loses nothing that it accepted")
        func restart() async throws {
            try await onStage { stage in
                let ports = try await stage.lastingPorts()
                let relay = try await stage.startRelay(ports)
                let flood = try stage.python(
                    "flood.py", [relay.file, "--pushes", "2400", "--devices", "20", "--away", "--unordered"])
                try await flood.line { $0 == "accepted 600" }
                relay.program.send(SIGTERM)
                #expect(try await relay.program.exitCode() == 0, "\(relay.program.transcript)")
                _ = try await stage.startRelay(ports)
                #expect(try await flood.exitCode() == 0, "\(flood.transcript)")
                #expect(flood.output.last?.hasPrefix("all 2424 notifications arrived once") == true)
            }
        }

        @Test("that is asked to end answers every open push and tells its devices when to return")
        func farewell() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let program = try stage.python("farewell.py", [relay.file])
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
                #expect(try await relay.program.exitCode() == 0, "\(relay.program.transcript)")
            }
        }

        @Test(
            "that is asked to end answers every push that a provider has begun, of thousands",
            .bug(id: "R21"),
            arguments: ["burst", "stream"])
        func drain(_ way: String) async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let device = try await stage.startDevice(of: relay)
                let node = try stage.start(
                    URL(filePath: "/usr/bin/node"),
                    [
                        Place.programs.appending(path: "drain.mjs").path, relay.file, device.token,
                        device.bearer, way,
                    ])
                #expect(try await node.exitCode() == 0, "\(node.transcript)")
                #expect(node.output == ["every push that was begun is answered"])
                #expect(try await relay.program.exitCode() == 0, "\(relay.program.transcript)")
            }
        }
    }
}
