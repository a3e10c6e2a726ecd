import Foundation
import Testing

extension EndToEnd {
    @Suite("Presence, names and groups of devices", .serialized)
    struct PresenceTests {
        private struct Device: Decodable {
            let name: String
            let isConnected: Bool
            let since: Int64
            let address: String?
            let agent: String?
            let ending: String?
        }

        /// Waits until the only device is in a state, and returns it.
        private func device(
            of relay: RelayUnderTest, on stage: Stage, _ options: [String] = [],
            where isWanted: (Device) -> Bool = { _ in true }
        ) async throws -> Device {
            let deadline = ContinuousClock.now + .seconds(Program.patienceSeconds)
            while true {
                let list = try stage.start(
                    "postrider",
                    ["devices", "list", "--json", "--control", relay.description.controlAddress] + options)
                #expect(try await list.exitCode() == 0, "\(list.transcript)")
                let text = Data(list.output.joined(separator: "\n").utf8)
                let devices = try JSONDecoder().decode([Device].self, from: text)
                if let device = devices.first, isWanted(device) { return device }
                guard ContinuousClock.now < deadline else { throw Failure("the devices are \(devices)") }
            }
        }

        @Test("is told by 'devices list', and followed by 'devices watch'")
        func listAndWatch() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let control = ["--control", relay.description.controlAddress]
                let watch = try stage.start("postrider", ["devices", "watch", "--json"] + control)
                let agent = try await stage.startAgent(of: relay)
                let device = try await device(of: relay, on: stage) { $0.isConnected }
                #expect(device.address == "127.0.0.1" && device.agent?.hasPrefix("postrider") == true)
                agent.send(SIGTERM)
                #expect(try await agent.exitCode() == 0)
                try await watch.line { $0.contains(#""ending":"goodbye""#) && $0.contains(#""what":"away""#) }
                let gone = try await self.device(of: relay, on: stage, ["--away"])
                #expect(gone.ending == "goodbye" && gone.since >= device.since)
                let list = try stage.start("postrider", ["devices", "list"] + control)
                #expect(try await list.exitCode() == 0)
                #expect(list.output.contains { $0.contains("its agent stopped") }, "\(list.transcript)")
                let none = try stage.start("postrider", ["devices", "list", "--offline-for", "1h"] + control)
                #expect(try await none.exitCode() == 0)
                #expect(none.output.count == 1, "\(none.transcript)")
            }
        }

        @Test("is right to the minute after the relay was killed, and says so after it was stopped")
        func kill() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let agent = try await stage.startAgent(of: relay)
                let before = try await device(of: relay, on: stage) { $0.isConnected }
                // A device's presence is stored a second after it has connected.
                let log = URL(filePath: stage.path("dev/data/registry.sqlite-wal"))
                let stored = Data(try #require(before.agent).utf8)
                let deadline = ContinuousClock.now + .seconds(Program.patienceSeconds)
                while try Data(contentsOf: log).range(of: stored) == nil {
                    try #require(ContinuousClock.now < deadline, "the presence is never stored")
                    try await Task.sleep(for: .milliseconds(50))
                }
                let killedAt = Int64(Date().timeIntervalSince1970 * 1000)
                try await relay.program.cutOff()
                agent.send(SIGKILL)
                let next = try await stage.startRelay()
                let after = try await device(of: next, on: stage)
                #expect(!after.isConnected && after.ending == "relayFailed")
                #expect(abs(after.since - killedAt) <= 60_000, "\(after), killed at \(killedAt)")
                #expect(after.address == before.address && after.agent == before.agent)

                _ = try await stage.startAgent(of: next)
                _ = try await device(of: next, on: stage) { $0.isConnected }
                next.program.send(SIGTERM)
                #expect(try await next.program.exitCode() == 0, "\(next.program.transcript)")
                let last = try await stage.startRelay()
                let stopped = try await device(of: last, on: stage) {
                    $0.isConnected || $0.ending == "relayStopped"
                }
                #expect(stopped.isConnected || stopped.ending == "relayStopped")
            }
        }

