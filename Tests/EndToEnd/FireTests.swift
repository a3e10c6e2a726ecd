import Foundation
import Testing

extension EndToEnd {
    /// The fast tests of failing disks; `make torture` runs the others.
    @Suite(
        "A relay whose disk fails", .serialized,
        .disabled(if: Sanitizer.isLoaded, "a sanitizer's library comes first")
    )
    struct FireTests {
        @Test(
            "loses nothing that it accepted, delivers what it holds, and recovers",
            arguments: [
                ("ends", 6, "nothing is lost"), ("errors", 3, "nothing is lost"),
                ("doubt", 1, "nothing is lost"),
                ("backup", 1, "has everything"), ("copy", 1, "is whole or has no name"),
                ("refused", 1, "done once"),
            ])
        func fire(_ part: String, _ count: Int, _ words: String) async throws {
            try await onStage { stage in
                let relay = Place.products.appending(path: "postrider").path
                let program = try stage.python("fire.py", [relay, stage.folder.path, part])
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
                #expect(program.output.count { $0.hasSuffix(words) } == count, "\(program.transcript)")
            }
        }

        @Test("from a backup knows what it knew then, and its devices and its trace go on from there")
        func restored() async throws {
            try await onStage { stage in
                let relay = Place.products.appending(path: "postrider").path
                let program = try stage.python("restored.py", [relay, stage.folder.path])
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
                let words = [
                    "registered again", "enrolled anew", "delivered again, and known", "the trace goes on",
                    "there again",
                ]
                #expect(program.output == words, "\(program.transcript)")
            }
        }

        @Test("has a store that is made whole or not at all")
        func opening() async throws {
            try await onStage { stage in
                let opening = Place.root.appending(path: "Tests/Torture/opening.py").path
                let program = try stage.start(
                    Place.python, [opening, Place.products.path, stage.folder.path])
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
            }
        }
    }
}

extension EndToEnd {
    @Suite(
        "An agent whose disk fails", .serialized,
        .disabled(if: Sanitizer.isLoaded, "a sanitizer's library comes first")
    )
    struct AgentFireTests {
        @Test(
            "loses nothing that it acknowledged, and doubles nothing that it knows to be handled",
            arguments: [("ends", 6), ("errors", 3), ("doubt", 1)])
        func fire(_ part: String, _ count: Int) async throws {
            try await onStage { stage in
                let agent = Place.products.appending(path: "postrider").path
                let program = try stage.python("agent_fire.py", [agent, stage.folder.path, part])
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
                #expect(
                    program.output.count { $0.hasSuffix("nothing is lost") } == count, "\(program.transcript)"
                )
            }
        }
    }
}

/// The library of a sanitizer, which every program must load before all others.
enum Sanitizer {
    static let isLoaded = ["ASAN_OPTIONS", "TSAN_OPTIONS"].contains {
        ProcessInfo.processInfo.environment[$0] != nil
    }
}
