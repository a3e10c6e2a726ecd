import Foundation
import Testing

/// Load runs that fail early or are stopped.
extension EndToEnd.LoadTests {
    @Test(
        "ends with its relay: in order where it is interrupted, with a sentence where that is killed",
        arguments: [("10m", SIGINT, 130, false), ("2s", SIGKILL, 1, true)])
    func interruption(time: String, signal: Int32, exitCode: Int32, saysSo: Bool) async throws {
        try await onStage { stage in
            let folder = stage.path("relay")
            let program = try stage.start(
                "postrider",
                ["load", "push", "--devices", "5", "--for", time, "--relay-directory", folder])
            // The relay writes this file when it listens.
            let values = folder + "/dev.json"
            while program.isRunning, !FileManager.default.fileExists(atPath: values) {
                try await Task.sleep(for: .milliseconds(10))
            }
            struct Values: Decodable { let process: Int32 }
            let relay = try JSONDecoder().decode(
                Values.self, from: Data(contentsOf: URL(filePath: values))
            ).process
            #expect(kill(relay, 0) == 0)
            if signal == SIGINT { program.send(SIGINT) } else { kill(relay, signal) }
            #expect(try await program.exitCode() == exitCode, "\(program.transcript)")
            // It may be killed before anybody has read that it has started.
            let sentences = ["relay that was measured has ended", "relay to be measured did not start"]
            let isSaid = program.errors.contains { line in sentences.contains { line.contains($0) } }
            #expect(isSaid == saysSo, "\(program.transcript)")
            #expect(kill(relay, 0) == -1)
        }
    }

    @Test("writes one file, and tells what else it has found, where the other cannot be written")
    func unwritten() async throws {
        try await onStage { stage in
            let folder = stage.path("gone")
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            let (relay, saved) = (stage.path("relay"), stage.path("saved.json"))
            let program = try stage.start(
                "postrider",
                [
                    "load", "idle", "--devices", "2", "--for", "1s", "--relay-directory", relay,
                    "--report", folder + "/page.html", "--save", saved, "--expect", "connections=7",
                ])
            while program.isRunning, !FileManager.default.fileExists(atPath: relay) {
                try await Task.sleep(for: .milliseconds(10))
            }
            try FileManager.default.removeItem(atPath: folder)
            #expect(try await program.exitCode() == 1)
            let words = ["page.html cannot be written", "Expected connections=7"]
            #expect(program.errors.count == 2, "\(program.transcript)")
            for (error, words) in zip(program.errors, words) { #expect(error.contains(words)) }
            #expect(FileManager.default.fileExists(atPath: saved))
        }
    }

    @Test("says in one sentence why it cannot begin")
    func failures() async throws {
        try await onStage { stage in
            let table: [([String], Int32, String)] = [
                (["walk"], 2, "there is no scenario 'walk'"),
                (["push", "--rate", "1", "--in-flight", "1"], 2, "two ways to pace pushes"),
                (["push", "--for", "soon"], 2, "must be a length of time"),
                (["soak", "--for", "73h"], 2, "--for may be three days at most, not '73h'"),
                (["push", "--expect", "p99"], 2, "'p99' is no expectation"),
                (
                    ["idle", "--target", "localhost:1", "--provider-only", "--for", "1s"], 2,
                    "pushes only"
                ),
                (["push", "--certificate", "provider.pem"], 2, "--certificate goes with --target"),
                (["idle", "--rate", "1"], 2, "--rate says nothing to the scenario idle"),
                (["push", "--rate", "0"], 2, "a number of pushes a second from 0.001 to 10000000, not '0'"),
                (
                    ["push", "--target", "localhost:1", "--provider-only", "--apps", "2"], 2,
                    "--apps says nothing with --provider-only"
                ),
                (
                    ["push", "--target", "localhost:1", "--provider-only", "--absent"], 2,
                    "--absent says nothing with --provider-only"
                ),
                (
                    [
                        "push", "--target", "localhost:1", "--provider-only", "--devices", "1", "--tokens",
                        "x",
                    ], 2, "--devices says nothing with --tokens"
                ),
                (
                    ["push", "--target", "localhost:1", "--provider-only", "--team-id", "x"], 2,
                    "--team-id goes with --key-file"
                ),
                (["storm", "--absent"], 2, "--absent says nothing to the scenario storm"),
                (["push", "--target", "localhost", "--provider-only"], 2, "localhost is no destination"),
                (["push", "--processors", "0,1023"], 2, "1023 is no processor that this process may use"),
                (["push", "--tokens", "tokens"], 2, "--tokens goes with --target"),
                (["push", "--process", "1"], 2, "--process goes with --target or --relay"),
                (
                    ["push", "--directory", "x", "--relay-setting", "shards=1"], 2,
                    "--relay-setting is for a relay of its own"
                ),
                (["push", "--save", "/nowhere/result.json"], 2, "--save must be a file in a directory"),
                (["push", "--report", stage.folder.path], 2, "--report must be a file in a directory"),
                (["idle", "--devices", "1000000"], 1, "The limit of open files (nofile) is "),
                (
                    ["push", "--target", "localhost:1", "--provider-only", "--process", "2147483647"], 2,
                    "is no process of this machine"
                ),
                (
                    ["push", "--target", "[::1]:1", "--provider-only", "--certificate", "/dev/null"], 1,
                    "needs its private key"
                ),
                (
                    ["push", "--target", "127.0.0.1:1", "--provider-only"], 1,
                    "No connection to the provider"
                ),
            ]
            for (arguments, exitCode, words) in table {
                let program = try stage.start("postrider", ["load"] + arguments)
                #expect(try await program.exitCode() == exitCode, "\(program.transcript)")
                #expect(program.errors.count == 1 && program.output.isEmpty, "\(program.transcript)")
                #expect(program.errors.first?.contains(words) == true, "\(program.transcript)")
            }
        }
    }
}
