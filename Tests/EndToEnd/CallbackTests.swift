import Foundation
import Testing

extension EndToEnd {
    @Suite("Callbacks, as docs/operate/callbacks.md has them", .serialized)
    struct CallbackTests {
        /// A relay that may call a port of this machine, its secret, and an agent with a handler.
        private func start(
            on stage: Stage, port: String, _ options: [String] = []
        ) async throws -> (relay: RelayUnderTest, token: String) {
            let relay = try await stage.startRelay(
                options: [
                    "--callback-allow", "http://127.0.0.1:\(port)/hooks",
                    "--callback-secret", stage.path("secret"),
                ] + options)
            try stage.handle(#"exit "$POSTRIDER_BODY""#, topic: relay.topic)
            _ = try await stage.startAgent(
                of: relay,
                options: ["--apps-directory", stage.path("apps"), "--delivery-attempts", "1"])
            return (relay, try await stage.token(of: relay))
        }

        private func writeSecret(on stage: Stage) throws -> String {
            try stage.write("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n", to: "secret")
        }

        private func startReceiver(on stage: Stage, _ options: [String] = []) async throws -> (
            Program, String
        ) {
            let receiver = try stage.python("receiver.py", [try writeSecret(on: stage)] + options)
            return (receiver, try await receiver.line(startingWith: "port "))
        }

        /// Pushes with curl, as a provider that names a URL; answers the status and the seconds that it took.
        private func push(
            _ token: String, _ body: String, to url: String, of relay: RelayUnderTest, on stage: Stage,
            _ identity: String = UUID().uuidString
        ) async throws -> String {
            let bearer = try stage.start("postrider", ["token", "--directory", stage.path("dev")])
            #expect(try await bearer.exitCode() == 0)
            let curl = try await stage.run(
                "curl",
                [
                    "--silent", "--http2", "--cacert", relay.description.authorityFile, "--output",
                    "/dev/null",
                    "--write-out", "%{http_code}", "--header", "authorization: bearer \(bearer.output[0])",
                    "--header", "apns-topic: \(relay.topic)", "--header", "apns-push-type: alert", "--header",
                    "apns-id: \(identity)", "--header", "postrider-callback: \(url)", "--data",
                    #"{"aps":{"alert":{"title":"t","body":"\#(body)"}}}"#, relay.url(token),
                ])
            return curl.output.joined()
        }

        @Test("tell a provider, signed, that its push was delivered, taken and done, or has failed")
        func stages() async throws {
            try await onStage { stage in
                let (receiver, port) = try await startReceiver(on: stage)
                let (relay, token) = try await start(on: stage, port: port)
                let url = "http://127.0.0.1:\(port)/hooks/a"
                let (good, bad) = (UUID().uuidString, UUID().uuidString)
                #expect(try await push(token, "0", to: url, of: relay, on: stage, good) == "200")
                for what in ["delivered", "taken", "done"] {
                    try await receiver.line { $0.hasPrefix("push.\(what) \(good) ") }
                }
                #expect(try await push(token, "3", to: url, of: relay, on: stage, bad) == "200")
                try await receiver.line { $0.hasPrefix("push.failed \(bad) ") }
                #expect(!receiver.output.contains("wrong"))
            }
        }

        @Test("are not sent to a URL that the operator does not allow, and the push is accepted all the same")
        func notAllowed() async throws {
            try await onStage { stage in
                let (receiver, port) = try await startReceiver(on: stage)
                let (relay, token) = try await start(on: stage, port: port)
                let start = "http://127.0.0.1:\(port)"
                for url in ["\(start)/", "\(start)/hooks/../x", "\(start)/hooks2", "file:///etc/passwd", "x"]
                {
                    #expect(try await push(token, "0", to: url, of: relay, on: stage) == "200", "\(url)")
                }
                let last = UUID().uuidString
                #expect(try await push(token, "0", to: start + "/hooks", of: relay, on: stage, last) == "200")
                try await receiver.line { $0.hasPrefix("push.done \(last) ") }
                #expect(
                    receiver.output.dropFirst().allSatisfy { $0.contains(last) }, "\(receiver.transcript)")
            }
        }

        @Test("reach a receiver that was down, when it is back")
        func back() async throws {
            try await onStage { stage in
                _ = try writeSecret(on: stage)
                let port = try await stage.lastingPorts()[0]
                let (relay, token) = try await start(on: stage, port: port)
                let identity = UUID().uuidString
                let url = "http://127.0.0.1:\(port)/hooks"
                #expect(try await push(token, "0", to: url, of: relay, on: stage, identity) == "200")
                try await relay.program.line { $0.contains("a callback to http://127.0.0.1:\(port) failed") }
                let (receiver, _) = try await startReceiver(on: stage, ["--port", port])
                for what in ["delivered", "taken", "done"] {
                    try await receiver.line { $0.hasPrefix("push.\(what) \(identity) ") }
                }
            }
        }

