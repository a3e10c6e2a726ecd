import Foundation
import Testing

extension EndToEnd {
    @Suite("An app in Python", .serialized)
    struct PythonAppTests {
        @Test("reads the values of payloads that the other readers give", .bug(id: "R5"))
        func payloads() async throws {
            try await onStage { stage in
                let paths = ["deploy/examples", "Tests/Unit/PostriderJSON/payloads.json"]
                let reader = try stage.python(
                    "payloads.py", paths.map { Place.root.appending(path: $0).path })
                #expect(try await reader.exitCode() == 0, "\(reader.transcript)")
                let lines = reader.output
                #expect(lines.count == 1 && lines.first?.hasPrefix("read: ") == true, "\(reader.transcript)")
            }
        }

        @Test("registers, is pushed to, schedules, is answered, and is given nothing twice")
        func whole() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                _ = try await stage.startAgent(of: relay, options: ["--notifications", "allow"])
                let file = Place.root.appending(path: "deploy/examples/tea.py").path
                let arguments = [
                    file, "--topic", relay.topic, "--socket", stage.path("agent.sock"), "--seconds", "1",
                ]
                func start() throws -> Program {
                    try stage.start(Place.python, arguments)
                }
                let app = try start()
                let token = try await app.line(startingWith: "device token: ")
                let push = try stage.python("push.py", [relay.file, token, "--title", "Kettle"])
                #expect(try await push.exitCode() == 0, "\(push.transcript)")
                try await app.line { $0.hasPrefix("push: ") && $0.contains("'title': 'Kettle'") }
                try await app.line { $0 == "notification: Tea is ready." }
                _ = try await stage.agentSays(["respond", relay.topic, "tea", "stop"])
                try await app.line { $0 == "response: stop" }
                while try await stage.agentSays(["inbox"]).count > 1 { await Task.yield() }
                try await app.cutOff()

                // The app comes back with the same token and gets only new notifications.
                let again = try start()
                #expect(try await again.line(startingWith: "device token: ") == token)
                try await again.line { $0 == "notification: Tea is ready." }
                #expect(!again.output.contains { $0.hasPrefix("push: ") || $0.hasPrefix("response: ") })
            }
        }
    }
}
