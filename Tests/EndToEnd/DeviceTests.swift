import Foundation
import Testing

extension EndToEnd {
    @Suite("A device", .serialized)
    struct DeviceTests {
        /// A user that exists on every system and owns nothing.
        private static let nobody = "65534"

        @Test("tells its apps of the link to the relay and of the keyboard on screen")
        func news() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                _ = try await stage.startAgent(of: relay)
                let app = try stage.start(
                    "postrider-example-app",
                    ["--topic", relay.topic, "--socket", stage.path("agent.sock"), "--system"])
                try await app.line(startingWith: "device token: ")
                let frames = ["0,500,1280,300", "0,500,1280,300", "0,400,1280,400"]
                for frame in frames {
                    _ = try await stage.agentSays(["keyboard", "show", "--frame", frame, "--duration", "20"])
                    // The end of one movement comes before the beginning of the next.
                    try await app.line { $0.hasPrefix("keyboardDidChangeFrame") && $0.hasSuffix(frame) }
                }
                #expect(
                    try await stage.agentSays(["keyboard", "show", "--frame", "0,400,1280,400"])
                        == ["The keyboard is like that already: the apps were told nothing."])
                _ = try await stage.agentSays(["keyboard", "hide", "--duration", "0"])
                try await app.line { $0.hasPrefix("keyboardDidHide") }
                let (first, second) = ("0,800,1280,300 to 0,500,1280,300", "0,500,1280,300 to 0,400,1280,400")
                let last = "0,400,1280,400 to 0,800,1280,400"
                let expected = [
                    "WillChangeFrame \(first)", "WillShow \(first)", "DidChangeFrame \(first)",
                    "DidShow \(first)",
                    "WillChangeFrame \(second)", "DidChangeFrame \(second)",
                    "WillChangeFrame \(last)", "WillHide \(last)", "DidChangeFrame \(last)",
                    "DidHide \(last)",
                ]
                #expect(app.output.filter { $0.hasPrefix("keyboard") } == expected.map { "keyboard\($0)" })

