import DatabaseFixtures
import Foundation
import Testing

extension LongEndToEnd {
    @Suite("Three relays that share one PostgreSQL database", .serialized)
    struct ClusterTests {
        private static func start(
            _ fault: String, _ database: String, behind balancer: String, on stage: Stage
        ) throws -> Program {
            try stage.python(
                "cluster.py",
                [
                    Place.products.appending(path: "postrider").path, database, stage.folder.path,
                    "--pushes", "1500", "--fault", fault, "--balancer", balancer,
                ])
        }

        /// A fault, the load balancer meanwhile, and what the program says then.
        struct Case: CustomTestStringConvertible {
            let fault: String
            let balancer: String
            let sentence: String

            var testDescription: String { "\(fault) behind \(balancer)" }
        }

        /// Stock providers push through every node, and they and stock devices come to any node through a load
        /// balancer with the settings of docs/operate/cluster.md.
        @Test(
            "deliver everything that was accepted, although one has trouble",
            arguments: [
                Case(fault: "kill", balancer: "haproxy", sentence: "the killed node is back"),
                Case(
                    fault: "pause", balancer: "nginx",
                    sentence: "the node that was paused has ended with 1"),
                Case(
                    fault: "drain", balancer: "nginx",
                    sentence: "the drained node is back, and no push was refused for it"),
                Case(
                    fault: "strangers", balancer: "haproxy",
                    sentence: "nodes that nobody can trust get no devices"),
                Case(
                    fault: "namesake", balancer: "haproxy",
                    sentence: "a second node of the name was refused"),
            ])
        func faults(_ each: Case) async throws {
            let database = try DatabaseServer.shared.get().makeDatabase()
            try await onStage { stage in
                let program = try Self.start(
                    each.fault, database, behind: each.balancer, on: stage)
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
                #expect(program.output.contains(each.sentence), "\(program.transcript)")
                #expect(program.output.last == "every node has ended in order")
            }
        }

        @Test("lose nothing when a standby takes the place of the killed primary, and go on by themselves")
        func promotion() async throws {
            let (primary, standby, database) = try DatabaseServer.makePair()
            try await onStage { stage in
                let program = try Self.start("outside", database, behind: "haproxy", on: stage)
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
