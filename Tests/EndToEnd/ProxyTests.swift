import Foundation
import Testing

extension EndToEnd {
    @Suite("A relay behind a stock proxy that speaks HTTP/2 to it", .serialized)
    struct ProxyTests {
        @Test(
            "that closes silent connections is learned by the agent, whose link then stays", .bug(id: "R18"))
        func silence() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let proxy = try stage.python("silence.py", [relay.file, stage.folder.path, "15"])
                let port = try await proxy.line(startingWith: "port: ")
                let agent = try await stage.startAgent(of: relay, through: port)
                // Its default keepalive is 45 seconds.
                try await agent.line {
                    $0.contains("the link was closed without a goodbye after ")
                        && $0.contains(" s instead of 45 s")
                }
                try await agent.lines(2) { $0.contains("connected to ") }
                // The proxy then silences another device, whose link is cut for it.
                proxy.send(SIGUSR1)
                try await proxy.line { $0 == "the silent one was cut" }
                let losses = agent.transcript.split(separator: "\n").count { $0.contains("no link to") }
                #expect(losses == 1, "\(agent.transcript)")
                proxy.send(SIGUSR1)
                #expect(try await proxy.exitCode() == 0, "\(proxy.transcript)")
                agent.send(SIGTERM)
                #expect(try await agent.exitCode() == 0)
            }
        }

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
