import DatabaseFixtures
import Foundation
import Testing

extension LongEndToEnd {
    /// Runs Debian's Chromium, driven by selenium, with the pages that the relay serves.
    @Suite("The console in a browser", .serialized)
    struct ConsoleTests {
        /// Has the browser do one of the things that console.py knows.
        private func browse(_ words: String...) async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let postrider = Place.products.appending(path: "postrider").path
                let program = try stage.python("console.py", [relay.file, postrider] + words)
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
            }
        }

        @Test("shows each page live, by keyboard, on a phone and dark, without a barrier that axe knows")
        func pages() async throws {
            try await browse("pages")
        }

        @Test("changes devices, keys and topics, and sends, as far as the session's role allows")
        func actions() async throws {
            try await browse("actions")
        }

        @Test("is not hurt by markup in any field, by pages of other origins, or by chosen sessions")
        func attacks() async throws {
            try await browse("attacks")
        }

        @Test("shows the nodes of a cluster, and drains the one whose console it is")
        func nodes() async throws {
            let database = try DatabaseServer.shared.get().makeDatabase()
            try await onStage { stage in
                let postrider = Place.products.appending(path: "postrider").path
                let program = try stage.python(
                    "console_nodes.py", [postrider, database, stage.folder.path])
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
                #expect(program.output.last == "the node is drained")
            }
        }

        /// `make screenshots-console` runs it.
        @Test(
            "has its pictures made for the documents",
            .enabled(if: ProcessInfo.processInfo.environment["POSTRIDER_WRITE_DOCUMENTS"] != nil))
        func pictures() async throws {
            let images = Place.root.appending(path: "docs/images").path
            try await browse("pictures", images)
            try await onStage { stage in
                let relays = try stage.start(
                    "postrider", ["dev", "--nodes", "3", "--temporary", "--json"])
                let file = try stage.write(
                    try await relays.line { $0.hasPrefix("{") }, to: "cluster.json")
                let postrider = Place.products.appending(path: "postrider").path
                let program = try stage.python("console_nodes_picture.py", [file, postrider, images])
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
            }
        }
    }
}
