import Foundation
import Testing

extension EndToEnd {
    /// Runs a stock notification server (dunst) on its own session bus and its own virtual screen.
    @Suite("An agent on a desktop", .serialized)
    struct DesktopTests {
        @Test("shows an app's alerts, lets them be answered, replaced and put away, and starts apps for that")
        func desktop() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let desktop = try await stage.startDesktop()
                // The app outlives an agent that is killed, but no process here lives longer than this.
                try stage.declare(
                    URL(filePath: "/usr/bin/timeout"),
                    [
                        "240", stage.product("postrider-example-app").path, "--topic", relay.topic,
                        "--remind", "1",
                    ],
                    topic: relay.topic, "background: true", "name: Kitchen", "exits-on-suspend: true")
                let options = [
                    "--apps-directory", stage.path("apps"), "--notifications", "allow", "--session-bus",
                    desktop.address,
                ]
                var agent = try await stage.startAgent(of: relay, options: options)
                let first = agent

                // The user chooses a local notification.
                _ = try await stage.agentSays(["activate", relay.topic])
                let token = try await first.line(startingWith: "device token: ")
                try await desktop.shows("Tea", count: 1)
                try await desktop.photograph(to: stage.path("tea.png"))
                try await desktop.control("action", "0")
                try await first.line { $0 == "  action: postrider.default" }

                // A push to an app that does not run is shown, and the app is started. Then the agent is killed; the
                // next agent delivers the response nevertheless.
                _ = try await stage.agentSays(["suspend", relay.topic])
                try await first.line { $0.contains("\(relay.topic) ended with exit code 0") }
                let push = try stage.python(
                    "push.py", [relay.file, token, "--title", "<b>Cake</b> & more", "--collapse", "cake"])
                #expect(try await push.exitCode() == 0, "\(push.transcript)")
                try await desktop.shows("<b>Cake</b> & more", count: 1)
                // The app holds the agent's pipes open.
                try await agent.strike()
                agent = try await stage.startAgent(of: relay, options: options)
                let second = try stage.python(
                    "push.py",
                    [
                        relay.file, token, "--title", "More cake", "--collapse", "cake", "--category", "tea",
                    ])
                #expect(try await second.exitCode() == 0, "\(second.transcript)")
                try await desktop.shows("More cake", count: 1)
                // The menu of actions; this user chooses Stop.
                try await desktop.control("context")
                try await first.line { $0 == "  action: stop" }
                try await desktop.waits(for: 0)
                #expect(try await stage.agentSays(["alerts"]).count == 1)

                // When the owner denies alerts, they disappear from the screen.
                let third = try stage.python("push.py", [relay.file, token, "--title", "Too much"])
                #expect(try await third.exitCode() == 0, "\(third.transcript)")
                try await desktop.shows("Too much", count: 1)
                _ = try await stage.agentSays(["deny", relay.topic])
                try await desktop.waits(for: 0)
                agent.send(SIGTERM)
                #expect(try await agent.exitCode() == 0)
                #expect(try await first.exitCode() == 128 + SIGKILL)
            }
        }

        @Test(
            "loses no reply that it cannot read, and shows nothing where it does not know what can be shown"
        )
        func servers() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let bus = try await stage.startBus()
                let screen = try stage.python("notices.py", [bus], by: URL(filePath: "/usr/bin/python3"))
                try await screen.line { $0 == "one has the name" }
                let agent = try await stage.startAgent(
                    of: relay, options: ["--session-bus", bus, "--notifications", "allow"])
                let app = try stage.start(
                    "postrider-example-app",
                    ["--topic", relay.topic, "--socket", stage.path("agent.sock"), "--remind", "1"])
                let token = try await app.line(startingWith: "device token: ")
                try await screen.line { $0 == "one shows Tea" }

                screen.send(SIGUSR1)
                try await agent.line { $0.contains("has a character that D-Bus libraries refuse") }
                try await screen.lines(2) { $0 == "one shows Tea" }
                screen.send(SIGUSR1)
                try await app.line { $0 == "  action: snooze" }

                screen.send(SIGUSR2)
                try await screen.line { $0 == "two is asked what it can do" }
                let push = try stage.python("push.py", [relay.file, token, "--title", "Cake"])
                #expect(try await push.exitCode() == 0, "\(push.transcript)")
                while try await stage.agentSays(["alerts"]).count < 2 { await Task.yield() }
                screen.send(SIGUSR2)
                try await screen.line { $0 == "two shows Cake" }
                let order = screen.output.filter { $0.hasPrefix("two") }
                #expect(
                    order == [
                        "two has the name", "two is asked what it can do", "two answers", "two shows Cake",
                    ])
                app.send(SIGTERM)
                _ = try await app.exitCode()
                agent.send(SIGTERM)
                #expect(try await agent.exitCode() == 0)
            }
        }

        @Test("asks the user whether an app may notify, and does what the user says", .bug(id: "A15"))
        func consent() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let desktop = try await stage.startDesktop()
                let agent = try await stage.startAgent(
                    of: relay, options: ["--session-bus", desktop.address])
                let app = try stage.start(
                    "postrider-example-app",
                    ["--topic", relay.topic, "--socket", stage.path("agent.sock"), "--remind", "1"])
                try await desktop.shows("Allow notifications of \(relay.topic)?", count: 1)
                // The menu of actions; this user chooses Allow.
                try stage.answer("Allow")
                try await desktop.control("context")
                try await desktop.shows("Tea", count: 1)
                #expect(try await stage.agentSays(["apps"]).contains { $0.contains(" allow ") })
                app.send(SIGTERM)
                _ = try await app.exitCode()
                agent.send(SIGTERM)
                #expect(try await agent.exitCode() == 0)
            }
        }
    }
}

