import Foundation
import Testing

extension EndToEnd {
    @Suite("A handler, which a manifest names", .serialized)
    struct HandlerTests {
        /// Returns the number in a payload of push.py.
        private static func number(_ line: String) -> Int? {
            let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            return object?["number"] as? Int
        }

        /// Returns the lines that the handler has written, one for each run.
        private func journal(_ stage: Stage, _ name: String = "journal") -> [String] {
            let text = (try? String(contentsOfFile: stage.path(name), encoding: .utf8)) ?? ""
            return text.split(separator: "\n").map(String.init)
        }

        private func wait(_ stage: Stage, for count: Int, in name: String = "journal") async throws {
            let deadline = ContinuousClock.now + .seconds(Program.patienceSeconds)
            while journal(stage, name).count < count {
                guard ContinuousClock.now < deadline else {
                    throw Failure(
                        "\(count) lines were waited for, and there are \(journal(stage, name).count)")
                }
                _ = try await stage.run("true", [])
            }
        }

        @Test("is given payload and headers of each push in order, without a program that attaches")
        func order() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let script =
                    #"cat > "$0.payload"; "#
                    + #"echo "$POSTRIDER_TITLE $POSTRIDER_PUSH_TYPE $PWD $POSTRIDER_ATTEMPT" >> "$0""#
                try stage.handle(script, topic: relay.topic, "directory: \(stage.folder.path)")
                let agent = try await stage.startAgent(
                    of: relay, options: ["--apps-directory", stage.path("apps")])
                let token = try await stage.token(of: relay)
                let push = try stage.python(
                    "push.py", [relay.file, token, "--title", "t", "--count", "20"])
                #expect(try await push.exitCode() == 0, "\(push.transcript)")
                try await wait(stage, for: 20)
                #expect(Set(journal(stage)) == ["t alert \(stage.folder.path) 1"])
                let payload = try String(contentsOfFile: stage.path("journal.payload"), encoding: .utf8)
                #expect(payload.contains(#""t""#), "\(payload)")
                #expect(try await stage.agentSays(["apps"]).contains { $0.contains("handler") })
                agent.send(SIGTERM)
                #expect(try await agent.exitCode() == 0)
            }
        }

        @Test(
            "is judged by its exit code: done, again and then a dead letter, or later; the trace tells which")
        func exitCodes() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                // The body of a push is the exit status of the first run; after 75 the second run succeeds.
                let script = """
                    echo "$POSTRIDER_BODY $POSTRIDER_ATTEMPT" >> "$0"; echo "I say $POSTRIDER_BODY"
                    case "$POSTRIDER_BODY" in
                    75) test -e "$0.again" && exit 0; touch "$0.again"; exit 75;;
                    kill) kill -9 $$;;
                    *) exit "$POSTRIDER_BODY";;
                    esac
                    """
                try stage.handle(script, topic: relay.topic)
                _ = try await stage.startAgent(
                    of: relay,
                    options: ["--apps-directory", stage.path("apps"), "--delivery-attempts", "2"])
                let token = try await stage.token(of: relay)
                let cases = [
                    ("0", ["done: its handler has ended well", "I say 0"]),
                    ("3", ["failed, it will be tried again", "failed for good", "exit code 3", "I say 3"]),
                    ("75", ["asks to be started later", "done: its handler has ended well"]),
                    ("kill", ["failed for good", "ended by signal 9"]),
                ]
                for (body, words) in cases {
                    let identity = UUID().uuidString
                    let push = try stage.python(
                        "push.py", [relay.file, token, "--body", body, "--identity", identity])
                    #expect(try await push.exitCode() == 0, "\(push.transcript)")
                    let last = words.first { $0.contains("good") } ?? words.last ?? ""
                    let told = try await stage.trace([identity], until: last, of: relay)
                    for word in words {
                        #expect(told.contains { $0.contains(word) }, "\(body): \(word) in \(told)")
                    }
                }
                #expect(journal(stage) == ["0 1", "3 1", "3 2", "75 1", "75 1", "kill 1", "kill 2"])
                #expect(try await stage.agentSays(["dead-letters"]).count == 3)
            }
        }

        @Test("that is not there, ends never, writes a gigabyte or forks is told of, and others go on")
        func misbehaviour() async throws {
            try await onStage { stage in
                let topics = (1...5).map { "com.example.handler\($0)" }
                let relay = try await stage.startRelay(options: topics.flatMap { ["--topic", $0] })
                let scripts = [
                    "exec sleep 100000",
                    #"head -c 1000000000 /dev/zero; echo; echo the end; echo done >> "$0""#,
                    #"for n in 1 2 3 4 5; do sleep 100000 & done; echo $! > "$0.child"; echo forked >> "$0""#,
                    #"echo well >> "$0""#,
                ]
                for (index, script) in scripts.enumerated() {
                    try stage.handle(
                        script, topic: topics[index], journal: "journal\(index)", "handler-timeout: 5")
                }
                _ = try stage.write(
                    "topic: \(topics[4])\nrun: [/nowhere/at/all]\n", to: "apps/\(topics[4]).yaml")
                let agent = try await stage.startAgent(
                    of: relay,
                    options: ["--apps-directory", stage.path("apps"), "--delivery-attempts", "1"])
                try await agent.line {
                    $0.contains("\(topics[4]): its handler cannot be started now")
                }
                for topic in topics {
                    let token = try await stage.token(of: relay, topic: topic)
                    let push = try stage.send(["--topic", topic, "--alert", "x", token])
                    #expect(try await push.exitCode() == 0, "\(push.transcript)")
                }
                for index in 1...3 { try await wait(stage, for: 1, in: "journal\(index)") }
                try await agent.line {
                    $0.contains("\(topics[0]): its handler has failed") && $0.contains("not done after 5 s")
                }
                try await agent.line {
                    $0.contains("\(topics[1]): its handler has handled") && $0.contains("the end")
                }
                try await agent.line {
                    $0.contains("\(topics[4]): its handler has failed") && $0.contains("/nowhere/at/all")
                }
                // Processes that the handler has started are ended with it.
                let text = try String(contentsOfFile: stage.path("journal2.child"), encoding: .utf8)
                let child = try #require(Int32(text.trimmingCharacters(in: .whitespacesAndNewlines)))
                while isRunning(child) { await Task.yield() }
                #expect(try await stage.agentSays(["dead-letters"]).count == 3)
            }
        }

        /// Returns false for a process that has ended, even if nobody has waited for it yet.
        private func isRunning(_ process: Int32) -> Bool {
            let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
            return text.map { !$0.contains(") Z ") } ?? false
        }

        @Test("may be a systemd unit, whose result and exit code count as a program's")
        func unit() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let bus = try await stage.startBus()
                let manager = try stage.python(
                    "systemd.py", [bus, stage.path("handlers"), "done", "75", "3", "done"],
                    by: URL(filePath: "/usr/bin/python3"))
                try await manager.line { $0 == "ready" }
                try FileManager.default.createDirectory(
                    atPath: stage.path("apps"), withIntermediateDirectories: true)
                _ = try stage.write("topic: \(relay.topic)\nsystemd-unit: wake\n", to: "apps/unit.yaml")
                let agent = try await stage.startAgent(
                    of: relay, options: ["--apps-directory", stage.path("apps")],
                    environment: ["DBUS_SYSTEM_BUS_ADDRESS": bus])
                let token = try await stage.token(of: relay)
                for body in ["first", "second"] {
                    let identity = UUID().uuidString
                    let send = try stage.send([
                        "--body", body, "--apns-id", identity, "--wait", "done", "--timeout", "2m", token,
                    ])
                    #expect(try await send.exitCode() == 0, "\(send.transcript)")
                    let name = "wake@\(identity.lowercased()).service"
                    let starts = manager.output.filter { $0.hasPrefix("started \(name) ") }
                    #expect(starts.count == (body == "first" ? 1 : 3), "\(manager.transcript)")
                    #expect(starts.allSatisfy { $0.contains(#""body":"\#(body)""#) })
                    #expect(manager.output.count { $0 == "reset \(name)" } == (body == "first" ? 0 : 2))
                }
                // A run's folder is removed when the run has ended.
                let left = try FileManager.default.contentsOfDirectory(atPath: stage.path("handlers"))
                #expect(left == [])
                agent.send(SIGTERM)
                #expect(try await agent.exitCode() == 0)
            }
        }

        @Test("is started for every push, however often the agent is killed")
        func kills() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                // The script writes a line at once, so that a killed run leaves whole lines.
                try stage.handle(#"echo "$(cat)" >> "$0""#, topic: relay.topic, "parallelism: 2")
                let options = ["--apps-directory", stage.path("apps")]
                var agent = try await stage.startAgent(of: relay, options: options)
                let token = try await stage.token(of: relay)
                let count = 300
                let push = try stage.python("push.py", [relay.file, token, "--count", "\(count)"])
                var random = SystemRandomNumberGenerator()
                for number in 1...20 {
                    try await wait(stage, for: min(number * 12 + Int.random(in: 0..<12, using: &random), 260))
                    try await agent.strike()
                    agent = try await stage.startAgent(of: relay, options: options)
                }
                #expect(try await push.exitCode() == 0, "\(push.transcript)")
                let missing = { Set(1...count).subtracting(journal(stage).compactMap(Self.number)) }
                let deadline = ContinuousClock.now + .seconds(Program.patienceSeconds)
                while !missing().isEmpty, ContinuousClock.now < deadline {
                    _ = try await stage.run("true", [])
                }
                #expect(missing().isEmpty, "\(agent.transcript)")
                // Only notifications in delivery at a kill are handled twice.
                #expect(journal(stage).count <= count + 20 * 2 + 20)
            }
        }
    }
}

