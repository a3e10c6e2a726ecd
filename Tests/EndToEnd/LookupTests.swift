import Foundation
import Testing

extension EndToEnd {
    /// `postrider send --device`, `--tag` and `--all` with nothing but a provider's key and the relay's port for
    /// providers.
    @Suite("Names and tags for providers", .serialized)
    struct LookupTests {
        private func send(
            _ words: [String], to relay: RelayUnderTest, on stage: Stage
        ) async throws -> (code: Int32, program: Program) {
            let values = relay.description
            let program = try stage.start(
                "postrider",
                [
                    "send", "--relay", "\(values.host):\(values.providerPort)", "--ca", values.authorityFile,
                    "--key-file", stage.path("dev/AuthKey_DEVKEY0001.p8"), "--key-id", "DEVKEY0001",
                    "--team-id", "DEVTEAM001", "--topic", relay.topic, "--alert", "wake", "--wait", "done",
                ] + words)
            return (try await program.exitCode(), program)
        }

        private func startAgent(of relay: RelayUnderTest, on stage: Stage) async throws {
            try stage.handle("exit 0", topic: relay.topic)
            _ = try await stage.startAgent(
                of: relay,
                options: [
                    "--apps-directory", stage.path("apps"), "--device-name", "kiosk-7", "--device-tags",
                    "lobby,wall",
                ])
            _ = try await stage.token(of: relay)
        }

        @Test("are for keys that the operator has named, and for devices that somebody can name")
        func named() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay(options: ["--lookup-keys", "OTHER, DEVKEY0001"])
                try await startAgent(of: relay, on: stage)
                for words in [
                    ["--tag", "lobby"], ["--device", "KIOSK-7"], ["--device", "kiosk-7", "--tag", "wall"],
                ] {
                    let (code, sent) = try await send(words, to: relay, on: stage)
                    #expect(code == 0, "\(sent.transcript)")
                    #expect(sent.output.count == 1 && sent.output[0].contains("done:"))
                }
                for (words, sentence) in [
                    (["--tag", "kitchen"], "No device with the tag kitchen"),
                    (["--device", "kiosk-8"], "Device kiosk-8 has no app"),
                ] {
                    let (code, refused) = try await send(words, to: relay, on: stage)
                    #expect(code == 1 && refused.transcript.contains(sentence), "\(refused.transcript)")
                }
                let (code, all) = try await send(["--all"], to: relay, on: stage)
                #expect(code == 1 && all.transcript.contains("lookup-all-keys"), "\(all.transcript)")
            }
        }

        @Test("list all devices for keys that the operator has named for that")
        func all() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay(options: ["--lookup-all-keys", "DEVKEY0001"])
                try await startAgent(of: relay, on: stage)
                for words in [["--all"], ["--tag", "lobby"]] {
                    let (code, sent) = try await send(words, to: relay, on: stage)
                    #expect(code == 0, "\(sent.transcript)")
                    #expect(sent.output.count == 1 && sent.output[0].contains("done:"))
                }
            }
        }

        @Test("say with --wait how far a push has come, and end with 4 and 5 where it comes no further")
        func ends() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay(options: ["--lookup-keys", "DEVKEY0001"])
                try stage.handle("exit 1", topic: relay.topic)
                let agent = try await stage.startAgent(
                    of: relay,
                    options: [
                        "--apps-directory", stage.path("apps"), "--delivery-attempts", "1", "--device-name",
                        "kiosk-7",
                    ])
                let token = try await stage.token(of: relay)
                let (failed, dead) = try await send(["--device", "kiosk-7"], to: relay, on: stage)
                #expect(failed == 5 && dead.transcript.contains("dead letter"), "\(dead.transcript)")
                agent.send(SIGTERM)
                #expect(try await agent.exitCode() == 0)
                let (code, away) = try await send(["--timeout", "1s", token], to: relay, on: stage)
                #expect(code == 4 && away.transcript.contains("waits at the relay"), "\(away.transcript)")
            }
        }

        @Test(
            "are for nobody unless the operator has named a key",
            arguments: [[], ["--lookup-keys", "OTHER"]])
        func off(_ options: [String]) async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay(options: options)
                try await startAgent(of: relay, on: stage)
                let (code, refused) = try await send(["--tag", "lobby"], to: relay, on: stage)
                #expect(code == 1, "\(refused.transcript)")
                #expect(
                    refused.transcript.contains("does not let this key look up devices"),
                    "\(refused.transcript)")
                let token = try await stage.token(of: relay)
                let (ended, asked) = try await send([token], to: relay, on: stage)
                #expect(ended == 1, "\(asked.transcript)")
                #expect(
                    asked.transcript.contains("does not let this key ask about pushes"),
                    "\(asked.transcript)")
                #expect(try await stage.counters(of: relay).accepted == 0)
            }
        }
    }
}