        @Test("survive a kill of the relay, before the device has the push and before the receiver is there")
        func killed() async throws {
            try await onStage { stage in
                _ = try writeSecret(on: stage)
                // Two ports for the relay, so that the agent finds it again, and one for the receiver.
                let ports = try await stage.lastingPorts()
                let port = try await stage.lastingPorts()[0]
                let options = [
                    "--callback-allow", "http://127.0.0.1:\(port)/hooks", "--callback-secret",
                    stage.path("secret"),
                ]
                let relay = try await stage.startRelay(ports, options: options)
                try stage.handle(#"exit "$POSTRIDER_BODY""#, topic: relay.topic)
                func startAgent() async throws -> Program {
                    try await stage.startAgent(
                        of: relay,
                        options: ["--apps-directory", stage.path("apps"), "--delivery-attempts", "1"])
                }
                let agent = try await startAgent()
                let token = try await stage.token(of: relay)
                let (early, late) = (UUID().uuidString, UUID().uuidString)
                let url = "http://127.0.0.1:\(port)/hooks"
                #expect(try await push(token, "0", to: url, of: relay, on: stage, early) == "200")
                // Its receiver is not there, and its device has it.
                try await relay.program.line { $0.contains("a callback to http://127.0.0.1:\(port) failed") }
                try await agent.cutOff()
                #expect(try await push(token, "0", to: url, of: relay, on: stage, late) == "200")
                let file = stage.path("dev/data/callbacks.log")
                while try !String(contentsOfFile: file, encoding: .utf8).contains(late) { await Task.yield() }
                try await relay.program.cutOff()

                let again = try await stage.startRelay(ports, options: options)
                let (receiver, _) = try await startReceiver(on: stage, ["--port", port])
                // The agent may not have told yet what its handler has done with the early one.
                _ = try await startAgent()
                for what in ["delivered", "taken", "done"] {
                    try await receiver.line { $0.hasPrefix("push.\(what) \(early) ") }
                    try await receiver.line { $0.hasPrefix("push.\(what) \(late) ") }
                }
                #expect(again.program.isRunning && !receiver.output.contains("wrong"))
            }
        }

        @Test("of a thousand pushes that nobody takes are bounded, and no push waits for them")
        func dead() async throws {
            try await onStage { stage in
                let (receiver, port) = try await startReceiver(on: stage, ["--silent"])
                let (relay, token) = try await start(
                    on: stage, port: port, ["--metrics-address", "127.0.0.1:0"])
                let url = "http://127.0.0.1:\(port)/hooks"
                let pushes = try stage.python(
                    "wants_callback.py", [relay.file, token, url, "--count", "1000"])
                #expect(try await pushes.exitCode() == 0, "\(pushes.transcript)")
                #expect(pushes.output.count { $0 == "200" } == 1000)
                // All are handled, while no more than the bound are under way to the receiver.
                let metrics = try #require(relay.description.metricsAddress)
                var owed = 0
                let deadline = ContinuousClock.now + .seconds(Program.patienceSeconds)
                while owed < 2900, ContinuousClock.now < deadline {
                    let text = try await stage.run("curl", ["--silent", "http://\(metrics)/metrics"]).output
                    let line = text.first { $0.hasPrefix("postrider_callbacks_owed ") }
                    owed = line.flatMap { Int($0.split(separator: " ")[1]) } ?? 0
                }
                #expect(owed >= 2900, "\(owed) are owed")
                #expect(receiver.isRunning)
                relay.program.send(SIGTERM)
                #expect(try await relay.program.exitCode() == 0, "\(relay.program.transcript)")
                #expect(
                    relay.program.errors.contains {
                        $0.contains("callbacks are owed, and are sent after the relay's next start")
                    })
            }
        }

        @Test(
            "are refused with a sentence if their settings do not go together",
            arguments: [
                (["--callback-allow", "http://127.0.0.1/"], "go together"),
                (
                    ["--callback-allow", "nonsense", "--callback-secret", "secret"],
                    "--callback-allow must be URLs"
                ),
                (
                    ["--callback-allow", "http://127.0.0.1/", "--callback-secret", "/none"],
                    "cannot be opened"
                ),
                (
                    ["--callback-allow", "http://127.0.0.1/", "--callback-secret", "/etc/hostname"],
                    "callback-secret"
                ),
                (
                    [
                        "--callback-allow", "http://127.0.0.1/", "--callback-secret", "secret", "--trace",
                        "false",
                    ],
                    "needs a trace of every push"
                ),
            ] as [([String], String)])
        func mistakes(_ options: [String], _ words: String) async throws {
            try await onStage { stage in
                let secret = try writeSecret(on: stage)
                let dev = try stage.start(
                    "postrider",
                    ["dev", "--directory", stage.path("dev"), "--provider-port", "0", "--device-port", "0"]
                        + options.map { $0 == "secret" ? secret : $0 })
                #expect(try await dev.exitCode() == 2, "\(dev.transcript)")
                #expect(dev.errors.contains { $0.contains(words) }, "\(dev.transcript)")
            }
        }
    }
}