extension Stage {
    /// Declares a handler: a shell script whose `$0` is the path of its journal.
    func handle(_ script: String, topic: String, journal: String = "journal", _ settings: String...) throws {
        try FileManager.default.createDirectory(
            atPath: path("apps"), withIntermediateDirectories: true)
        let file = try write(script, to: "\(topic).sh")
        let run = "run: [/bin/sh, -c, '. \(file)', \(path(journal))]"
        let text = (["topic: \(topic)", run] + settings).joined(separator: "\n") + "\n"
        _ = try write(text, to: "apps/\(topic).yaml")
    }

    /// Returns the device token of a topic, once the only device of the relay has registered it.
    func token(of relay: RelayUnderTest, topic: String? = nil) async throws -> String {
        struct Device: Decodable {
            struct Registration: Decodable {
                let topic: String
                let token: String
            }
            let registrations: [Registration]
        }
        let topic = topic ?? relay.topic
        let deadline = ContinuousClock.now + .seconds(Program.patienceSeconds)
        while ContinuousClock.now < deadline {
            let program = try start(
                "postrider", ["devices", "list", "--json", "--control", relay.description.controlAddress])
            _ = try await program.exitCode()
            let text = program.output.joined(separator: "\n")
            let devices = try JSONDecoder().decode([Device].self, from: Data(text.utf8))
            let found = devices.flatMap(\.registrations).first { $0.topic == topic }
            if let found { return found.token }
        }
        throw Failure("\(topic) was not registered")
    }

    /// Pushes as a provider of the relay of this stage.
    func send(_ arguments: [String]) throws -> Program {
        try start("postrider", ["send", "--directory", path("dev")] + arguments)
    }
}