/// A desktop: screen, bus and notification server.
struct Desktop {
    let stage: Stage
    let address: String
    let environment: [String: String]
    let server: Program

    /// Waits until the server has this summary, shows this many notifications, and has drawn something on the screen.
    func shows(_ summary: String, count: Int) async throws {
        try await server.line { $0.contains("summary: ") && $0.contains(summary) }
        try await waits(for: count)
    }

    /// Waits until this many notifications are shown.
    func waits(for count: Int) async throws {
        try await stage.repeats(
            "test \"$(dunstctl count displayed | tr -d ' ')\" = \(count)", environment: environment)
    }

    /// Controls the notification server as a user would.
    @discardableResult
    func control(_ words: String...) async throws -> [String] {
        let program = try stage.start(
            URL(filePath: "/usr/bin/dunstctl"), words, environment: environment)
        #expect(try await program.exitCode() == 0, "\(program.transcript)")
        return program.output
    }

    /// Makes a picture of the screen; `make screenshot` copies it into the documents.
    func photograph(to path: String) async throws {
        let program = Place.programs.appending(path: "screenshot.py").path
        try await stage.repeats("python3 \(program) \(stage.path("screen/Xvfb_screen0")) \(path) 2>&1")
        guard ProcessInfo.processInfo.environment["POSTRIDER_WRITE_DOCUMENTS"] != nil else { return }
        let document = Place.root.appending(path: "docs/images/desktop.png")
        try Data(contentsOf: URL(filePath: path)).write(to: document)
    }
}

extension Stage {
    /// Starts a desktop without notifications.
    func startDesktop() async throws -> Desktop {
        try FileManager.default.createDirectory(atPath: path("screen"), withIntermediateDirectories: true)
        let screen = try start(
            URL(filePath: "/usr/bin/Xvfb"),
            [
                "-displayfd", "1", "-screen", "0", "480x200x24", "-fbdir", path("screen"), "-nolisten", "tcp",
                "-noreset",
            ])
        let display = ":" + (try await screen.line { Int($0) != nil })
        let address = try await startBus()
        try answer("Stop")
        let rules = """
            [global]
            font = Sans 11
            format = "<b>%s</b>\\n%b"
            show_age_threshold = -1
            show_indicators = no
            width = 360
            offset = 12x12
            dmenu = \(path("choose"))
            markup = full
            idle_threshold = 0
            [urgency_normal]
            timeout = 0
            """
        let environment = ["DISPLAY": display, "DBUS_SESSION_BUS_ADDRESS": address]
        let server = try start(
            URL(filePath: "/usr/bin/dunst"), ["-conf", try write(rules, to: "dunstrc"), "-print"],
            environment: environment)
        let desktop = Desktop(stage: self, address: address, environment: environment, server: server)
        try await repeats("dunstctl count displayed", environment: environment)
        return desktop
    }

    /// Makes the menu of actions always choose this one.
    fileprivate func answer(_ action: String) throws {
        let chooser = try write("#!/bin/sh\ngrep '^#\(action) '\n", to: "choose")
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: chooser)
    }

    /// Repeats a command until it succeeds, in one process: each process uses a descriptor of the test process.
    fileprivate func repeats(_ command: String, environment: [String: String] = [:]) async throws {
        let program = try start(
            URL(filePath: "/bin/sh"), ["-c", "until \(command); do sleep 0.1; done"], environment: environment
        )
        #expect(try await program.exitCode() == 0, "\(program.transcript)")
    }
}
