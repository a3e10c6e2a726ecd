import Foundation
import Testing

extension EndToEnd {
    @Suite("A command with --parent", .serialized)
    struct ParentTests {
        @Test("ends in order when that process is killed, and removes a temporary folder")
        func dev() async throws {
            try await onStage { stage in
                let parent = try stage.start(URL(filePath: "/usr/bin/sleep"), ["infinity"])
                let options = ["--temporary", "--parent", "\(parent.processIdentifier)"]
                let relay = try stage.start(
                    "postrider",
                    ["dev", "--json", "--provider-port", "0", "--device-port", "0"] + options)
                let line = try await relay.line { $0.hasPrefix("{") }
                let values = try JSONDecoder().decode(
                    RelayUnderTest.Description.self, from: Data(line.utf8))
                let folder = URL(filePath: values.authorityFile).deletingLastPathComponent()
                #expect(FileManager.default.fileExists(atPath: values.authorityFile))
                let device = try stage.start(
                    "postrider",
                    ["device", "--json", "--directory", folder.path] + options.dropFirst())
                try await device.line { $0.contains("registered") }
                try await parent.cutOff()
                #expect(try await device.exitCode() == 0, "\(device.transcript)")
                #expect(try await relay.exitCode() == 0, "\(relay.transcript)")
                #expect(!FileManager.default.fileExists(atPath: folder.path))
            }
        }

        @Test("runs beside many others: each is ready on ports of its own, and all end with the parent")
        func many() async throws {
            try await onStage { stage in
                let parent = try stage.start(URL(filePath: "/usr/bin/sleep"), ["infinity"])
                let options = [
                    "dev", "--json", "--temporary", "--parent", "\(parent.processIdentifier)",
                    "--provider-port", "0", "--device-port", "0", "--captures-address", "127.0.0.1:0",
                ]
                let relays = try (0..<20).map { _ in try stage.start("postrider", options) }
                var ports: Set<Int> = []
                var folders: Set<URL> = []
                for relay in relays {
                    let line = try await relay.line { $0.hasPrefix("{") }
                    let values = try JSONDecoder().decode(
                        RelayUnderTest.Description.self, from: Data(line.utf8))
                    let captures = try #require(values.capturesAddress?.split(separator: ":").last)
                    ports.formUnion([values.providerPort, values.developmentProviderPort, values.devicePort])
                    ports.insert(try #require(Int(captures)))
                    folders.insert(URL(filePath: values.authorityFile).deletingLastPathComponent())
                }
                #expect(ports.count == 4 * relays.count && !ports.contains(0))
                #expect(folders.count == relays.count)
                try await parent.cutOff()
                for relay in relays { #expect(try await relay.exitCode() == 0, "\(relay.transcript)") }
                #expect(folders.allSatisfy { !FileManager.default.fileExists(atPath: $0.path) })
            }
        }

        @Test("does not start if there is no such process, or if two folders are meant")
        func refused() async throws {
            try await onStage { stage in
                let ended = try stage.start(URL(filePath: "/usr/bin/true"), [])
                #expect(try await ended.exitCode() == 0)
                let number = ended.processIdentifier
                let relay = try stage.start("postrider", ["dev", "--temporary", "--parent", "\(number)"])
                #expect(try await relay.exitCode() == 2)
                #expect(relay.errors.joined().contains("There is no process \(number)"))
                let both = try stage.start("postrider", ["dev", "--temporary", "-d", stage.path("dev")])
                #expect(try await both.exitCode() == 2)
                #expect(both.errors.joined().contains("leave --directory out"))
                #expect(!FileManager.default.fileExists(atPath: stage.path("dev")))
            }
        }
    }
}
