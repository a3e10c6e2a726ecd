import Foundation
import Testing

extension EndToEnd {
    @Suite("A relay behind a stock proxy that speaks HTTP/2 to it", .serialized)
    struct ProxyTests {
        @Test("serves devices and providers", .bug(id: "R12"), arguments: ["nginx", "haproxy"])
        func proxies(_ kind: String) async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let program = try stage.python("proxies.py", [kind, relay.file, stage.folder.path])
                #expect(
                    try await program.exitCode() == 0, "\(program.transcript)\n\(relay.program.transcript)")
                #expect(
                    program.output == [
                        "devices enrol, connect and register",
                        "pushes reach them, from providers behind the proxy as well",
                        "they come back",
                    ])
            }
        }
    }
}
