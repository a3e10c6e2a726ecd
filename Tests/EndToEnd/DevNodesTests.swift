import Foundation
import Testing

extension EndToEnd {
    @Suite("postrider dev with several nodes", .serialized)
    struct DevNodesTests {
        /// What `postrider dev --nodes --json` prints.
        private struct Description: Decodable {
            struct Node: Decodable {
                let node: String
                let controlAddress: String
                let consoleLink: String?
                let webURL: String?
                let process: Int32

                /// The folder that commands take as that of `postrider dev`.
                var folder: String { String(controlAddress.dropFirst(5).dropLast("/control.sock".count)) }
            }

            let topics: [String]
            let authorityFile: String
            let controlAddress: String
            let nodes: [Node]

            var folder: String { String(controlAddress.dropFirst(5).dropLast("/relay-1/control.sock".count)) }
        }

        private struct List: Decodable {
            struct Node: Decodable {
                let name: String
                let partitions: Int
            }

            let nodes: [Node]
        }

        private func run(_ words: [String], on stage: Stage) async throws -> [String] {
            let program = try stage.start("postrider", words)
            #expect(try await program.exitCode() == 0, "\(words): \(program.transcript)")
            return program.output
        }

        @Test(
            "runs a cluster with its database, whose devices are reached through any node, and ends all of it"
        )
        func life() async throws {
            try await onStage { stage in
                let relays = try stage.start(
                    "postrider",
                    [
                        "dev", "--nodes", "3", "--temporary", "--json", "--provider-port", "0",
                        "--device-port", "0", "--web-port", "0",
                    ])
                let line = try await relays.line { $0.hasPrefix("{") }
                let told = try JSONDecoder().decode(Description.self, from: Data(line.utf8))
                try #require(told.nodes.map(\.node) == ["relay-1", "relay-2", "relay-3"])
                #expect(told.nodes.allSatisfy { $0.consoleLink != nil && kill($0.process, 0) == 0 })
                let device = try stage.start(
                    "postrider",
                    ["device", "--json", "--count", "2", "--directory", told.nodes[2].folder])
                let registered = try await device.line { $0.contains(#""token":"#) }
                let token = try #require(registered.firstMatch(of: /"token":"([0-9a-f]+)"/)?.1)
                for folder in [told.nodes[0].folder, told.folder] {
                    _ = try await run(
                        ["send", "--directory", folder, "--title", "a", String(token)], on: stage)
                }
                #expect(try await device.exitCode() == 0, "\(device.transcript)")
                for node in told.nodes {
                    let url = try #require(node.webURL).replacing("wss:", with: "https:")
                    let answer = try await stage.run(
                        "curl", ["-sS", "--cacert", told.authorityFile, "-w", " %{http_code}", "-d", "", url])
                    #expect(answer.output.last?.hasSuffix(" 404") == true, "\(answer.output)")
                }
                let text = try await run(
                    ["nodes", "list", "--json", "--control", told.nodes[1].controlAddress], on: stage)
                let list = try JSONDecoder().decode(List.self, from: Data(text.joined().utf8))
                #expect(list.nodes.map(\.name) == told.nodes.map(\.node))
                #expect(list.nodes.reduce(0) { $0 + $1.partitions } == 1024)
                relays.send(SIGTERM)
                #expect(try await relays.exitCode() == 0, "\(relays.transcript)")
                #expect(told.nodes.allSatisfy { kill($0.process, 0) != 0 })
                #expect(!FileManager.default.fileExists(atPath: told.folder))
            }
        }

        @Test("refuses what is not for several relays, with a sentence")
        func refusals() async throws {
            try await onStage { stage in
                for (options, words) in [
                    (["1"], "--nodes must be a whole number from 2 to 8"),
                    (["3", "--any-token"], "--any-token is not for several relays"),
                    (["2", "--device-port", "2207"], "two nodes would have the port 2207"),
                    (["2", "--provider-port", "65530"], "would be above 65535"),
                ] {
                    let program = try stage.start(
                        "postrider", ["dev", "--directory", stage.path("dev"), "--nodes"] + options)
                    #expect(try await program.exitCode() == 2)
                    #expect(program.errors.contains { $0.contains(words) }, "\(program.transcript)")
                }
            }
        }
    }
}
