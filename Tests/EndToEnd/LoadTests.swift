import Foundation
import Testing

extension EndToEnd {
    @Suite("The load harness", .serialized)
    struct LoadTests {
        /// The fields of a result that the tests read.
        struct Result: Decodable {
            struct Phase: Decodable {
                let name: String
                let accepted: Int
                let delivered: Int
                let broadcastsDelivered: Int
                let connections: Int
                let refused: [String: Int]
            }
            struct Verdict: Decodable {
                let lost: Int
                let doubled: Int
                let strayed: Int
                let altered: Int
            }
            let schema: Int
            let phases: [Phase]
            let verdict: Verdict
            let relayLosses: [String: Int]?

            /// Returns the phase of this name.
            func phase(_ name: String) throws -> Phase { try #require(phases.first { $0.name == name }) }
        }

        func run(
            _ arguments: [String], on stage: Stage, exitCode: Int32 = 0
        ) async throws -> Result {
            let program = try stage.start("postrider", ["load", "--json"] + arguments)
            #expect(try await program.exitCode() == exitCode, "\(program.transcript)")
            let line = try #require(program.output.first, "\(program.transcript)")
            return try JSONDecoder().decode(Result.self, from: Data(line.utf8))
        }

        func expectClean(_ result: Result) {
            #expect(result.verdict.lost == 0 && result.verdict.doubled == 0)
            #expect(result.verdict.strayed == 0 && result.verdict.altered == 0)
        }

        @Test("counts every push of a closed loop, and finds that each has come once")
        func push() async throws {
            try await onStage { stage in
                let arguments = [
                    "push", "--devices", "30", "--apps", "2", "--threads", "2", "--count", "600", "--warm-up",
                    "0s",
                ]
                let result = try await run(arguments, on: stage)
                expectClean(result)
                let (push, connect) = (try result.phase("push"), try result.phase("connect"))
                #expect(push.accepted == 600)
                #expect(push.delivered == 600)
                #expect(push.refused.isEmpty)
                // There are 30 devices and 4 providers.
                #expect(connect.connections == 34)
            }
        }

        @Test(
            "waits for nothing that is pushed to devices that stay away", arguments: [[], ["--now-or-never"]])
        func absent(_ more: [String]) async throws {
            try await onStage { stage in
                let arguments = ["push", "--absent", "--devices", "5", "--count", "100", "--warm-up", "0s"]
                let result = try await run(arguments + more, on: stage)
                expectClean(result)
                #expect(try result.phase("push").accepted == 100)
                #expect(try result.phase("push").delivered == 0)
            }
        }

