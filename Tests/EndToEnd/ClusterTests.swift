import DatabaseFixtures
import Foundation
import ProgramFixtures
import Testing

extension LongEndToEnd {
    @Suite("Three relays that share one PostgreSQL database", .serialized)
    struct ClusterTests {
        private static func start(
            _ fault: String, _ database: String, behind balancer: String, with more: [String] = [],
            on stage: Stage
        ) throws -> Program {
            try stage.python(
                "cluster.py",
                [
                    Place.products.appending(path: "postrider").path, database, stage.folder.path,
                    "--pushes", "1500", "--fault", fault, "--balancer", balancer,
                ] + more)
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

        @Test("carry Web Push: browsers and senders use any node, and lose nothing when one is killed")
        func webPush() async throws {
            let database = try DatabaseServer.shared.get().makeDatabase()
            try await onStage { stage in
                let program = try stage.python(
                    "web_cluster.py",
                    [Place.products.appending(path: "postrider").path, database, stage.folder.path])
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
                #expect(program.output.contains("every receipt has come once"), "\(program.transcript)")
                #expect(program.output.last == "every node has ended in order")
            }
        }

        /// Whether this user may make network namespaces and links between them on this machine, as the program asks.
        private static let mayCut: Bool = {
            let question = "import sys, networks; sys.exit(not networks.may_make_networks())"
            let trial = try? ChildProgram.run(
                "/usr/bin/env", ["PYTHONPATH=\(Place.programs.path)", Place.python.path, "-c", question])
            return trial?.exitCode == 0
        }()

        /// Each node, the database and the clients are in network namespaces of their own. `make torture-cluster` cuts
        /// more.
        @Test(
            "lose nothing when they are cut off from each other, or from the database",
            .enabled(if: mayCut, "only root may make network namespaces, on a machine that permits them"))
        func cuts() async throws {
            let server = try DatabaseServer(settings: ["fsync=off"], hasNetwork: true)
            let database = try server.makeDatabase()
            try await onStage { stage in
                let process = try server.processIdentifier
                let program = try Self.start(
                    "cuts", database, behind: "haproxy", with: ["--database-process", process], on: stage)
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
                #expect(program.output.contains("the nodes that were cut off lost nothing"))
                #expect(program.output.last == "every node has ended in order")
            }
        }

        /// Without this, nobody would know whether the program finds anything. It has further flaws, for the order and
        /// the counters (`--flaw`).
        @Test("are found out if the database forgets a part of what it says that it has stored")
        func forgetfulness() async throws {
            let database = try DatabaseServer.shared.get().makeDatabase()
            try await onStage { stage in
                let program = try Self.start(
                    "none", database, behind: "haproxy", with: ["--flaw", "forgets", "--pushes", "600"],
                    on: stage)
                #expect(try await program.exitCode() == 1, "\(program.transcript)")
                #expect(
                    program.errors.contains { $0.contains("and they do not wait either") },
                    "\(program.transcript)")
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
