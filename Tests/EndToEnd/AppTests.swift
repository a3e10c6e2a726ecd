import Foundation
import Testing

extension EndToEnd {
    @Suite("An agent with declared apps", .serialized)
    struct AppTests {
        @Test(
            "starts an app that does not run for a provider's push, tells it why, and ends it on suspension")
        func start() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                try stage.declare(
                    stage.product("postrider-example-app"), ["--topic", relay.topic], topic: relay.topic,
                    "background: true", "exits-on-suspend: true")
                let agent = try await stage.startAgent(
                    of: relay, options: ["--apps-directory", stage.path("apps")])
                #expect(try await stage.agentSays(["apps"]).contains { $0.contains("not running") })

                // The owner activates the app once, so that it registers.
                _ = try await stage.agentSays(["activate", relay.topic])
                let token = try await agent.line(startingWith: "device token: ")
                _ = try await stage.agentSays(["suspend", relay.topic])
                try await agent.line { $0.contains("\(relay.topic) ended with exit code 0") }
                #expect(
                    agent.output.filter { !$0.hasPrefix("device token") } == [
                        "did finish launching: activation", "did become active", "did enter background",
                        "will terminate",
                    ])

                let push = try stage.python(
                    "push.py", [relay.file, token, "--title", "Wake", "--body", "up"])
                #expect(try await push.exitCode() == 0, "\(push.transcript)")
                try await agent.line { $0 == "  title: Wake" }
                let told = agent.output.drop { $0 != "will terminate" }.dropFirst()
                #expect(
                    told.prefix(3) == [
                        "did finish launching: remote-notification", "did enter background",
                        "device token: \(token)",
                    ]
                        || told.prefix(3) == [
                            "did finish launching: remote-notification", "did enter background",
                            "notification",
                        ], "\(agent.transcript)")
                #expect(try await stage.agentSays(["apps"]).contains { $0.contains("background") })
                #expect(
                    try await stage.agentSays(["status"]).contains {
                        $0.hasPrefix("connected") && $0.contains("yes, to ")
                    })
                agent.send(SIGTERM)
                #expect(try await agent.exitCode() == 0)
                #expect(agent.output.count { $0 == "will terminate" } == 2)
                #expect(agent.output.count { $0 == "  title: Wake" } == 1)
            }
        }

        @Test("that is killed again and again takes its apps over, and loses and doubles nothing")
        func kills() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                // No process here lives longer than this, whatever fails.
                try stage.declare(
                    URL(filePath: "/usr/bin/timeout"),
                    ["240", stage.product("postrider-example-app").path, "--topic", relay.topic],
                    topic: relay.topic, "background: true")
                let options = ["--apps-directory", stage.path("apps")]
                var agent = try await stage.startAgent(of: relay, options: options)
                _ = try await stage.agentSays(["activate", relay.topic])
                let first = agent
                let token = try await first.line(startingWith: "device token: ")
                let count = 400
                let push = try stage.python("push.py", [relay.file, token, "--count", "\(count)"])
                for number in [100, 200, 300] {
                    try await first.line { $0 == "  number: \(number)" }
                    try await agent.strike()
                    agent = try await stage.startAgent(of: relay, options: options)
                    #expect(agent.errors.contains { $0.contains("still runs as process") })
                }
                #expect(try await push.exitCode() == 0, "\(push.transcript)")
                let last = try stage.python("push.py", [relay.file, token, "--title", "the last"])
                #expect(try await last.exitCode() == 0, "\(last.transcript)")
                try await first.line { $0 == "  title: the last" }
                // The app has been one process all the time: its output goes to the first agent.
                let numbers = EndToEnd.AgentTests.numbers(in: first.output)
                #expect(numbers.sorted() == Array(1...count))
                #expect(first.output.count { $0.hasPrefix("did finish launching") } == 1)
                agent.send(SIGTERM)
                #expect(try await agent.exitCode() == 0)
                #expect(try await first.exitCode() == 128 + SIGKILL)
                #expect(first.output.last == "will terminate")
            }
        }

        @Test("tells its owner of a start that came to nothing, and does not start at once again")
        func crashes() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                try stage.declare(
                    URL(filePath: "/bin/sh"), ["-c", "exit 3"], topic: relay.topic, "background: true")
                let agent = try await stage.startAgent(
                    of: relay, options: ["--apps-directory", stage.path("apps")])
                _ = try await stage.agentSays(["activate", relay.topic])
                try await agent.line { $0.contains("ended with exit code 3 and had handled nothing") }
                #expect(
                    try await stage.agentSays(["apps"]).contains {
                        $0.contains("waiting") || $0.contains("not running")
                    })
            }
        }
    }
}

extension Stage {
    /// Returns the path of a program of this repository.
    func product(_ name: String) -> URL { Place.products.appending(path: name) }

    /// Writes a manifest of an app for the agent of this stage.
    func declare(_ program: URL, _ arguments: [String], topic: String, _ settings: String...) throws {
        let directory = path("apps")
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let list = arguments.map { "\"\($0)\"" }.joined(separator: ", ")
        let lines = ["topic: \(topic)", "program: \(program.path)", "arguments: [\(list)]"] + settings
        _ = try write(lines.joined(separator: "\n") + "\n", to: "apps/app.yaml")
    }

    /// Returns the output of a command to the agent, through the program that hands over to the agent's.
    func agentSays(_ arguments: [String]) async throws -> [String] {
        let program = try start("postrider", ["agent"] + arguments + ["--socket", path("agent.sock")])
        #expect(try await program.exitCode() == 0, "\(program.transcript)")
        return program.output
    }
}
