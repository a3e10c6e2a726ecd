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
