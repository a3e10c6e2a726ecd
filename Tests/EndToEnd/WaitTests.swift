import Foundation
import Testing

extension EndToEnd {
    @Suite("postrider send --wait", .serialized)
    struct WaitTests {
        private struct State: Decodable {
            let state: String
            let stages: [String]
            let failure: String?
        }

        @Test("ends when it is so, with 5 where it has failed, and with 4 where it is under way")
        func exitCodes() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                try stage.handle(
                    #"echo "I say $POSTRIDER_BODY"; exit "$POSTRIDER_BODY""#, topic: relay.topic)
                let agent = try await stage.startAgent(
                    of: relay,
                    options: ["--apps-directory", stage.path("apps"), "--delivery-attempts", "1"])
                let token = try await stage.token(of: relay)
                for goal in ["accepted", "delivered", "taken", "done"] {
                    let send = try stage.send(["--wait", goal, "--body", "0", "--timeout", "2m", token])
                    #expect(try await send.exitCode() == 0, "\(goal): \(send.transcript)")
                    #expect(send.output.last?.contains("\(goal):") == true, "\(send.transcript)")
                }
                let failed = try stage.send(["--wait", "done", "--body", "3", "--timeout", "2m", token])
                #expect(try await failed.exitCode() == 5, "\(failed.transcript)")
                #expect(failed.output.last?.contains("exit code 3: I say 3") == true, "\(failed.transcript)")
                let later = try stage.send(["--wait", "done", "--body", "75", "--timeout", "6s", token])
                #expect(try await later.exitCode() == 4, "\(later.transcript)")
                #expect(later.output.last?.contains("asked for another time") == true, "\(later.transcript)")
                let refused = try stage.send(["--wait", "done", "--body", "0", "--topic", "not.there", token])
                #expect(try await refused.exitCode() == 5, "\(refused.transcript)")

                agent.send(SIGTERM)
                #expect(try await agent.exitCode() == 0)
                let away = try stage.send(["--wait", "delivered", "--body", "0", "--timeout", "1s", token])
                #expect(try await away.exitCode() == 4, "\(away.transcript)")
                #expect(away.output.last?.contains("waits at the relay for the device") == true)
            }
        }

        @Test("of several devices ends with the quorum, and says of each what became of it")
        func quorum() async throws {
            try await onStage { stage in
                let topics = (1...4).map { "com.example.handler\($0)" }
                let relay = try await stage.startRelay(options: topics.flatMap { ["--topic", $0] })
                // One topic for all pushes; the tokens of other topics are refused.
                try stage.handle("exit 0", topic: topics[0])
                _ = try await stage.startAgent(of: relay, options: ["--apps-directory", stage.path("apps")])
                let token = try await stage.token(of: relay, topic: topics[0])
                let wrong = String(token.reversed())
                let arguments = ["--topic", topics[0], "--wait", "done", "--alert", "x", "--timeout", "2m"]
                let tokens = [token, token, token, wrong]
                let most = try stage.send(arguments + ["--quorum", "75%", "--json"] + tokens)
                #expect(try await most.exitCode() == 0, "\(most.transcript)")
                #expect(most.output.count { $0.contains(#""state":"reached""#) } == 3)
                #expect(most.output.count { $0.contains(#""state":"failed""#) } == 1)
                let all = try stage.send(arguments + tokens)
                #expect(try await all.exitCode() == 5, "\(all.transcript)")
                #expect(all.output.last == "3 of 4 done, 1 failed", "\(all.transcript)")
            }
        }

        @Test("says of each of 1,000 pushes what its handler says, while links are cut at random")
        func cuts() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let cutter = try stage.python(
                    "cutter.py", ["\(relay.description.devicePort)", "\(UInt32.random(in: 0 ... .max))"])
                let port = try await cutter.line(startingWith: "port ")
                // The handler fails for one of four pushes, by the first digit of the identity.
                let script = """
                    case "$POSTRIDER_APNS_ID" in
                    [0-3]*) echo "failed $POSTRIDER_APNS_ID" >> "$0"; exit 3;;
                    *) echo "reached $POSTRIDER_APNS_ID" >> "$0";;
                    esac
                    """
                try stage.handle(script, topic: relay.topic, "parallelism: 4")
                _ = try await stage.startAgent(
                    of: relay,
                    options: [
                        "--apps-directory", stage.path("apps"), "--delivery-attempts", "1",
                    ], through: port)
                let token = try await stage.token(of: relay)
                // One command with 980 pushes, and 20 commands with one push each, all at the same time.
                let many = try stage.send(
                    ["--wait", "done", "--json", "--timeout", "4m", "--alert", "x"]
                        + Array(repeating: token, count: 980))
                var said: Set<String> = []
                try await withThrowingTaskGroup(of: String.self) { group in
                    for _ in 1...20 { group.addTask { try await alone(stage, token) } }
                    for try await line in group { said.insert(line) }
                }
                let code = try await many.exitCode()
                let lines = try many.output.map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
                #expect(code == (lines.contains { $0.state == "failed" } ? 5 : 0), "\(many.transcript)")
                said.formUnion(lines.map { "\($0.state) \($0.apnsIdentity)".lowercased() })
                let text = try String(contentsOfFile: stage.path("journal"), encoding: .utf8)
                let journal = Set(text.lowercased().split(separator: "\n").map(String.init))
                #expect(said.count == 1000 && cutter.output.contains("cut"))
                #expect(said == journal)
            }
        }

        private struct Line: Decodable {
            let apnsIdentity: String
            let state: String
            enum CodingKeys: String, CodingKey {
                case apnsIdentity = "apns-id"
                case state
            }
        }

        /// Sends one push by a command of its own, and returns what its exit code says of it.
        private func alone(_ stage: Stage, _ token: String) async throws -> String {
            let identity = UUID().uuidString
            let send = try stage.send([
                "--wait", "done", "--timeout", "4m", "--alert", "x", "--apns-id", identity, token,
            ])
            let words: [Int32: String] = [0: "reached", 5: "failed"]
            let code = try await send.exitCode()
            return "\(words[code] ?? "exit code \(code)") \(identity)".lowercased()
        }

        @Test("is what any program can do on the control socket")
        func control() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                try stage.handle("exit 0", topic: relay.topic)
                _ = try await stage.startAgent(of: relay, options: ["--apps-directory", stage.path("apps")])
                let token = try await stage.token(of: relay)
                let identity = UUID().uuidString
                func ask(_ query: String) throws -> Program {
                    try stage.start(
                        URL(filePath: "/usr/bin/curl"),
                        [
                            "--silent", "--http2-prior-knowledge", "--unix-socket",
                            String(relay.description.controlAddress.dropFirst("unix:".count)),
                            "http://localhost/v1/pushes/\(identity)\(query)",
                        ])
                }
                // The request comes before such a push.
                let waiting = try ask("?wait=done&timeout=60")
                let send = try stage.send(["--alert", "x", "--apns-id", identity, token])
                #expect(try await send.exitCode() == 0, "\(send.transcript)")
                #expect(try await waiting.exitCode() == 0)
                let text = Data(waiting.output.joined().utf8)
                let state = try JSONDecoder().decode(State.self, from: text)
                #expect(state.state == "reached")
                #expect(state.stages == ["accepted", "delivered", "taken", "done"])
                for query in ["?wait=never", "?timeout=61", "?x"] {
                    let wrong = try ask(query)
                    #expect(try await wrong.exitCode() == 0)
                    #expect(wrong.output.joined().contains("sentence"), "\(wrong.transcript)")
                }
            }
        }
    }
}