        @Test(
            "finds nothing lost and nothing doubled in each scenario",
            arguments: [
                ["idle", "--for", "200ms"], ["storm", "--for", "300ms", "--rate", "200"],
                ["offline", "--count", "300"], ["fanout", "--count", "10", "--rate", "50"],
                ["mixed", "--for", "2s", "--rate", "100"], ["soak", "--for", "2s", "--rate", "100"],
            ])
        func scenarios(_ arguments: [String]) async throws {
            try await onStage { stage in
                let result = try await run(arguments + ["--devices", "20"], on: stage)
                expectClean(result)
                for phase in result.phases { #expect(phase.refused.isEmpty, "\(phase)") }
                switch arguments[0] {
                case "offline":
                    #expect(try result.phase("store").delivered == 0)
                    #expect(try result.phase("return").delivered == 300)
                case "fanout": #expect(try result.phase("fanout").broadcastsDelivered == 200)
                case "storm": #expect(try result.phase("storm").connections == 20)
                default: break
                }
            }
        }

        @Test("has devices connect no faster than they are to, on all threads together")
        func connectRate() async throws {
            try await onStage { stage in
                // Fifteen devices on each thread, of which the last connects 1.4 s after the first.
                let arguments = [
                    "idle", "--devices", "30", "--threads", "2", "--connect-rate", "20", "--for", "100ms",
                    "--expect", "connect.seconds>=1.3,connections=0,connect.connections=34",
                ]
                expectClean(try await run(arguments, on: stage))
            }
        }

        @Test("finds no broadcast doubled where they come close upon each other")
        func broadcasts() async throws {
            try await onStage { stage in
                let arguments = ["fanout", "--devices", "10", "--count", "100", "--rate", "20000"]
                let result = try await run(arguments, on: stage)
                expectClean(result)
                #expect(try result.phase("fanout").broadcastsDelivered == 1000)
            }
        }

        @Test("carries out a scenario file, tells it as a page, and compares it with an earlier run")
        func files() async throws {
            try await onStage { stage in
                let file = try stage.write(
                    """
                    name: brief
                    fleet: {devices: 5, providers: 1}
                    steps:
                      - {do: connect, phase: begin}
                      - {do: push, in-flight: 10, count: 50, phase: middle}
                      - {do: drain, phase: end}
                    main: middle
                    """, to: "brief.yaml")
                let (saved, page) = (stage.path("result.json"), stage.path("result.html"))
                let result = try await run([file, "--save", saved, "--report", page], on: stage)
                #expect(try result.phase("middle").delivered == 50)
                #expect(try String(contentsOfFile: page, encoding: .utf8).hasPrefix("<!doctype html>"))

                let second = try stage.start("postrider", ["load", file, "--baseline", saved])
                #expect(try await second.exitCode() == 0, "\(second.transcript)")
                #expect(second.output.contains { $0.hasPrefix("brief: 5 devices") })
                #expect(second.output.contains { $0.hasPrefix("figure") && $0.contains("ratio") })
            }
        }

        @Test("asks a relay that can be asked what it gave up, and tells it beside what was lost")
        func losses() async throws {
            try await onStage { stage in
                let file = try stage.write(
                    """
                    name: too-many
                    fleet: {devices: 1, providers: 1}
                    steps: [{do: connect}, {do: leave}, {do: push, in-flight: 10, count: 1100},
                      {do: connect}, {do: drain, within: 2s}]
                    """, to: "too-many.yaml")
                let result = try await run([file], on: stage, exitCode: 1)
                #expect(result.verdict.lost == 100)
                #expect(result.relayLosses == ["overflow": 100])
            }
        }

        @Test("ends with 1 and a sentence for each expectation that is missed")
        func expectations() async throws {
            try await onStage { stage in
                let program = try stage.start(
                    "postrider",
                    [
                        "load", "push", "--devices", "5", "--count", "50", "--warm-up", "0s", "--expect",
                        "lost=0,accepted=50,p50<1us", "--expect", "leak<3",
                    ])
                #expect(try await program.exitCode() == 1)
                #expect(program.errors.count == 2, "\(program.transcript)")
                #expect(program.errors.first?.hasPrefix("postrider: Expected p50<1us, but p50 is ") == true)
                #expect(program.errors.last?.contains("no figure leak") == true)
            }
        }

        @Test("drives a relay that runs already, and as a provider only any server that takes pushes")
        func others() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let short = ["push", "--devices", "5", "--count", "50", "--warm-up", "0s"]
                let first = try await run(short + ["--directory", stage.path("dev")], on: stage)
                expectClean(first)
                #expect(try first.phase("push").delivered == 50)

                let ports = [
                    (relay.description.providerPort, "InvalidProviderToken"),
                    // On the port for devices, gRPC answers every request with status 200.
                    (relay.description.devicePort, "answered with gRPC: this is no provider API"),
                ]
                for (port, reason) in ports {
                    let target = ["--target", "https://localhost:\(port)", "--provider-only"]
                    let arguments = short + target + ["--ca", relay.description.authorityFile]
                    let program = try stage.start("postrider", ["load"] + arguments)
                    #expect(try await program.exitCode() == 1, "\(program.transcript)")
                    let sentence =
                        "postrider: Nothing was accepted: 50 of 50 pushes were refused, most of them with: "
                        + "\(reason)."
                    #expect(program.errors == [sentence])
                    // A run with this expectation ends with success.
                    let expected = try await run(arguments + ["--expect", "refused=50"], on: stage)
                    #expect(try expected.phase("push").refused == [reason: 50])
                }
            }
        }

        @Test("shows a server that wants one its client certificate in place of tokens")
        func certificate() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let device = try await stage.startDevice(of: relay)
                let certificate = relay.description.providerCertificateFile
                let key = stage.path("dev/provider.key")
                let result = try await run(
                    [
                        "push", "--count", "50", "--warm-up", "0s", "--provider-only",
                        "--target", "localhost:\(relay.description.providerPort)",
                        "--ca", relay.description.authorityFile, "--topic", relay.topic,
                        "--tokens", try stage.write(device.token, to: "tokens"),
                        "--certificate", certificate, "--private-key", key,
                    ], on: stage)
                #expect(try result.phase("push").accepted == 50)
                #expect(try result.phase("push").refused.isEmpty)
            }
        }
    }
}
