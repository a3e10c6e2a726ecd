import DatabaseFixtures
import Foundation
import Testing

extension EndToEnd {
    @Suite("Three relays that share one PostgreSQL database", .serialized)
    struct ClusterTests {
        private static func start(_ fault: String, _ database: String, on stage: Stage) throws -> Program {
            try stage.python(
                "cluster.py",
                [
                    Place.products.appending(path: "postrider").path, database, stage.folder.path,
                    "--pushes", "1500", "--fault", fault,
                ])
        }

        /// Stock providers push through every node, and stock devices come to any node through a load balancer.
        @Test(
            "deliver everything that was accepted, although one has trouble",
            arguments: [
                ("kill", "the killed node is back"), ("pause", "the node that was paused has ended with 1"),
                ("drain", "the drained node is back"), ("namesake", "a second node of the name was refused"),
            ])
        func faults(_ fault: String, _ sentence: String) async throws {
            let database = try DatabaseServer.shared.get().makeDatabase()
            try await onStage { stage in
                let program = try Self.start(fault, database, on: stage)
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
                #expect(program.output.contains(sentence), "\(program.transcript)")
                #expect(program.output.last == "every node has ended in order")
            }
        }

        @Test("lose nothing when a standby takes the place of the killed primary, and go on by themselves")
        func promotion() async throws {
            let (primary, standby, database) = try DatabaseServer.makePair()
            try await onStage { stage in
                let program = try Self.start("outside", database, on: stage)
                try await program.line { $0 == "make trouble now" }
                primary.stop(with: "KILL")
                try standby.run("SELECT pg_promote()")
                _ = try stage.write("", to: "trouble")
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
                #expect(program.output.contains("the nodes go on"))
                #expect(program.output.last == "every node has ended in order")
            }
        }
    }
}
