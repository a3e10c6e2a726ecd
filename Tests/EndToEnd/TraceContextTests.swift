import Foundation
import Testing

extension EndToEnd {
    @Suite("A provider's trace context", .serialized)
    struct TraceContextTests {
        private static let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

        /// Pushes with curl and returns the status.
        private func push(
            _ token: String, _ body: String, _ headers: [String], of relay: RelayUnderTest, on stage: Stage
        ) async throws -> String {
            let bearer = try stage.start("postrider", ["token", "--directory", stage.path("dev")])
            #expect(try await bearer.exitCode() == 0)
            let all = ["authorization: bearer \(bearer.output[0])", "apns-topic: \(relay.topic)"] + headers
            let curl = try await stage.run(
                "curl",
                [
                    "--silent", "--http2", "--cacert", relay.description.authorityFile, "--output",
                    "/dev/null",
                    "--write-out", "%{http_code}", "--data", #"{"aps":{"alert":{"body":"\#(body)"}}}"#,
                ] + all.flatMap { ["--header", $0] } + [relay.url(token)])
            return curl.output.joined()
        }

        /// The lines that the handler has written.
        private func journal(_ stage: Stage) -> [String] {
            let text = (try? String(contentsOfFile: stage.path("journal"), encoding: .utf8)) ?? ""
            return text.split(separator: "\n").map(String.init)
        }

        /// A span, as collector.py prints it.
        private struct Span: Decodable {
            let service: String
            let name: String
            let kind: String
            let trace: String
            let span: String
            let parent: String
            let state: String
            let milliseconds: Double
            let failure: String
        }

        private func spans(_ collector: Program) throws -> [Span] {
            try collector.output.filter { $0.hasPrefix("{") }
                .map { try JSONDecoder().decode(Span.self, from: Data($0.utf8)) }
        }

        /// A relay that sends spans to a port of this machine, and an agent with a handler whose exit code is the body.
        private func start(
            on stage: Stage, port: String, _ options: [String] = []
        ) async throws -> (relay: RelayUnderTest, token: String) {
            let relay = try await stage.startRelay(
                options: ["--otlp-endpoint", "http://127.0.0.1:\(port)"] + options)
            try stage.handle(#"exit "$POSTRIDER_BODY""#, topic: relay.topic)
            _ = try await stage.startAgent(
                of: relay, options: ["--apps-directory", stage.path("apps"), "--delivery-attempts", "1"])
            return (relay, try await stage.token(of: relay))
        }

        @Test("is continued by the spans of a push, which a collector gets; the flag says of which pushes")
        func collected() async throws {
            try await onStage { stage in
                let collector = try stage.python("collector.py", [])
                let port = try await collector.line(startingWith: "port ")
                let (relay, token) = try await start(on: stage, port: port)
                let unsampled = Self.parent.dropLast() + "0"
                for (body, headers) in [
                    ("0", ["traceparent: \(unsampled)"]), ("0", []),
                    ("0", ["traceparent: \(Self.parent)", "tracestate: a=1"]),
                    ("3", ["traceparent: \(Self.parent)"]),
                ] {
                    #expect(try await push(token, body, headers, of: relay, on: stage) == "200")
                }
                let observers = "observer \(relay.topic)"
                try await collector.line { $0.contains(observers) && $0.contains("code 3") }
                let all = try spans(collector)
                #expect(all.allSatisfy { $0.trace == "0af7651916cd43dd8448eb211c80319c" })
                #expect(all.allSatisfy { $0.service == "postrider" && $0.milliseconds >= 0 })
                let first = all.filter { $0.state == "a=1" && !$0.name.hasPrefix("commit") }
                #expect(
                    first.map { "\($0.name) \($0.kind)" } == [
                        "accept \(relay.topic) SERVER", "deliver \(relay.topic) PRODUCER",
                        "hand over \(relay.topic) INTERNAL", "\(observers) CONSUMER",
                    ])
                #expect(first.first?.parent == "b7ad6b7169203331")
                #expect(first.dropFirst().map(\.parent) == first.dropLast().map(\.span))
                #expect(all.filter { $0.name == observers }.map(\.failure.isEmpty) == [true, false])
            }
        }

