import Foundation
import Testing

extension EndToEnd {
    @Suite("The page docs/operate/two-hosts.md", .serialized)
    struct TwoHostsTests {
        @Test("leads from two empty folders to a wake that is proven, with the commands that it has")
        func whole() async throws {
            try await onStage { stage in
                let port = try await stage.lastingPorts()[0]
                let script = Place.programs.appending(path: "two_hosts.sh").path
                let page = Place.root.appending(path: "docs/operate/two-hosts.md").path
                let program = Place.products.appending(path: "postrider").path
                let run = try stage.start(
                    URL(filePath: "/bin/bash"), [script, stage.path("hosts"), program, page, port])
                #expect(try await run.exitCode() == 0, "\(run.transcript)")
                for words in [" done: ", "its handler has ended well", "woken by ", "The signature is good"] {
                    #expect(run.output.contains { $0.contains(words) }, "\(words) in \(run.transcript)")
                }
                #expect(run.output.last == "all of it", "\(run.transcript)")
            }
        }
    }
}
