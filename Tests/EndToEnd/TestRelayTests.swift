import Foundation
import PostriderTesting
import Testing

extension EndToEnd {
    /// Tests the library PostriderTesting, with curl as the provider.
    @Suite("A relay for the tests of a package in Swift", .serialized)
    struct TestRelayTests {
        private static let program = Place.products.appending(path: "postrider").path
        /// A device token that no relay has given out.
        private static let stranger = String(repeating: "ab", count: 32)

        /// Pushes with curl, and returns what it prints: the status, or what it says if there is none.
        private func push(
            _ payload: String, to token: String, of relay: TestRelay, on stage: Stage
        ) async throws -> String {
            let bearer = try stage.start(
                "postrider",
                [
                    "token", "--key-file", relay.keyFile, "--key-id", relay.keyIdentifier, "--team-id",
                    relay.team,
                ])
            #expect(try await bearer.exitCode() == 0, "\(bearer.transcript)")
            let (_, output) = try await stage.run(
                "curl",
                [
                    "--silent", "--http2", "--cacert", relay.authorityFile, "--output", "/dev/null",
                    "--write-out", "%{http_code}\\n", "--header",
                    "authorization: bearer \(bearer.output.first ?? "")",
                    "--header", "apns-topic: \(relay.topic)", "--header", "apns-push-type: alert",
                    "--data", payload, "https://\(relay.host):\(relay.providerPort)/3/device/\(token)",
                ])
            return output.first ?? ""
        }

        /// Returns the sentence of the error with which a call ends; empty if it succeeds.
        private func sentence(_ call: () async throws -> Void) async -> String {
            do {
                try await call()
                return ""
            } catch {
                return "\(error)"
            }
        }

        @Test("shows what a provider pushed, and its device receives that")
        func captures() async throws {
            try await onStage { stage in
                try await TestRelay.with(program: Self.program) { relay in
                    let device = try await relay.device()
                    let payload = #"{"aps":{"alert":{"title":"Tea","body":"é"},"badge":3},"at":1.5}"#
                    #expect(try await push(payload, to: device.token, of: relay, on: stage) == "200")
                    let received = try await device.wait()
                    #expect(received.map(\.payload["aps"]?["badge"]) == [3])
                    let captures = try await relay.captures.wait(
                        where: .topic("com.example.app"), .token(device.token))
                    try #require(captures.count == 1)
                    #expect(captures[0].identifier == received[0].identifier)
                    try captures[0].expect(
                        status: 200, outcome: .accepted, pushType: "alert",
                        headers: ["apns-topic": "com.example.app"],
                        payload: ["aps": ["alert": ["title": "Tea", "body": "é"]], "at": 1.5])
                }
            }
        }

        @Test("follows rules, counts their matches, and forgets them")
        func rules() async throws {
            try await onStage { stage in
                try await TestRelay.with(program: Self.program) { relay in
                    try await relay.rules.set("rules: [{name: gone, match: {nth: 1}, do: {status: 410}}]")
                    #expect(try await push("{}", to: Self.stranger, of: relay, on: stage) == "410")
                    #expect(try await push("{}", to: Self.stranger, of: relay, on: stage) == "200")
                    let captures = try await relay.captures.wait(count: 2)
                    #expect(captures.map(\.outcome) == [.scripted, .captured])
                    #expect(captures.map(\.rule) == [1, nil])
                    let counts = try await relay.rules.counts()
                    #expect(counts.map(\.name) == ["gone"] && counts.map(\.matched) == [1])
                    let mistake = await sentence {
                        try await relay.rules.set("rules: [{do: {status: 503}, matc: {}}]")
                    }
                    #expect(mistake.hasPrefix("rules:1:") && mistake.contains("did you mean 'match'?"))
                    #expect(try await relay.rules.counts() == counts)
                    try await relay.reset()
                    #expect(try await push("{}", to: Self.stranger, of: relay, on: stage) == "200")
                    #expect(try await relay.captures.all().map(\.status) == [200])
                }
            }
        }

        @Test("says what came if something does not, and what differs")
        func differences() async throws {
            try await onStage { stage in
                try await TestRelay.with(program: Self.program) { relay in
                    let payload = #"{"aps":{"alert":{"title":"Coffee"}},"list":[1,2]}"#
                    #expect(try await push(payload, to: Self.stranger, of: relay, on: stage) == "200")
                    let missing = await sentence {
                        try await relay.captures.wait(
                            count: 2, timeout: .milliseconds(1), where: .status(200))
                    }
                    #expect(missing.hasPrefix("1 of 2 requests came within 0.001 seconds, status 200. All"))
                    #expect(missing.contains("1: 200 (captured) alert com.example.app abababababababab {"))
                    let capture = try #require(try await relay.captures.all().first)
                    let difference = await sentence {
                        try capture.expect(
                            status: 410, topic: "com.example.app",
                            payload: ["aps": ["alert": ["title": "Tea"], "badge": 1], "list": [1, 3]])
                    }
                    #expect(
                        difference.split(separator: "\n").dropLast() == [
                            "Request 1 differs:", "- status: 410", "+ status: 200",
                            #"- payload.aps.alert.title: "Tea""#, #"+ payload.aps.alert.title: "Coffee""#,
                            "- payload.aps.badge: 1", "+ payload.aps.badge: (missing)",
                            "- payload.list[1]: 3", "+ payload.list[1]: 2", "It was:",
                        ])
                    let device = try await relay.device()
                    let nothing = await sentence { try await device.wait(timeout: .milliseconds(1)) }
                    #expect(nothing.hasSuffix("All that came:\n  nothing"))
                }
            }
        }

        @Test("ends with its closure and with its object, and leaves no file", .timeLimit(.minutes(4)))
        func ends() async throws {
            var files: [String] = []
            try await TestRelay.with(program: Self.program) { files.append($0.keyFile) }
            #expect(!FileManager.default.fileExists(atPath: files[0]))
            var relay: TestRelay? = try await TestRelay.start(program: Self.program)
            let captures = try #require(relay?.captures)
            files.append(try #require(relay?.keyFile))
            #expect(FileManager.default.fileExists(atPath: files[1]))
            relay = nil
            // The control socket is refused as soon as the relay has ended.
            while (try? await captures.all()) != nil { await Task.yield() }
            #expect(await sentence { _ = try await captures.all() }.contains("does not answer"))
        }

        @Test("names the program that it does not find, and what it is to do")
        func missing() async throws {
            let sentence = await sentence { _ = try await TestRelay.start(program: "no-such-postrider") }
            #expect(sentence.contains("no-such-postrider is not on the PATH"))
            #expect(sentence.contains("POSTRIDER"))
            let refused = await self.sentence {
                _ = try await TestRelay.start(program: Self.program, options: ["--no-such-option"])
            }
            #expect(refused.contains("did not become ready"))
        }
    }
}
