import DatabaseFixtures
import Foundation
import Testing

extension LongEndToEnd {
    @Suite("A relay with its store in PostgreSQL", .serialized)
    struct DatabaseTests {
        @Test("loses nothing that it accepted when database and relay are killed, and goes on by itself")
        func kills() async throws {
            let server = try DatabaseServer()
            let store = ["--store", try server.makeDatabase()]
            try await onStage { stage in
                let ports = try await stage.lastingPorts()
                var relay = try await stage.startRelay(ports, options: store)
                let flood = try stage.python(
                    "flood.py", [relay.file, "--pushes", "2400", "--devices", "20", "--away", "--unordered"])
                try await flood.line { $0 == "accepted 300" }
                server.stop(with: "KILL")
                try await relay.program.line { $0.contains("notifications are not stored for now: ") }
                try server.start()
                try await relay.program.line { $0.contains("notifications are stored again") }
                for accepted in [1200, 1725] {
                    try await flood.line { $0 == "accepted \(accepted)" }
                    try await relay.program.cutOff()
                    relay = try await stage.startRelay(ports, options: store)
                }
                #expect(try await flood.exitCode() == 0, "\(flood.transcript)")
                #expect(flood.output.last?.hasPrefix("all 2424 notifications arrived once") == true)
            }
            #expect(try server.run("SELECT 1") == "1\n")
        }

        @Test("loses nothing that it accepted when a standby takes the place of the killed primary")
        func promotion() async throws {
            let (primary, standby, database) = try DatabaseServer.makePair()
            try await onStage { stage in
                let relay = try await stage.startRelay(options: ["--store", database])
                let flood = try stage.python(
                    "flood.py", [relay.file, "--pushes", "1600", "--devices", "20", "--away", "--unordered"])
                try await flood.line { $0 == "accepted 300" }
                primary.stop(with: "KILL")
                try await relay.program.line { $0.contains("notifications are not stored for now: ") }
                try standby.run("SELECT pg_promote()")
                try await relay.program.line { $0.contains("notifications are stored again") }
                #expect(try await flood.exitCode() == 0, "\(flood.transcript)")
                #expect(flood.output.last?.hasPrefix("all 1624 notifications arrived once") == true)
            }
        }

        @Test("has everything that its files had, and the other way round")
        func moves() async throws {
            let database = try DatabaseServer.shared.get().makeDatabase()
            try await onStage { stage in
                let (ports, data) = (try await stage.lastingPorts(), stage.path("dev/data"))
                var relay = try await stage.startRelay(ports)
                let flood = try stage.python(
                    "flood.py", [relay.file, "--pushes", "2400", "--devices", "20", "--away", "--unordered"])
                for (accepted, from, to, store) in [
                    (600, data, database, ["--store", database]), (1500, database, data, []),
                ] {
                    try await flood.line { $0 == "accepted \(accepted)" }
                    relay.program.send(SIGTERM)
                    #expect(try await relay.program.exitCode() == 0, "\(relay.program.transcript)")
                    if to == data {
                        for file in try FileManager.default.contentsOfDirectory(atPath: data)
                        where file.contains(".sqlite") {
                            try FileManager.default.removeItem(atPath: data + "/" + file)
                        }
                    }
                    let move = try stage.start(
                        "postrider", ["move", "--accept-unsafe-database", "--from", from, "--to", to])
                    #expect(try await move.exitCode() == 0, "\(move.transcript)")
                    #expect(move.output.last?.hasPrefix("20 devices and ") == true, "\(move.transcript)")
                    relay = try await stage.startRelay(ports, options: store)
                }
                #expect(try await flood.exitCode() == 0, "\(flood.transcript)")
                #expect(flood.output.last?.hasPrefix("all 2424 notifications arrived once") == true)
            }
        }

        @Test("ends when another relay has taken its database over, and has changed nothing then")
        func takenOver() async throws {
            let server = try DatabaseServer.shared.get()
            let database = try server.makeDatabase()
            try await onStage { stage in
                let first = try await stage.startRelay(options: ["--store", database])
                let second = try stage.start(
                    "postrider",
                    [
                        "dev", "--json", "--directory", stage.path("second"), "--provider-port", "0",
                        "--device-port", "0", "--store", database,
                    ])
                try await second.line { $0.contains(#""providerPort":"#) }
                let change = try stage.start(
                    "postrider",
                    [
                        "topics", "add", "com.example.late", "--team-id", "T", "--control",
                        first.description.controlAddress,
                    ])
                #expect(try await change.exitCode() != 0, "\(change.transcript)")
                #expect(change.transcript.contains("Another relay has taken over the node 'postrider'"))
                #expect(try await first.program.exitCode() == 0, "\(first.program.transcript)")
                let topics = try server.run("SELECT topic FROM postrider.topic ORDER BY 1", at: database)
                #expect(topics == "com.example.app\n")
            }
        }
    }
}
