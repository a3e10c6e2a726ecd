import Foundation
import Testing

extension EndToEnd {
    @Suite("Captures and rules over HTTP/1.1", .serialized)
    struct CapturesPortTests {
        private static let token = String(repeating: "a1", count: 32)

        /// A relay with the port, and the URL of the port.
        private func start(_ stage: Stage) async throws -> (relay: RelayUnderTest, port: String) {
            let relay = try await stage.startRelay(
                options: [
                    "--any-token", "--captures-address", "127.0.0.1:0", "--metrics-address", "127.0.0.1:0",
                ])
            return (relay, "http://" + (try #require(relay.description.capturesAddress)))
        }

        /// Runs curl with HTTP/1.1, and returns what it got.
        private func curl(_ stage: Stage, _ arguments: [String]) async throws -> String {
            let (code, output) = try await stage.run(
                "curl", ["--silent", "--show-error", "--http1.1"] + arguments)
            #expect(code == 0, "\(output)")
            return output.joined(separator: "\n")
        }

        /// Pushes as any provider does, and returns the status.
        private func push(_ stage: Stage, to relay: RelayUnderTest) async throws -> String {
            let (code, bearer) = try await stage.run(
                "env",
                [
                    Place.products.appending(path: "postrider").path, "token", "--directory",
                    stage.path("dev"),
                ])
            #expect(code == 0)
            let (_, output) = try await stage.run(
                "curl",
                [
                    "--silent", "--http2", "--cacert", relay.description.authorityFile, "--output",
                    "/dev/null",
                    "--write-out", "%{http_code}", "--header", "authorization: bearer \(bearer.joined())",
                    "--header", "apns-topic: \(relay.topic)", "--data", #"{"aps":{"alert":"Tea"}}"#,
                    relay.url(Self.token),
                ])
            return output.joined()
        }

        @Test("are there for curl: it waits for a push, reads it, and says what becomes of the next one")
        func requests() async throws {
            try await onStage { stage in
                let (relay, port) = try await start(stage)
                let waiting = try stage.start(
                    URL(filePath: "/usr/bin/curl"),
                    ["--silent", "\(port)/v1/captures?wait=60s&token=\(Self.token)"])
                #expect(try await push(stage, to: relay) == "200")
                #expect(try await waiting.exitCode() == 0)
                let answer = waiting.output.joined()
                #expect(
                    answer.contains(#""isComplete":true"#)
                        && answer.contains(#""payload":{"aps":{"alert":"Tea"}}"#))

                let rules = try stage.write("rules: [{do: {status: 503}}]\n", to: "rules.yaml")
                let counts = try await curl(stage, ["--upload-file", rules, "\(port)/v1/rules"])
                #expect(counts.contains(#""matched":0"#))
                #expect(try await push(stage, to: relay) == "503")
                #expect(
                    try await curl(stage, ["\(port)/v1/captures?status=503"]).contains(
                        #""outcome":"scripted""#))
                let metrics = "http://" + (try #require(relay.description.metricsAddress)) + "/metrics"
                let counter = #"postrider_pushes_total{outcome="rejected",reason="ServiceUnavailable"} 1"#
                #expect(try await curl(stage, [metrics]).contains(counter))
                #expect(try await curl(stage, ["--request", "DELETE", "\(port)/v1/captures"]) == "{}")
                #expect(try await curl(stage, ["\(port)/v1/captures"]).contains(#""captures":[]"#))
                let foreign = try await curl(
                    stage,
                    [
                        "--header", "Origin: https://evil.example", "--request", "DELETE",
                        "\(port)/v1/captures",
                    ])
                #expect(foreign.contains("Pages of other sites get no answer here"))
            }
        }

        @Test(
            "are written to a file of either form, and pushed again from it by either command",
            arguments: [("--lines", ["replay"]), ("--har", ["send", "--replay"])])
        func replay(_ form: String, _ command: [String]) async throws {
            try await onStage { stage in
                let (relay, port) = try await start(stage)
                for _ in 0..<3 { #expect(try await push(stage, to: relay) == "200") }
                let control = ["--control", relay.description.controlAddress]
                let export = try stage.start("postrider", ["captures", form] + control)
                #expect(try await export.exitCode() == 0, "\(export.transcript)")
                let file = try stage.write(export.output.joined(separator: "\n") + "\n", to: "day.jsonl")
                _ = try await curl(stage, ["--request", "DELETE", "\(port)/v1/captures"])
                let replay = try stage.start(
                    "postrider",
                    command + [file, "--json", "--speed", "1000", "--directory", stage.path("dev")])
                #expect(try await replay.exitCode() == 0, "\(replay.transcript)")
                #expect(replay.output.joined().contains(#""accepted":3"#), "\(replay.transcript)")
                let captures = try await curl(stage, ["\(port)/v1/captures?token=\(Self.token)&format=lines"])
                let lines = captures.split(separator: "\n")
                #expect(lines.count == 3)
                #expect(lines.allSatisfy { $0.hasSuffix(#""payload":{"aps":{"alert":"Tea"}}}"#) })
            }
        }

        @Test("are there with 'postrider serve' as well, whose log says where")
        func served() async throws {
            try await onStage { stage in
                let dev = try await stage.startRelay()
                dev.program.send(SIGTERM)
                #expect(try await dev.program.exitCode() == 0)
                let folder = stage.path("dev")
                let serve = try stage.startServe(
                    options: ["--capture", "true", "--captures-address", "127.0.0.1:0"])
                let ready = try await serve.line { $0.contains("ready: ") }
                let captures = try #require(ready.firstMatch(of: /tests to (127\.0\.0\.1:\d+)/))
                let port = "http://\(captures.1)/v1"
                let provider = try #require(ready.firstMatch(of: /providers connect to (127\.0\.0\.1:\d+)/))
                let options = ["--silent", "--http2", "--cacert", folder + "/authority.pem"]
                let push = ["--data", "{}", "https://\(provider.1)/3/device/\(Self.token)"]
                _ = try await stage.run("curl", options + push)
                let found = try await curl(stage, ["\(port)/captures?wait=60s&token=\(Self.token)"])
                #expect(found.contains(#""reason":"MissingProviderToken","status":403"#), "\(found)")
                let rules = try stage.write("rules: [{do: {status: 503}}]\n", to: "rules.yaml")
                let counts = try await curl(stage, ["--upload-file", rules, "\(port)/rules"])
                #expect(counts.contains(#""matched":0"#))
                serve.send(SIGTERM)
                #expect(try await serve.exitCode() == 0, "\(serve.transcript)")
            }
        }

        @Test("are anonymised, and pushed again from that file as pushes of the same lengths")
        func anonymised() async throws {
            try await onStage { stage in
                let (relay, port) = try await start(stage)
                for _ in 0..<2 { #expect(try await push(stage, to: relay) == "200") }
                let export = try stage.start(
                    "postrider", ["captures", "--lines", "--control", relay.description.controlAddress])
                #expect(try await export.exitCode() == 0, "\(export.transcript)")
                let file = try stage.write(export.output.joined(separator: "\n") + "\n", to: "day.jsonl")
                let anonymise = try stage.start("postrider", ["captures", "anonymise", file])
                #expect(try await anonymise.exitCode() == 0, "\(anonymise.transcript)")
                #expect(anonymise.output.map(\.utf8.count) == export.output.map(\.utf8.count))
                let load = anonymise.output.joined(separator: "\n") + "\n"
                #expect(!load.contains("Tea") && !load.contains(Self.token) && load.contains(relay.topic))
                let replay = try stage.start(
                    "postrider",
                    ["replay", "--json", "--directory", stage.path("dev")]
                        + [try stage.write(load, to: "load.jsonl")])
                #expect(try await replay.exitCode() == 0, "\(replay.transcript)")
                #expect(replay.output.joined().contains(#""accepted":2"#), "\(replay.transcript)")
                let pushes = try await curl(stage, ["\(port)/v1/captures?after=2&format=lines"])
                    .split(separator: "\n").map { try JSONDecoder().decode(Push.self, from: Data($0.utf8)) }
                try #require(pushes.count == 2)
                #expect(pushes[0].token == pushes[1].token && pushes[0].token != Self.token)
                #expect(pushes[0].payload == pushes[1].payload && pushes[0].payload.aps.alert.count == 3)

                let wrong = try stage.start(
                    "postrider", ["captures", "anonymise", try stage.write("{}\n", to: "wrong.jsonl")])
                #expect(try await wrong.exitCode() == 2)
                #expect(wrong.transcript.contains("wrong.jsonl:1: this line is no capture"))
                let short = try stage.write("123\n", to: "secret")
                _ = try await stage.run("chmod", ["600", short])
                let guessed = try stage.start(
                    "postrider", ["captures", "anonymise", "--key-file", short, file])
                #expect(try await guessed.exitCode() == 2)
                #expect(guessed.transcript.contains("has 3 bytes, and whoever guesses it"))
            }
        }

        /// What a test looks for in a capture.
        private struct Push: Decodable {
            struct Payload: Decodable, Equatable {
                struct APS: Decodable, Equatable { let alert: String }
                let aps: APS
            }
            let token: String
            let payload: Payload
        }

        @Test("are written as an HTTP Archive that haralyzer reads")
        func archive() async throws {
            try await onStage { stage in
                let (relay, port) = try await start(stage)
                #expect(try await push(stage, to: relay) == "200")
                let rules = try stage.write("rules: [{do: {status: 410, timestamp: 7}}]\n", to: "rules.yaml")
                _ = try await curl(stage, ["--upload-file", rules, "\(port)/v1/rules"])
                #expect(try await push(stage, to: relay) == "410")
                let export = try stage.start(
                    "postrider", ["captures", "--har", "--control", relay.description.controlAddress])
                #expect(try await export.exitCode() == 0, "\(export.transcript)")
                let file = try stage.write(export.output.joined(separator: "\n"), to: "captures.har")
                let reader = try stage.python("har.py", [file])
                #expect(try await reader.exitCode() == 0, "\(reader.transcript)")
                let request =
                    "POST HTTP/2 device/\(Self.token) \(relay.topic) "
                    + #"{"aps":{"alert":"Tea"}}"#
                #expect(
                    reader.output == [
                        "1.2 postrider", "\(request) 200 no body in time",
                        #"\#(request) 410 {"reason":"Unregistered","timestamp":7} in time"#,
                    ], "\(reader.transcript)")
            }
        }

        @Test("stream each push as an event on the control socket, and are followed there by the command")
        func controlEvents() async throws {
            try await onStage { stage in
                let (relay, _) = try await start(stage)
                let socket = relay.description.controlAddress.replacing("unix:", with: "")
                let events = try stage.start(
                    URL(filePath: "/usr/bin/curl"),
                    [
                        "--silent", "--no-buffer", "--http2-prior-knowledge", "--unix-socket", socket,
                        "http://localhost/v1/captures/events?status=200",
                    ])
                try await events.line { $0 == ": captures follow" }
                let follower = try stage.start(
                    "postrider",
                    ["captures", "--follow", "--json", "--control", relay.description.controlAddress])
                // The command sees nothing before the relay has got its request.
                for _ in 0..<100 where follower.output.isEmpty {
                    #expect(try await push(stage, to: relay) == "200")
                }
                try await follower.line { $0.contains(#""payload":{"aps":{"alert":"Tea"}}"#) }
                try await events.line { $0 == "id: 1" }
                try await events.line { $0.hasPrefix("data: {") && $0.contains("Tea") }
                follower.send(SIGTERM)
                let wrong = try stage.start(
                    "postrider",
                    ["captures", "--follow", "--control", "unix:" + stage.path("nobody.sock")])
                #expect(try await wrong.exitCode() == 1)
                #expect(wrong.transcript.contains("No relay answers at"), "\(wrong.transcript)")
            }
        }

        @Test("stream each push as an event, and end with the relay")
        func events() async throws {
            try await onStage { stage in
                let (relay, port) = try await start(stage)
                let events = try stage.start(
                    URL(filePath: "/usr/bin/curl"), ["--silent", "--no-buffer", "\(port)/v1/captures/events"])
                try await events.line { $0 == ": captures follow" }
                #expect(try await push(stage, to: relay) == "200")
                try await events.line { $0 == "id: 1" }
                try await events.line { $0.hasPrefix("data: {") && $0.contains("Tea") }
                relay.program.send(SIGTERM)
                #expect(try await relay.program.exitCode() == 0, "\(relay.program.transcript)")
                _ = try await events.exitCode()
            }
        }
    }
}
