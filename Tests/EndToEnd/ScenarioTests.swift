import Foundation
import Testing

extension EndToEnd {
    @Suite("Scenarios of a relay for tests", .serialized)
    struct ScenarioTests {
        private static let library = Place.root.appending(path: "deploy/scenarios")

        /// Pushes a number of times over one connection, and returns the statuses.
        private func push(_ count: Int, _ stage: Stage, to relay: RelayUnderTest) async throws -> [String] {
            let bearer = try stage.start("postrider", ["token", "--directory", stage.path("dev")])
            #expect(try await bearer.exitCode() == 0)
            let url = relay.url(String(repeating: "a1", count: 32))
            let target = ["--output", "/dev/null", url]
            let (_, output) = try await stage.run(
                "curl",
                [
                    "--silent", "--http2", "--max-time", "10", "--cacert", relay.description.authorityFile,
                    "--write-out", "%{http_code}\n", "--header",
                    "authorization: bearer \(bearer.output.joined())",
                    "--header", "apns-topic: \(relay.topic)", "--data", #"{"aps":{"alert":"Tea"}}"#,
                ] + (0..<count).flatMap { _ in target })
            return output
        }

        @Test("begin when the relay is ready, and at the end the matches of each rule are told")
        func fromTheStart() async throws {
            try await onStage { stage in
                let scenario = try stage.write(
                    """
                    title: a short outage
                    phases:
                      - name: away
                        for: 1h
                        rules:
                          - {name: "every second", match: {nth: every 2}, do: {status: 503, retryAfter: rest}}
                          - {name: unused, match: {topic: org.example.other}, do: {status: 429}}
                      - {name: as usual}
                    """, to: "outage.yaml")
                let relay = try await stage.startRelay(options: ["--any-token", "--scenario", scenario])
                #expect(try await push(4, stage, to: relay) == ["200", "503", "200", "503"])
                relay.program.send(SIGTERM)
                #expect(try await relay.program.exitCode() == 0)
                let said = relay.program.transcript
                #expect(said.contains("rule 1 'every second' matched 2 of 4 pushes"), "\(said)")
                #expect(said.contains("rule 2 'unused' never matched"), "\(said)")
            }
        }

        @Test(
            "of the library run one by one",
            arguments: try FileManager.default.contentsOfDirectory(atPath: library.path).sorted())
        func each(_ name: String) async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay(options: [
                    "--any-token", "--scenario", Self.library.appending(path: name).path,
                ])
                #expect(try await push(2, stage, to: relay).count == 2)
                relay.program.send(SIGTERM)
                #expect(try await relay.program.exitCode() == 0)
                #expect(relay.program.transcript.contains("rule 1"), "\(relay.program.transcript)")
            }
        }

        @Test("apply to the relay of a load, which counts what they refuse")
        func load() async throws {
            try await onStage { stage in
                let scenario = try stage.write(
                    "rules: [{match: {nth: every 4}, do: {status: 429}}]\n", to: "throttle.yaml")
                let load = try stage.start(
                    "postrider",
                    [
                        "load", "push", "--devices", "5", "--count", "200", "--warm-up", "0s", "--json",
                        "--scenario", scenario,
                    ])
                _ = try await load.exitCode()
                let said = load.transcript
                #expect(said.contains(#""TooManyRequests":50"#), "\(said)")
                #expect(said.contains("rule 1 matched 50 of 200 pushes"), "\(said)")
            }
        }

        @Test(
            "that are wrong are refused before anything runs, with file and line",
            arguments: [
                ("phases: [{}, {}]", ":1:14: 'phases[1]' can never begin"),
                ("rules: [{do: {status: 503}}, {do: {lose: true}}]", ":1:30: 'rules[1]' can never match"),
                (
                    "rules: [{do: {stats: 503}}]",
                    "'rules[0].do.stats' is not a setting; did you mean 'status'?"
                ),
            ])
        func mistakes(_ text: String, _ sentence: String) async throws {
            try await onStage { stage in
                let file = try stage.write(text, to: "wrong.yaml")
                for command in [["dev", "--directory", stage.path("dev")], ["load"]] {
                    let program = try stage.start("postrider", command + ["--scenario", file])
                    #expect(try await program.exitCode() == 2)
                    #expect(program.transcript.contains("wrong.yaml"))
                    #expect(program.transcript.contains(sentence), "\(program.transcript)")
                }
            }
        }
    }
}