        @Test("is continued by the spans of plain sends, of broadcasts, and of messages of Web Push")
        func otherWays() async throws {
            try await onStage { stage in
                let collector = try stage.python("collector.py", [])
                let port = try await collector.line(startingWith: "port ")
                let webPort = try await stage.lastingPorts()[0]
                let relay = try await stage.startRelay(
                    options: ["--otlp-endpoint", "http://127.0.0.1:\(port)", "--web-port", webPort])
                let postrider = Place.products.appending(path: "postrider").path
                let program = try stage.python("other_pushes.py", [relay.file, postrider, Self.parent])
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
                for topic in [relay.topic, "web-push"] {
                    try await collector.line { $0.contains("deliver \(topic)") && !$0.contains("channel") }
                }
                try await collector.line { $0.contains("deliver \(relay.topic)") && $0.contains("channel") }
                let all = try spans(collector)
                #expect(
                    all.allSatisfy { $0.trace == "0af7651916cd43dd8448eb211c80319c" && $0.state == "a=1" })
                let accepts = all.filter { $0.name.hasPrefix("accept ") }
                #expect(accepts.count == 3 && accepts.allSatisfy { $0.parent == "b7ad6b7169203331" })
                let delivers = all.filter { $0.name.hasPrefix("deliver ") }
                #expect(delivers.count == 3)
                #expect(Set(delivers.map(\.parent)) == Set(accepts.map(\.span)))
                #expect(delivers.allSatisfy { $0.failure.isEmpty })
            }
        }

        @Test("may be the relay's own, for pushes whose provider has none")
        func sample() async throws {
            try await onStage { stage in
                let collector = try stage.python("collector.py", [])
                let port = try await collector.line(startingWith: "port ")
                let (relay, token) = try await start(on: stage, port: port, ["--otlp-sample", "1"])
                #expect(try await push(token, "0", [], of: relay, on: stage) == "200")
                try await collector.line { $0.contains("observer ") }
                let all = try spans(collector)
                #expect(Set(all.map(\.trace)).count == 1)
                #expect(all.filter { $0.parent.isEmpty }.map(\.name) == ["accept \(relay.topic)"])
            }
        }

        @Test(
            "holds no push up if its collector is silent or refuses, and the relay ends in order",
            arguments: [["--silent"], ["--status", "400"]])
        func noCollector(_ options: [String]) async throws {
            try await onStage { stage in
                let collector = try stage.python("collector.py", options)
                let port = try await collector.line(startingWith: "port ")
                let (relay, token) = try await start(on: stage, port: port)
                for _ in 0..<20 {
                    let headers = ["traceparent: \(Self.parent)"]
                    #expect(try await push(token, "0", headers, of: relay, on: stage) == "200")
                }
                if options != ["--silent"] {
                    try await relay.program.line { $0.contains("spans are not taken") }
                }
                relay.program.send(SIGTERM)
                #expect(try await relay.program.exitCode() == 0)
            }
        }

        @Test("has settings that are checked when the relay is started")
        func settings() async throws {
            try await onStage { stage in
                for (options, words) in [
                    (["--otlp-sample", "9"], "otlp-endpoint"),
                    (["--otlp-endpoint", "nonsense"], "--otlp-endpoint must be a URL"),
                    (["--otlp-endpoint", "http://127.0.0.1:1/?a"], "--otlp-endpoint must be a URL"),
                    (["--otlp-endpoint", "http://127.0.0.1:1", "--otlp-sample", "0"], "whole number"),
                    (["--otlp-endpoint", "http://127.0.0.1:1", "--trace", "false"], "leave out trace"),
                ] {
                    let relay = try stage.start(
                        "postrider",
                        [
                            "dev", "--directory", stage.path("dev"), "--provider-port", "0", "--device-port",
                            "0",
                        ]
                            + ["--development-port", "0"] + options)
                    #expect(try await relay.exitCode() == 2)
                    #expect(relay.errors.contains { $0.contains(words) }, "\(relay.transcript)")
                }
            }
        }

        @Test("reaches a handler, also from the store of a relay; an invalid one is ignored")
        func handler() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let script =
                    #"echo "$POSTRIDER_BODY ${POSTRIDER_TRACEPARENT-none} ${POSTRIDER_TRACESTATE-none}" "#
                    + #">> "$0""#
                try stage.handle(script, topic: relay.topic)
                let options = ["--apps-directory", stage.path("apps")]
                let first = try await stage.startAgent(of: relay, options: options)
                let token = try await stage.token(of: relay)
                first.send(SIGTERM)
                #expect(try await first.exitCode() == 0)
                let pushes = [
                    ("one", ["traceparent: \(Self.parent)", "tracestate: a=1", "tracestate: b=2"]),
                    ("two", []), ("three", ["traceparent: 00-\(Self.parent)", "tracestate: a=1"]),
                    ("four", ["traceparent: \(Self.parent)"]),
                ]
                for (body, headers) in pushes {
                    #expect(try await push(token, body, headers, of: relay, on: stage) == "200")
                }
                _ = try await stage.startAgent(of: relay, options: options)
                let expected = [
                    "one \(Self.parent) a=1,b=2", "two none none", "three none none",
                    "four \(Self.parent) none",
                ]
                let deadline = ContinuousClock.now + .seconds(Program.patienceSeconds)
                while journal(stage).count < expected.count, ContinuousClock.now < deadline {
                    _ = try await stage.run("true", [])
                }
                #expect(journal(stage) == expected)
            }
        }
    }
}
