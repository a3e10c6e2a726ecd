import Foundation
import ProgramFixtures
import Testing

extension EndToEnd {
    /// Tests with one file system; `make torture` uses others.
    @Suite("A real file system that is full", .serialized)
    struct FullDiskTests {
        /// Returns why file systems of this kind cannot be mounted here; nil if they can.
        static func obstacle(_ kind: String) -> Comment? {
            let script = Place.programs.appending(path: "small_disk.py").path
            guard let (exitCode, text) = try? ChildProgram.run(Place.python.path, [script, kind]) else {
                return "Python is missing"
            }
            return exitCode == 0 ? nil : Comment(rawValue: text)
        }

        private static let obstacles = ["tmpfs", "ext4-1k"].reduce(into: [:]) { $0[$1] = obstacle($1) }

        private func run(_ part: String, on kind: String) async throws {
            try await onStage { stage in
                let relay = Place.products.appending(path: "postrider").path
                let program = try stage.python("full_disk.py", [relay, stage.path("disk"), part, kind])
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
                #expect(program.output.last == "nothing is lost", "\(program.transcript)")
            }
        }

        @Test(
            "takes no push that it cannot store, ends no relay, and keeps nothing from a device",
            .bug(id: "R1"), .bug(id: "R3"), .bug(id: "R4"),
            .disabled(if: obstacles["tmpfs"] != nil, obstacles["tmpfs"]),
            arguments: ["relay", "pushes", "doubt"])
        func relayInMemory(_ part: String) async throws { try await run(part, on: "tmpfs") }

        @Test(
            "takes no push that it cannot store, ends no relay, and delivers what it has, in blocks of 1 KiB",
            .bug(id: "R1"), .bug(id: "R3"), .bug(id: "R4"),
            .disabled(if: obstacles["ext4-1k"] != nil, obstacles["ext4-1k"]),
            arguments: ["relay", "pushes", "doubt"])
        func relay(_ part: String) async throws { try await run(part, on: "ext4-1k") }

        @Test(
            "ends no agent, which says so once and goes on by itself when there is room",
            .bug(id: "A1"), .bug(id: "A18"),
            .disabled(if: obstacles["ext4-1k"] != nil, obstacles["ext4-1k"]))
        func agent() async throws { try await run("agent", on: "ext4-1k") }
    }
}
