import Foundation
import Testing

extension EndToEnd {
    @Suite("What a command says", .serialized)
    struct OutputTests {
        private static let shell = URL(filePath: "/bin/sh")
        private static let postrider = Place.products.appending(path: "postrider").path
        private static let sentence =
            "postrider: The output cannot be written: check the disk that it goes to."

        /// Runs a command whose output goes to a full disk.
        private func onFullDisk(_ arguments: [String], on stage: Stage) throws -> Program {
            try stage.start(
                Self.shell, ["-c", #"exec "$0" "$@" > /dev/full"#, Self.postrider] + arguments)
        }

        /// Runs a command whose output goes to a pipe that nobody reads any more.
        private func unread(_ arguments: [String], on stage: Stage) throws -> Program {
            let pipe = stage.path("pipe-\(UUID().uuidString)")
            // A pipe can be opened for writing only while it is open for reading, here by the same shell.
            let script = #"mkfifo "$0" && exec 3<> "$0" 4> "$0" 3<&- && exec "$@" >&4 4>&-"#
            return try stage.start(Self.shell, ["-c", script, pipe, Self.postrider] + arguments)
        }

        @Test("and cannot be written is told in one sentence, with exit code 1")
        func fullDisk() async throws {
            try await onStage { stage in
                for arguments in [["--version"], ["load", "--help"], ["keys", "add", "--help"]] {
                    let program = try onFullDisk(arguments, on: stage)
                    #expect(try await program.exitCode() == 1, "\(program.transcript)")
                    #expect(program.errors == [Self.sentence])
                }
            }
        }

        @Test("of a load run and cannot be written is no reason not to write its file")
        func load() async throws {
            try await onStage { stage in
                let saved = stage.path("saved.json")
                let program = try onFullDisk(
                    ["load", "idle", "--devices", "2", "--for", "1s", "--json", "--save", saved], on: stage)
                #expect(try await program.exitCode() == 1, "\(program.transcript)")
                #expect(program.errors == [Self.sentence])
                #expect(FileManager.default.fileExists(atPath: saved))
            }
        }

        @Test("to nobody, because the reader has gone, is no error")
        func goneReader() async throws {
            try await onStage { stage in
                let program = try unread(["--help"], on: stage)
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
                #expect(program.errors.isEmpty)
            }
        }

        @Test("again and again ends with its reader, and a device leaves what it could not show at the relay")
        func endless() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let folder = ["--directory", stage.path("dev")]
                let be = ["device", "--topic", relay.topic, "--state", stage.path("device.json")] + folder
                let device = try stage.start("postrider", be)
                let token = try await device.line(startingWith: "device token for \(relay.topic): ")
                device.send(SIGTERM)
                #expect(try await device.exitCode() == 0)

                let trace = ["trace", "--follow", "--control", relay.description.controlAddress]
                let follower = try unread(trace, on: stage)
                // The command reports what happens after its first request, and does not say when that was.
                for _ in 1...200 where follower.isRunning {
                    let push = try stage.start("postrider", ["send", "--title", "t", token] + folder)
                    #expect(try await push.exitCode() == 0, "\(push.transcript)")
                }
                #expect(try await follower.exitCode() == 0, "\(follower.transcript)")
                #expect(follower.errors.isEmpty)

                let pending = try await stage.counters(of: relay).pending
                #expect(pending > 0)
                let ended = try unread(be, on: stage)
                #expect(try await ended.exitCode() == 0, "\(ended.transcript)")
                #expect(ended.errors.isEmpty)
                let lost = try onFullDisk(be, on: stage)
                #expect(try await lost.exitCode() == 1, "\(lost.transcript)")
                #expect(lost.errors == [Self.sentence])
                #expect(try await stage.counters(of: relay).pending == pending)
            }
        }
    }
}
