import Foundation
import Testing

extension EndToEnd {
    @Suite("The life of a push", .serialized)
    struct TraceTests {
        private func send(_ token: String, _ options: [String], on stage: Stage) async throws -> String {
            let program = try stage.start(
                "postrider", ["send", "--directory", stage.path("dev")] + options + ["--title", "t", token])
            #expect(try await program.exitCode() == 0, "\(program.transcript)")
            return try #require(program.output.first?.split(separator: " ").last.map(String.init))
        }

        private func device(on stage: Stage) async throws -> (program: Program, token: String) {
            let program = try stage.start(
                "postrider",
                ["device", "--directory", stage.path("dev"), "--state", stage.path("device.json")]
                    + ["--topic", "com.example.app"])
            let line = try await program.line { $0.hasPrefix("device token for ") }
            return (program, try #require(line.split(separator: " ").last.map(String.init)))
        }

        @Test(
            "is told by postrider trace: of one that is delivered, and one that waits over a restart"
        )
        func lives() async throws {
            try await onStage { stage in
                let ports = try await stage.lastingPorts()
                var relay = try await stage.startRelay(ports)
                var (program, token) = try await device(on: stage)
                let delivered = try await send(token, [], on: stage)
                var life = try await stage.trace([delivered], until: "acknowledged", of: relay)
                #expect(
                    life.contains { $0.contains("accepted: ") } && life.contains { $0.contains("sent to ") })
                life = try await stage.trace([delivered], until: "the app has taken it", of: relay)
                #expect(life.contains("provider  key DEVKEY0001") && life.contains("state     delivered"))

                program.send(SIGTERM)
                #expect(try await program.exitCode() == 0)
                let older = try await send(token, ["--collapse-id", "c"], on: stage)
                let newer = try await send(token, ["--collapse-id", "c"], on: stage)
                _ = try await stage.trace([older], until: "replaced by push \(newer)", of: relay)
                _ = try await stage.trace([newer], until: "stored", of: relay)

                relay.program.send(SIGTERM)
                #expect(try await relay.program.exitCode() == 0, "\(relay.program.transcript)")
                relay = try await stage.startRelay(ports)
                life = try await stage.trace(
                    [newer.lowercased()], until: "the relay was started", of: relay)
                #expect(life.contains("state     pending"))
                (program, token) = try await device(on: stage)
                life = try await stage.trace([newer], until: "acknowledged", of: relay)
                let words = ["accepted", "stored", "the relay was started again", "sent to", "acknowledged"]
                let moments = life.filter { $0.hasPrefix("20") && !$0.contains("says the device") }
                #expect(
                    zip(moments, words).allSatisfy { $0.contains($1) } && moments.count == words.count,
                    "\(life)")
                let list = try await stage.trace(["--last", "10"], until: newer, of: relay)
                #expect(list.count == 4 && list.contains { $0.contains(older) && $0.contains("replaced") })
            }
        }

        @Test("is told as soon as its provider has the answer")
        func atOnce() async throws {
            try await onStage { stage in
                _ = try await stage.startRelay()
                let (_, token) = try await device(on: stage)
                let pushed = try await send(token, [], on: stage)
                let told = try stage.start(
                    "postrider", ["trace", "--control", "unix:" + stage.path("dev/control.sock"), pushed])
                #expect(try await told.exitCode() == 0, "\(told.transcript)")
            }
        }

        @Test("is found by the unique identifier that the development environment tells")
        func unique() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let device = try await stage.startDevice(of: relay, isDevelopment: true)
                let (_, output) = try await stage.run(
                    "curl",
                    [
                        "--silent", "--show-error", "--http2", "--cacert", relay.description.authorityFile,
                        "--include", "--header", "authorization: \(device.bearer)",
                        "--header", "apns-topic: \(relay.topic)", "--data", #"{"aps":{"alert":"curl"}}"#,
                        relay.url(device.token, isDevelopment: true),
                    ])
                let header = try #require(output.first { $0.hasPrefix("apns-unique-id: ") })
                let unique = header.dropFirst(16).filter { !$0.isWhitespace }
                let life = try await stage.trace([unique], until: "acknowledged", of: relay)
                #expect(life.contains("unique    \(unique)") && life[2].hasSuffix(", development"))
            }
        }

        @Test("is told of a broadcast, and of a push that is refused")
        func others() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let folder = ["--directory", stage.path("dev")]
                let created = try stage.start("postrider", ["channels", "create"] + folder)
                let channel = try await created.line { !$0.isEmpty }
                let device = try stage.start("postrider", ["device", "--channel", channel] + folder)
                try await device.line { $0.hasPrefix("subscribed to channel") }
                let sent = try stage.start(
                    "postrider",
                    ["send", "--channel", channel, "--push-type", "liveactivity", "--expiration", "0"]
                        + folder
                        + ["--payload", #"{"aps":{"event":"update"}}"#])
                #expect(try await sent.exitCode() == 0, "\(sent.transcript)")
                let life = try await stage.trace(
                    ["--topic", relay.topic], until: "broadcast to 1 device", of: relay)
                #expect(life.contains { $0.contains("a channel") })
                let name = try #require(sent.output.first?.split(separator: " ").last.map(String.init))
                let whole = try await stage.trace([name], until: "broadcast", of: relay)
                #expect(whole.contains("provider  key DEVKEY0001"), "\(whole)")

                let refused = try stage.start(
                    "postrider", ["send"] + folder + ["--title", "t", String(repeating: "ab", count: 32)])
                #expect(try await refused.exitCode() != 0)
                let list = try await stage.trace(["--refused"], until: "400 BadDeviceToken", of: relay)
                let words = try #require(list.last?.split(separator: " ").map(String.init))
                #expect(words.contains(relay.topic))
                let one = try await stage.trace([words[1]], until: "BadDeviceToken", of: relay)
                #expect(one.count == 2)
            }
        }

        @Test("is shown as it goes on to whoever follows")
        func follow() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let (_, token) = try await device(on: stage)
                let follower = try stage.start(
                    "postrider", ["trace", "--follow", "--control", relay.description.controlAddress])
                // The command sees nothing before its first request.
                var seen: String?
                for _ in 0..<100 where seen == nil {
                    let identity = try await send(token, [], on: stage)
                    seen = follower.output.isEmpty ? nil : identity
                }
                let last = try await send(token, [], on: stage)
                try await follower.line { $0.contains(last) && $0.contains("acknowledged") }
                follower.send(SIGTERM)
            }
        }
    }
}

extension Stage {
    /// Returns the output of `postrider trace` once it contains these words. The trace lags behind the events.
    func trace(
        _ arguments: [String], until words: String, of relay: RelayUnderTest
    ) async throws -> [String] {
        let control = ["--control", relay.description.controlAddress]
        let deadline = ContinuousClock.now + .seconds(Program.patienceSeconds)
        while true {
            let program = try start("postrider", ["trace"] + control + arguments)
            _ = try await program.exitCode()
            if program.output.contains(where: { $0.contains(words) }) { return program.output }
            guard ContinuousClock.now < deadline else {
                throw Failure("the trace does not say '\(words)': \(program.output)")
            }
        }
    }
}
