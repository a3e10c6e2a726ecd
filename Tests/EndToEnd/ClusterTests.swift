import DatabaseFixtures
import Foundation
import Testing

extension EndToEnd {
    @Suite("Three relays that share one PostgreSQL database", .serialized)
    struct ClusterTests {
        /// Stock providers push through every node, and stock devices come to any node through a load balancer.
        @Test(
            "deliver everything that was accepted, although one is",
            arguments: [
                ("kill", "the killed node is back"), ("pause", "the node that was paused has ended with 1"),
                ("drain", "the drained node is back"),
            ])
        func faults(_ fault: String, _ sentence: String) async throws {
            let database = try DatabaseServer.shared.get().makeDatabase()
            try await onStage { stage in
                let program = try stage.python(
                    "cluster.py",
                    [
                        Place.products.appending(path: "postrider").path, database, stage.folder.path,
                        "--pushes", "1500", "--fault", fault,
                    ])
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
                #expect(program.output.contains(sentence), "\(program.transcript)")
                #expect(program.output.last == "every node has ended in order")
            }
        }
    }
}
