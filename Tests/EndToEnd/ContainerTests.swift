import Foundation
import ProgramFixtures
import Testing

extension EndToEnd {
    @Suite("An agent that is the first process of a container", .serialized)
    struct ContainerTests {
        private static let container = [
            "/usr/bin/unshare", "--pid", "--fork", "--kill-child", "--mount-proc",
        ]

        /// Whether this user may create a PID namespace on this machine.
        private static let isAllowed: Bool = {
            let trial = try? ChildProgram.run(container[0], container.dropFirst() + ["/bin/true"])
            return trial?.exitCode == 0
        }()

        @Test(
            "waits for what its apps orphan, and still hears how they end themselves", .bug(id: "A14"),
            .enabled(if: isAllowed, "this machine allows no PID namespace"))
        func orphans() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let list = stage.path("orphans")
                // A process stays in /proc until somebody has waited for it.
                let script = try stage.write(
                    """
                    #!/bin/sh
                    for wait in 0 0.1 0.3; do sh -c "sleep $wait & echo \\$! >> \(list)"; done
                    while read orphan; do while [ -d /proc/$orphan ]; do sleep 0.1; done; done < \(list)
                    echo clean of $(wc -l < \(list))
                    exit 7
                    """, to: "app.sh")
                try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: script)
                try stage.declare(URL(filePath: script), [], topic: relay.topic)
                let agent = try await stage.startAgent(
                    of: relay, options: ["--apps-directory", stage.path("apps")], within: Self.container)
                _ = try await stage.agentSays(["activate", relay.topic])
                try await agent.line { $0 == "clean of 3" }
                try await agent.line { $0.contains("\(relay.topic) ended with exit code 7") }
            }
        }
    }
}
