import Foundation
import Testing

extension EndToEnd {
    @Suite("postrider check", .serialized)
    struct CheckTests {
        @Test("does not touch the data directory, and works while a relay runs on it")
        func untouched() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let data = stage.path("dev/data")
                func state() throws -> [String] {
                    let attributes = try FileManager.default.attributesOfItem(atPath: data)
                    return try FileManager.default.subpathsOfDirectory(atPath: data).sorted()
                        + ["\(attributes[.modificationDate] ?? "")"]
                }
                let before = try state()
                #expect(before.contains("registry.sqlite"))
                let file = try stage.write(
                    """
                    certificate: \(stage.path("dev/relay.pem"))
                    private-key: \(stage.path("dev/relay.key"))
                    data-directory: \(data)
                    """, to: "postrider.yaml")
                let check = try stage.start("postrider", ["check", "--config", file])
                #expect(try await check.exitCode() == 0, "\(check.transcript)")
                #expect(check.output == ["\(file): nothing is wrong."])
                #expect(try state() == before)
                relay.program.send(SIGTERM)
                #expect(try await relay.program.exitCode() == 0)
            }
        }
    }
}
