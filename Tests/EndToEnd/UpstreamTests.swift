import Foundation
import Testing

extension EndToEnd {
    @Suite("A relay that passes requests on", .serialized)
    struct UpstreamTests {
        /// A capture, as far as these tests look at it.
        private struct Capture: Decodable {
            struct Field: Decodable {
                let name: String
                let value: String
            }
            struct Answer: Decodable {
                let status: Int
                let reason: String?
                let headers: [Field]?
                let body: String?
            }
            struct Payload: Decodable, Equatable { let number: Int? }

            let outcome: String
            let headers: [Field]
            let payload: Payload?
            let token: String?
            let id: String
            let answer: Answer?
            let upstreamError: String?
            let rule: Rule?

            struct Rule: Decodable { let number: Int }

            /// The fields of the request but the host, in their order.
            var fields: [String] {
                headers.filter { ![":authority", "host", "authorization"].contains($0.name) }
                    .map { "\($0.name): \($0.value)" }
            }
        }

        /// A relay that passes on to another one.
        private struct Proxy {
            let relay: RelayUnderTest
            /// The file for programs that push to it with the key of the other one.
            let file: String

            init(to other: RelayUnderTest, _ stage: Stage, options: [String] = []) async throws {
                let program = try stage.start(
                    "postrider",
                    [
                        "dev", "--json", "--directory", stage.path("proxy"), "--provider-port", "0",
                        "--device-port", "0", "--upstream", "localhost:\(other.description.providerPort)",
                        "--upstream-ca", other.description.authorityFile,
                    ] + options)
                let line = try await program.line { $0.hasPrefix("{") && $0.contains(#""providerPort":"#) }
                let description = try JSONDecoder().decode(
                    RelayUnderTest.Description.self, from: Data(line.utf8))
                relay = RelayUnderTest(
                    program: program, description: description, file: try stage.write(line, to: "proxy.json"))
                var values = try Self.members(String(contentsOfFile: other.file, encoding: .utf8))
                let own = try Self.members(line)
                for name in ["host", "providerPort", "developmentProviderPort", "authorityFile"] {
                    values[name] = own[name]
                }
                let data = try JSONSerialization.data(withJSONObject: values)
                file = try stage.write(String(decoding: data, as: UTF8.self), to: "through.json")
            }

            private static func members(_ text: String) throws -> [String: Any] {
                try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
            }
        }

        private func captures(_ stage: Stage, of relay: RelayUnderTest) async throws -> [Capture] {
            let export = try stage.start(
                "postrider", ["captures", "--lines", "--control", relay.description.controlAddress])
            #expect(try await export.exitCode() == 0, "\(export.transcript)")
            return try export.output.map { try JSONDecoder().decode(Capture.self, from: Data($0.utf8)) }
        }

        /// Pushes with curl and the key of the relay in `dev`, and returns the status and the body of the answer.
        private func push(_ stage: Stage, to relay: RelayUnderTest, _ token: String) async throws -> String {
            let program = Place.products.appending(path: "postrider").path
            let (_, bearer) = try await stage.run(
                "env", [program, "token", "--directory", stage.path("dev")])
            let (_, output) = try await stage.run(
                "curl",
                [
                    "--silent", "--http2", "--cacert", relay.description.authorityFile, "--write-out",
                    " %{http_code}", "--header", "authorization: bearer \(bearer.joined())", "--header",
                    "apns-topic: com.example.app", "--data", #"{"aps":{"alert":"Tea"}}"#, relay.url(token),
                ])
            return output.joined()
        }

        @Test("gives aioapns the other relay's answers, and the device its pushes, and captures both")
        func passing() async throws {
            try await onStage { stage in
                let other = try await stage.startRelay()
                let device = try await stage.startDevice(of: other)
                let proxy = try await Proxy(to: other, stage)
                let identity = UUID()
                let good = try stage.python(
                    "push.py", [proxy.file, device.token, "--identity", identity.uuidString.lowercased()])
                #expect(try await good.exitCode() == 0, "\(good.transcript)")
                #expect(try await device.payload(of: identity).contains("from aioapns"))
                let bad = try stage.python("push.py", [proxy.file, "abcd"])
                #expect(try await bad.exitCode() != 0)
                #expect(bad.transcript.contains("the push was refused: 400 BadDeviceToken"))

                let (seen, got) = (
                    try await captures(stage, of: proxy.relay), try await captures(stage, of: other)
                )
                try #require(seen.count == 2 && got.count == 2)
                #expect(seen.map(\.outcome) == ["forwarded", "forwarded"])
                #expect(got.map(\.outcome) == ["accepted", "refused"])
                #expect(seen.map(\.fields) == got.map(\.fields))
                #expect(seen.map(\.payload) == got.map(\.payload) && seen[0].payload?.number == 1)
                #expect(seen.map(\.id) == got.map(\.id) && seen.map(\.answer?.status) == [200, 400])
                #expect(seen[0].answer?.headers?.contains { $0.name == "apns-id" } == true)
                #expect(seen[1].answer?.body == #"{"reason":"BadDeviceToken"}"#)
                #expect(seen[1].answer?.reason == "BadDeviceToken")
            }
        }

        @Test("does what its rules say first, and the other relay does not get that push")
        func rules() async throws {
            try await onStage { stage in
                let other = try await stage.startRelay(options: ["--any-token"])
                let rules = try stage.write(
                    "rules: [{match: {token: \"aa*\"}, do: {status: 410, timestamp: 7}}]\n", to: "rules.yaml")
                let proxy = try await Proxy(to: other, stage, options: ["--rules", rules])
                let (gone, fine) = (
                    String(repeating: "aa", count: 32), String(repeating: "bb", count: 32)
                )
                #expect(
                    try await push(stage, to: proxy.relay, gone)
                        == #"{"reason":"Unregistered","timestamp":7} 410"#)
                #expect(try await push(stage, to: proxy.relay, fine) == " 200")
                #expect(try await captures(stage, of: other).map(\.token) == [fine])
                let seen = try await captures(stage, of: proxy.relay)
                #expect(
                    seen.map(\.outcome) == ["scripted", "forwarded"] && seen.map(\.rule?.number) == [1, nil])
            }
        }

        @Test("answers 503 while the other relay is away, and passes on again when it is back")
        func away() async throws {
            try await onStage { stage in
                let ports = try await stage.lastingPorts()
                let other = try await stage.startRelay(ports, options: ["--any-token"])
                let proxy = try await Proxy(to: other, stage)
                let token = String(repeating: "cc", count: 32)
                #expect(try await push(stage, to: proxy.relay, token) == " 200")
                other.program.send(SIGTERM)
                #expect(try await other.program.exitCode() == 0, "\(other.program.transcript)")
                #expect(
                    try await push(stage, to: proxy.relay, token) == #"{"reason":"ServiceUnavailable"} 503"#)
                let refused = try await captures(stage, of: proxy.relay)
                #expect(refused.last?.outcome == "unanswered" && refused.last?.answer?.status == 503)
                #expect(refused.last?.upstreamError?.hasPrefix("there is no connection: ") == true)
                let warning = "a request was not passed on to localhost:\(ports[0])"
                try await proxy.relay.program.line { $0.contains(warning) }
                _ = try await stage.startRelay(ports, options: ["--any-token"])
                #expect(try await push(stage, to: proxy.relay, token) == " 200")
            }
        }
    }
}