        @Test(
            "a machine installed anew is told beside the old device, and gets its name when that is removed"
        )
        func installedAnew() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let control = ["--control", relay.description.controlAddress]
                func list() async throws -> Program {
                    let list = try stage.start("postrider", ["devices", "list"] + control)
                    #expect(try await list.exitCode() == 0, "\(list.transcript)")
                    return list
                }
                let options = ["--device-name", "kiosk-7"]
                let old = try await stage.startAgent(of: relay, name: "old", options: options)
                _ = try await device(of: relay, on: stage) { $0.isConnected && $0.name == "kiosk-7" }
                old.send(SIGTERM)
                #expect(try await old.exitCode() == 0)
                // The machine has lost its state, and with that its identity.
                _ = try await stage.startAgent(of: relay, name: "new", options: options)
                let newer = ["--sort", "since", "--connected"]
                let new = try await device(of: relay, on: stage, newer) { $0.name == "kiosk-7-2" }
                #expect(new.isConnected)
                let lines = try await list().output
                let hint = try #require(lines.first { $0.contains("kiosk-7-2 calls itself likewise") })
                // The command in the hint, without its quotes, is what the operator types.
                let command = try #require(hint.firstMatch(of: #/'postrider (devices remove [0-9a-f]{24})'/#))
                let words = command.output.1.split(separator: " ").map(String.init)
                let remove = try stage.start("postrider", words + control)
                #expect(try await remove.exitCode() == 0, "\(remove.transcript)")
                let heir = try await device(of: relay, on: stage) { $0.name == "kiosk-7" }
                #expect(heir.isConnected)
                let after = try await list().output
                #expect(!after.contains { $0.contains("likewise") } && after.count == 2, "\(after)")
            }
        }

        @Test("names, tags and groups: a push reaches the devices of a tag, and no others")
        func groups() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let control = ["--control", relay.description.controlAddress]
                func operate(_ words: [String]) async throws -> Program {
                    let command = try stage.start("postrider", words + control)
                    _ = try await command.exitCode()
                    return command
                }
                try stage.handle(#"echo "$POSTRIDER_TITLE" >> "$0""#, topic: relay.topic)
                let apps = ["--apps-directory", stage.path("apps")]
                for (name, tags) in [("one", "lobby"), ("two", "lobby,berlin"), ("three", "berlin")] {
                    _ = try await stage.startAgent(
                        of: relay, name: name, options: apps + ["--device-name", name, "--device-tags", tags])
                }
                let send = [
                    "send", "--topic", relay.topic, "--wait", "done", "--timeout", "2m", "--title", "x",
                    "--body", "y",
                ]
                // Registrations come a moment after the agents are ready.
                var everybody = try await operate(send + ["--all", "--json"])
                let deadline = ContinuousClock.now + .seconds(Program.patienceSeconds)
                while everybody.output.count < 3, ContinuousClock.now < deadline {
                    everybody = try await operate(send + ["--all", "--json"])
                }
                let lobby = try await operate(send + ["--tag", "lobby", "--json"])
                #expect(
                    lobby.output.filter { $0.contains(#""state":"reached""#) }.count == 2,
                    "\(lobby.transcript)")
                #expect(lobby.output.contains { $0.contains(#""device":"one""#) }, "\(lobby.transcript)")
                #expect(!lobby.output.contains { $0.contains(#""device":"three""#) }, "\(lobby.transcript)")
                let one = try await operate(send + ["--device", "three"])
                #expect(try await one.exitCode() == 0, "\(one.transcript)")
                let all = try await operate(send + ["--all", "--quorum", "100%"])
                #expect(try await all.exitCode() == 0, "\(all.transcript)")
                #expect(all.output.last == "3 of 3 done", "\(all.transcript)")
                // A provider with its key, on the port for providers.
                let provider = try stage.start(
                    "postrider",
                    [
                        "send", "--directory", stage.path("dev"), "--tag", "berlin", "--title", "x", "--body",
                        "y",
                    ])
                #expect(try await provider.exitCode() == 0, "\(provider.transcript)")
                #expect(provider.output.count == 2, "\(provider.transcript)")

                #expect(try await operate(["devices", "tag", "one", "berlin"]).exitCode() == 0)
                #expect(try await operate(["devices", "rename", "one", "eins"]).exitCode() == 0)
                let listed = try await operate(["devices", "list", "--tag", "berlin", "--sort", "name"])
                let names = listed.output.dropFirst().filter { !$0.hasPrefix(" ") }.compactMap {
                    $0.split(separator: " ").first
                }
                #expect(names == ["eins", "three", "two"], "\(listed.transcript)")
            }
        }
    }
}
