import Foundation
import Testing

extension EndToEnd {
    @Suite("A relay behind a stock load balancer that forwards TCP", .serialized)
    struct LoadBalancerTests {
        @Test(
            "serves stock clients and knows each client's address", arguments: ["nginx", "haproxy"])
        func sources(_ kind: String) async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay(options: ["--load-balancers", "127.0.0.1"])
                let program = try stage.python("balancers.py", [kind, relay.file, stage.folder.path])
                #expect(
                    try await program.exitCode() == 0, "\(program.transcript)\n\(relay.program.transcript)")
                #expect(program.output.first == "pushes reach a device through the load balancer")
                let client = try #require(program.output.last)
                try #require(client.hasPrefix("127.0.0.9:"))
                let stranger = "header, and its address is none of load-balancers: name it there, or have"
                try await relay.program.line { $0.contains(stranger) }
                let lines = relay.program.transcript.split(separator: "\n")
                let broken = lines.filter {
                    $0.contains("provider connection from \(client) ended: the peer broke")
                }
                #expect(broken.count == 1, "\(relay.program.transcript)")
                let missing = lines.filter {
                    $0.contains("ended: the load balancer sent no PROXY header: have")
                }
                #expect(missing.count == 1, "\(relay.program.transcript)")
                #expect(missing.first?.contains("from 127.0.0.1:") == true)
                // Its checks, and everything else, were no fault.
                #expect(!lines.contains { $0.contains("cannot be read") || $0.contains("in time") })
            }
        }
    }
}
