import Foundation
import Testing

extension EndToEnd {
    @Suite("An agent with an app", .serialized)
    struct AgentTests {
        private static let pushes = 1500
        /// The most notifications that the agent has in delivery to one app.
        private static let handOverWindow = 64

        @Test("shows the app's observer title, body and the provider's own keys")
        func observer() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                _ = try await stage.startAgent(of: relay)
                let app = try stage.startApp(of: relay)
                let token = try await app.line(startingWith: "device token: ")
                let push = try stage.python(
                    "push.py", [relay.file, token, "--title", "Grüße", "--body", "vom Anbieter"])
                #expect(try await push.exitCode() == 0, "\(push.transcript)")
                try await app.line { $0 == "  number: 1" }
                #expect(
                    app.output.dropFirst() == [
                        "notification", "  title: Grüße", "  body: vom Anbieter", "  number: 1",
                    ])
            }
        }

        @Test(
            "is given pushes with one apns-id if they differ, there or absent, and one of two that do not",
            .bug(id: "R6"))
        func namesakes() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let agent = try await stage.startAgent(of: relay)
                let app = try stage.startApp(of: relay)
                let token = try await app.line(startingWith: "device token: ")
                let identity = "9CC486EA-EA83-9351-40DF-557A308816D8"
                func push(_ title: String) async throws {
                    let push = try stage.python(
                        "push.py",
                        [relay.file, token, "--title", title, "--count", "3", "--identity", identity])
                    #expect(try await push.exitCode() == 0, "\(push.transcript)")
                }
                try await push("there")
                while app.output.count(where: { $0 == "  title: there" }) < 3 { await Task.yield() }
                try await agent.cutOff()
                try await push("away")
                _ = try await stage.startAgent(of: relay)
                while app.output.count(where: { $0 == "  title: away" }) < 3 { await Task.yield() }
                // The same three pushes are sent once more: the relay holds none of them any more, but the device
                // knows them.
                try await push("away")
                func states(_ state: String) async throws -> Int {
                    try await stage.trace([identity], until: identity, of: relay)
                        .count { $0 == "state     \(state)" }
                }
                while try await states("merged") < 3 { await Task.yield() }
                #expect(try await states("delivered") == 6)
                _ = try await stage.trace([identity], until: "merged with push \(identity)", of: relay)
                #expect(app.output.count { $0 == "notification" } == 6, "\(app.output)")
            }
        }

        @Test("whose enrolment key the relay refuses says so, stays, and ends in good order", .bug(id: "A10"))
        func refusal() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let keyFile = URL(filePath: relay.description.enrolmentKeyFile)
                try Data("enrol-wrong".utf8).write(to: keyFile)
                let agent = try await stage.startAgent(of: relay)
                try await agent.line {
                    $0.contains("error: not enrolled at") && $0.contains("correct the enrolment key")
                }
                agent.send(SIGTERM)
                #expect(try await agent.exitCode() == 0, "\(agent.transcript)")
            }
        }

        @Test(
            "whose device the operator removes while it is connected enrols anew, with new tokens",
            .bug(id: "A10"))
        func removed() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let agent = try await stage.startAgent(of: relay)
                let app = try stage.startApp(of: relay)
                let token = try await app.line(startingWith: "device token: ")
                let status = try await stage.agentSays(["status"])
                let device = try #require(status.first?.split(separator: " ").last.map(String.init))
                let control = ["--control", relay.description.controlAddress]
                let removal = try stage.start("postrider", ["devices", "remove", device] + control)
                #expect(try await removal.exitCode() == 0, "\(removal.transcript)")
                try await agent.lines(2) { $0.contains("enrolled as device ") }
                try await app.lines(2) { $0.hasPrefix("device token: ") }
                let next = try #require(app.output.last { $0.hasPrefix("device token: ") })
                #expect(next != "device token: " + token)
                let push = try stage.python("push.py", [relay.file, String(next.dropFirst(14))])
                #expect(try await push.exitCode() == 0, "\(push.transcript)")
                try await app.line { $0 == "  number: 1" }
            }
        }

        @Test("that shares its identity with another one's says so, as the relay does", .bug(id: "A9"))
        func clones() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let first = try await stage.startAgent(of: relay)
                try await first.line { $0.contains("connected to ") }
                first.send(SIGTERM)
                #expect(try await first.exitCode() == 0)
                // As if a machine was cloned and both copies started.
                try FileManager.default.copyItem(atPath: stage.path("agent"), toPath: stage.path("clone"))
                let one = try await stage.startAgent(of: relay)
                try await one.line { $0.contains("connected to ") }
                let other = try await stage.startAgent(of: relay, name: "clone")
                try await other.line { $0.contains("connected to ") }
                try await one.line {
                    $0.contains("two machines use the identity in \(stage.path("agent")): ")
                }
                try await relay.program.line {
                    $0.contains("two machines use the identity of device") && $0.contains("one at 127.0.0.1")
                }
                let control = ["--control", relay.description.controlAddress]
                let list = try stage.start("postrider", ["devices", "list"] + control)
                #expect(try await list.exitCode() == 0)
                #expect(list.output.contains { $0.contains("two machines") }, "\(list.transcript)")
                // The other agent keeps the link.
                #expect(other.output.count { $0.contains("no link to") } == 0, "\(other.transcript)")
            }
        }

        @Test("that is killed, several times, loses nothing that it acknowledged, and repeats little")
        func kills() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                var agent = try await stage.startAgent(of: relay)
                let app = try stage.startApp(of: relay)
                let token = try await app.line(startingWith: "device token: ")
                let push = try stage.python("push.py", [relay.file, token, "--count", "\(Self.pushes)"])
                let kills = [200, 600, 1000]
                for number in kills {
                    try await app.line { $0 == "  number: \(number)" }
                    try await agent.cutOff()
                    agent = try await stage.startAgent(of: relay)
                }
                #expect(try await push.exitCode() == 0, "\(push.transcript)")

                // The last push of another run: what comes before it has arrived before it.
                let last = try stage.python("push.py", [relay.file, token, "--title", "the last"])
                #expect(try await last.exitCode() == 0, "\(last.transcript)")
                try await app.line { $0 == "  title: the last" }

                let handled = Self.numbers(in: app.output)
                #expect(Set(handled) == Set(1...Self.pushes), "every push reaches the app")
                let repeated = handled.count - Set(handled).count
                #expect(repeated <= kills.count * Self.handOverWindow, "\(repeated) were handled twice")
            }
        }

        /// Returns the numbers of the notifications that the app printed, without the last.
        static func numbers(in output: [String]) -> [Int] {
            let end = output.firstIndex(of: "  title: the last") ?? output.endIndex
            return output[..<end].compactMap { line in
                line.hasPrefix("  number: ") ? Int(line.dropFirst("  number: ".count)) : nil
            }
        }
    }
}

extension Stage {
    /// Starts an agent and returns when apps can connect. A second start on the same stage has the same state.
    func startAgent(
        of relay: RelayUnderTest, name: String = "agent", options: [String] = [],
        environment: [String: String] = [:], through port: String? = nil, within container: [String] = []
    ) async throws -> Program {
        // The agent must not use this machine's own bus.
        let noBus = ["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nowhere"]
        let command = container + [product("postrider-agent").path]
        let agent = try start(
            URL(filePath: command[0]),
            command.dropFirst() + [
                "--relay", "\(relay.description.host):\(port ?? "\(relay.description.devicePort)")",
                "--ca", relay.description.authorityFile,
                "--enrolment-key-file", relay.description.enrolmentKeyFile,
                "--state", path(name), "--socket", path("\(name).sock"),
            ] + options, environment: noBus.merging(environment) { $1 })
        try await agent.line { $0.contains("ready: apps connect to") }
        return agent
    }

    /// Starts the example app.
    func startApp(of relay: RelayUnderTest) throws -> Program {
        try start("postrider-example-app", ["--topic", relay.topic, "--socket", path("agent.sock")])
    }
}