                relay.program.send(SIGTERM)
                try await app.line { $0.hasPrefix("relayLinkDidDisconnect") }
                let address = "\(relay.description.host):\(relay.description.devicePort)"
                let link = app.output.filter { $0.hasPrefix("relayLink") }.suffix(2)
                #expect(
                    link.first?.hasPrefix("relayLinkWillDisconnect, reason: the relay said goodbye") == true)
                #expect(link.last?.hasSuffix("relay: \(address)") == true)
            }
        }

        @Test("sleeps when its apps have heard that it will, with no link, and is there again when it wakes")
        func sleep() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let bus = try await stage.startBus()
                let agent = try await stage.startAgent(
                    of: relay, environment: ["DBUS_SYSTEM_BUS_ADDRESS": bus])
                let app = try stage.start(
                    "postrider-example-app",
                    ["--topic", relay.topic, "--socket", stage.path("agent.sock"), "--system"])
                try await app.line(startingWith: "device token: ")
                let manager = try stage.python(
                    "logind.py", [bus, "2"], by: URL(filePath: "/usr/bin/python3"))
                #expect(try await manager.exitCode() == 0, "\(manager.transcript)")
                // The manager has waited for the lock each time, and the agent for the app.
                #expect(manager.output == ["locked", "asleep", "locked", "asleep", "locked"])
                try await app.lines(2) { $0 == "deviceDidWake" }
                let news = app.output.filter { $0.hasPrefix("device") && !$0.hasPrefix("device ") }
                #expect(news == ["deviceWillSleep", "deviceDidWake", "deviceWillSleep", "deviceDidWake"])
                let link = app.output.filter { $0.hasPrefix("relayLinkWillDisconnect") }
                #expect(link.first?.contains("the device sleeps") == true)
                agent.send(SIGTERM)
                #expect(try await agent.exitCode() == 0)
            }
        }

        @Test("is not sent what its owner does not want to see, until the owner does")
        func ignored() async throws {
            try await onStage { stage in
                let (quiet, loud) = ("com.example.quiet", "com.example.loud")
                let relay = try await stage.startRelay(options: ["--topic", quiet, "--topic", loud])
                try stage.declare(
                    stage.product("postrider-example-app"), ["--topic", quiet, "--remind", "1000"],
                    topic: quiet, "background: false", "exits-on-suspend: true")
                let options = ["--apps-directory", stage.path("apps"), "--notifications", "deny"]
                let first = try await stage.startAgent(of: relay, options: options)
                _ = try await stage.agentSays(["activate", quiet])
                let token = try await first.line(startingWith: "device token: ")
                try await first.line { $0 == "the owner of this device allows no reminders" }
                _ = try await stage.agentSays(["suspend", quiet])
                try await first.line { $0 == "will terminate" }
                first.send(SIGTERM)
                #expect(try await first.exitCode() == 0)

                // The second agent's hello contains the reception.
                let second = try await stage.startAgent(of: relay, options: options)
                let app = try stage.start(
                    "postrider-example-app", ["--topic", loud, "--socket", stage.path("agent.sock")])
                let loudToken = try await app.line(startingWith: "device token: ")
                let unseen = try await stage.send(title: "unseen", to: token, topic: quiet)
                let seen = try await stage.send(title: "seen", to: loudToken, topic: loud)
                try await app.line { $0 == "  title: seen" }
                // When the trace has the later push, it has the earlier one, too.
                _ = try await stage.trace([seen], until: "sent to", of: relay)
                let life = try await stage.trace([unseen], until: "accepted", of: relay)
                #expect(!life.contains { $0.contains("sent to") }, "\(life)")

                _ = try await stage.agentSays(["allow", quiet])
                try await second.line { $0 == "  title: unseen" }
                second.send(SIGTERM)
                #expect(try await second.exitCode() == 0)
            }
        }

        @Test("hands over every push once, wherever its agent is killed", .disabled(if: Sanitizer.isLoaded))
        func steps() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let program = try stage.python(
                    "handover.py", [relay.file, Place.products.path, stage.folder.path])
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
                #expect(program.output.last?.hasSuffix("every push was observed once") == true)
            }
        }

        @Test("keeps what its app cannot handle for its owner, who has it tried again or drops it")
        func deadLetters() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let agent = try await stage.startAgent(of: relay, options: ["--delivery-attempts", "2"])
                let app = try stage.start(
                    "postrider-example-app",
                    [
                        "--topic", relay.topic, "--socket", stage.path("agent.sock"), "--fail",
                        "I cannot swim.",
                    ])
                let token = try await app.line(startingWith: "device token: ")
                let push = try stage.python("push.py", [relay.file, token, "--count", "2"])
                #expect(try await push.exitCode() == 0, "\(push.transcript)")
                // The outputs of two programs are not read in the order in which they were written.
                func areGivenUp(_ letters: Int, after calls: Int) async throws {
                    try await agent.lines(letters) { $0.contains("given up after 2 attempts") }
                    try await app.lines(calls) { $0 == "notification" }
                }
                try await areGivenUp(2, after: 4)
                let letters = try await stage.agentSays(["dead-letters"]).dropFirst()
                #expect(letters.count == 2 && letters.allSatisfy { $0.hasSuffix("I cannot swim.") })
                let numbers = letters.map { String($0.prefix { $0 != " " }) }
                _ = try await stage.agentSays(["retry", numbers[0]])
                _ = try await stage.agentSays(["drop", numbers[1]])
                try await areGivenUp(3, after: 6)
                #expect(try await stage.agentSays(["dead-letters"]).dropFirst().count == 1)
                #expect(app.output.count { $0 == "notification" } == 6)
            }
        }

        @Test("starts an app for a reminder that it has asked for, and tells it why")
        func reminder() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                try stage.declare(
                    stage.product("postrider-example-app"), ["--topic", relay.topic, "--remind", "2"],
                    topic: relay.topic, "background: false", "exits-on-suspend: true")
                let agent = try await stage.startAgent(
                    of: relay, options: ["--apps-directory", stage.path("apps"), "--notifications", "allow"])
                _ = try await stage.agentSays(["activate", relay.topic])
                try await agent.line { $0 == "a reminder is set" }
                _ = try await stage.agentSays(["suspend", relay.topic])
                try await agent.line { $0 == "did finish launching: local-notification" }
                try await agent.line { $0 == "  title: Tea" }
                let told = agent.output
                let start = told.firstIndex(of: "did finish launching: local-notification")
                #expect(try #require(start) < #require(told.lastIndex(of: "reminder")))
                agent.send(SIGTERM)
                #expect(try await agent.exitCode() == 0)
            }
        }

        @Test(
            "keeps the apps of its users apart, and starts another user's app as that user",
            .enabled(if: geteuid() == 0, "only root can be somebody else"))
        func users() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let app = try stage.publish("postrider-example-app")
                try stage.declare(
                    app, ["--topic", relay.topic], topic: relay.topic, "user: \(Self.nobody)",
                    "background: true")
                let agent = try await stage.startAgent(
                    of: relay, options: ["--apps-directory", stage.path("apps"), "--notifications", "allow"])
                // Root is another user than the app's, too.
                let stranger = try stage.startApp(of: relay)
                #expect(try await stranger.exitCode() == 1)
                #expect(stranger.errors.contains { $0.contains("belongs to another user of this device") })

                _ = try await stage.agentSays(["activate", relay.topic])
                let token = try await agent.line(startingWith: "device token: ")
                let started = try await agent.line { $0.contains("started \(relay.topic) as process ") }
                let number = try #require(started.split(separator: " ").first { Int($0.dropLast()) ?? 0 > 1 })
                let process = try FileManager.default.attributesOfItem(atPath: "/proc/\(number.dropLast())")
                #expect((process[.ownerAccountID] as? NSNumber)?.stringValue == Self.nobody)
                let push = try stage.python("push.py", [relay.file, token, "--title", "yours"])
                #expect(try await push.exitCode() == 0, "\(push.transcript)")
                try await agent.line { $0 == "  title: yours" }

                // A registration by another user's process belongs to that user, too.
                let other = try stage.start(
                    URL(filePath: "/usr/bin/setpriv"),
                    ["--reuid", Self.nobody, "--regid", Self.nobody, "--clear-groups", "--"]
                        + [app.path, "--topic", "com.example.tea", "--remind", "1000"]
                        + ["--socket", stage.path("agent.sock")])
                try await other.line { $0.contains("reminder") }
                let thief = try stage.start(
                    "postrider-example-app",
                    ["--topic", "com.example.tea", "--socket", stage.path("agent.sock")])
                #expect(try await thief.exitCode() == 1)
                #expect(thief.errors.contains { $0.contains("belongs to another user of this device") })
                let order = try stage.start(
                    URL(filePath: "/usr/bin/setpriv"),
                    ["--reuid", Self.nobody, "--regid", Self.nobody, "--clear-groups", "--"]
                        + [try stage.publish("postrider-agent").path, "status"]
                        + ["--socket", stage.path("agent.sock")])
                #expect(try await order.exitCode() == 1)
                #expect(order.errors.contains { $0.contains("Only root and the agent's own user") })
                agent.send(SIGTERM)
                #expect(try await agent.exitCode() == 0)
                #expect(agent.output.last == "will terminate")
            }
        }
    }
}

extension Stage {
    /// Pushes with `postrider send`, and returns the push's identity.
    fileprivate func send(title: String, to token: String, topic: String) async throws -> String {
        let program = try start(
            "postrider",
            ["send", "--directory", path("dev"), "--title", title, "--topic", topic, token])
        #expect(try await program.exitCode() == 0, "\(program.transcript)")
        return try #require(program.output.first?.split(separator: " ").last.map(String.init))
    }

    /// Copies a program of this repository to a place where every user can execute it.
    fileprivate func publish(_ name: String) throws -> URL {
        let files = FileManager.default
        try files.setAttributes([.posixPermissions: 0o711], ofItemAtPath: folder.path)
        let copy = folder.appending(path: name)
        try files.copyItem(at: product(name), to: copy)
        try files.setAttributes([.posixPermissions: 0o755], ofItemAtPath: copy.path)
        return copy
    }
}
