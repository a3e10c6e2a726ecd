import Foundation
import Testing

/// A load run leaves nothing behind at a relay that it did not start, however the run ends.
extension EndToEnd.LoadTests {
    /// Returns everything that an operator can list at a relay.
    private func listed(at relay: RelayUnderTest, on stage: Stage) async throws -> [String] {
        var lists: [String] = []
        for kind in ["devices", "topics", "keys", "enrolment-keys"] {
            lists += try await operate([kind, "list", "--json"], relay, stage)
        }
        return lists
    }

    @discardableResult
    private func operate(
        _ words: [String], _ relay: RelayUnderTest, _ stage: Stage
    ) async throws -> [String] {
        let program = try stage.start(
            "postrider", words + ["--control", relay.description.controlAddress])
        #expect(try await program.exitCode() == 0, "\(program.transcript)")
        return program.output
    }

    @Test("is let in by a running relay's operator, and leaves nothing behind")
    func provisioned() async throws {
        try await onStage { stage in
            let relay = try await stage.startRelay()
            let before = try await listed(at: relay, on: stage)
            let result = try await run(
                [
                    "push", "--devices", "5", "--apps", "2", "--count", "50", "--warm-up", "0s",
                    "--relay", "localhost:\(relay.description.providerPort)",
                    "--device-relay", "127.0.0.1:\(relay.description.devicePort)",
                    "--ca", relay.description.authorityFile,
                    "--process", "\(relay.program.processIdentifier)",
                    "--control", relay.description.controlAddress,
                ], on: stage)
            expectClean(result)
            #expect(try result.phase("push").delivered == 50)
            #expect(try await listed(at: relay, on: stage) == before)
        }
    }

    @Test("leaves nothing at the relay of a folder, and the devices of others in peace")
    func ofFolder() async throws {
        try await onStage { stage in
            let relay = try await stage.startRelay()
            _ = try await stage.startDevice(of: relay)
            let before = try await listed(at: relay, on: stage)
            let arguments = ["push", "--devices", "5", "--count", "50", "--warm-up", "0s"]
            let result = try await run(arguments + ["--directory", stage.path("dev")], on: stage)
            #expect(try result.phase("push").delivered == 50)
            #expect(try await listed(at: relay, on: stage) == before)
        }
    }

    @Test("leaves devices where they are to stay, and what waits for them")
    func kept() async throws {
        try await onStage { stage in
            let relay = try await stage.startRelay()
            let arguments = ["push", "--absent", "--devices", "1", "--count", "50", "--warm-up", "0s"]
            _ = try await run(
                arguments + ["--directory", stage.path("dev"), "--keep-devices"], on: stage)
            let devices = try await operate(["devices", "list"], relay, stage)
            #expect(devices.contains { $0.contains("load-") && $0.contains(" 50 ") }, "\(devices)")
            #expect(
                try await operate(["enrolment-keys", "list", "--json"], relay, stage).first?.contains("load")
                    == false)
        }
    }

    @Test("leaves nothing at the relay of a folder where it is interrupted")
    func interrupted() async throws {
        try await onStage { stage in
            let relay = try await stage.startRelay()
            let before = try await listed(at: relay, on: stage)
            let program = try stage.start(
                "postrider",
                ["load", "push", "--devices", "5", "--for", "10m", "--directory", stage.path("dev")])
            while program.isRunning, try await listed(at: relay, on: stage)[0] == before[0] {}
            program.send(SIGINT)
            #expect(try await program.exitCode() == 130, "\(program.transcript)")
            #expect(try await listed(at: relay, on: stage) == before)
        }
    }

    @Test("leaves nothing at the relay of a folder where the run cannot be carried out")
    func failed() async throws {
        try await onStage { stage in
            let relay = try await stage.startRelay()
            // Nobody can create a channel of such a topic.
            let refusal = ["topics", "add", relay.topic, "--team-id", "DEVTEAM001", "--no-broadcast"]
            try await operate(refusal, relay, stage)
            let before = try await listed(at: relay, on: stage)
            let program = try stage.start(
                "postrider", ["load", "fanout", "--devices", "5", "--directory", stage.path("dev")])
            #expect(try await program.exitCode() == 1)
            #expect(program.errors.first?.contains("makes no channel") == true, "\(program.transcript)")
            #expect(try await listed(at: relay, on: stage) == before)
        }
    }

    @Test("says what it leaves at the relay of a folder that ends before it")
    func leftBehind() async throws {
        try await onStage { stage in
            let relay = try await stage.startRelay()
            let before = try await operate(["devices", "list", "--json"], relay, stage)
            let program = try stage.start(
                "postrider",
                ["load", "push", "--devices", "5", "--for", "3s", "--directory", stage.path("dev")])
            while program.isRunning, try await operate(["devices", "list", "--json"], relay, stage) == before
            {}
            kill(relay.program.processIdentifier, SIGKILL)
            #expect(try await program.exitCode() == 1)
            let words = "What was made for this run may still be at the relay: the enrolment key load-"
            #expect(program.errors.contains { $0.contains(words) }, "\(program.transcript)")
        }
    }
}
