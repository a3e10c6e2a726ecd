import Foundation
import Testing

extension EndToEnd {
    @Suite("The demo", .serialized)
    struct DemoTests {
        /// Starts the demo from a shell, so that Control-C reaches it: the tests' threads block signals, and their
        /// child processes inherit that.
        private func start(on stage: Stage) throws -> Program {
            try FileManager.default.createDirectory(
                atPath: stage.path("tmp"), withIntermediateDirectories: true)
            let script = """
                import os, signal
                signal.signal(signal.SIGINT, signal.SIG_DFL)
                signal.pthread_sigmask(signal.SIG_SETMASK, [])
                os.execv("deploy/demo.sh", ["demo"])
                """
            return try stage.start(
                Place.python, ["-c", script],
                environment: ["TMPDIR": stage.path("tmp"), "PRODUCTS": Place.products.path])
        }

        private func leftovers(on stage: Stage) throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: stage.path("tmp"))
        }

        @Test(
            "shows what reaches an app, and that it is started for it, and leaves nothing behind"
        )
        func whole() async throws {
            try await onStage { stage in
                let demo = try start(on: stage)
                #expect(try await demo.exitCode() == 0, "\(demo.transcript)")
                for line in [
                    "did finish launching: activation", "  title: Tea", "  action: stop", "will terminate",
                    "did finish launching: remote-notification", "  body: from curl", "  body: from aioapns",
                ] {
                    #expect(demo.output.contains("   | " + line), "\(line)")
                }
                #expect(demo.output.contains { $0.contains("done: its handler has ended well") })
                #expect(demo.output.contains { $0.hasPrefix("   | relayLinkWillDisconnect, ") })
                #expect(try leftovers(on: stage) == [])
            }
        }

        @Test("that is ended half-way by Control-C leaves nothing behind")
        func ended() async throws {
            try await onStage { stage in
                let demo = try start(on: stage)
                try await demo.line { $0.hasPrefix("   | a reminder is set") }
                demo.send(SIGINT)
                // Its pipes are closed only when no process that it started is left.
                #expect(try await demo.exitCode() == 130, "\(demo.transcript)")
                #expect(try leftovers(on: stage) == [])
            }
        }
    }
}
