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

        /// A Python with gRPC, and how it gets the modules for the messages.
        enum Interpreter: CaseIterable {
            /// With grpcio-tools from PyPI, which read the `.proto` files.
            case pip
            /// Debian's own, with modules that Debian's protoc has made.
            case debian

            /// Debian's packages for it.
            static let files = ["/usr/bin/grpc_python_plugin", "/usr/lib/python3/dist-packages/grpc"]
            static var present: [Interpreter] {
                allCases.filter { which in
                    which == .pip || files.allSatisfy { FileManager.default.fileExists(atPath: $0) }
                }
            }

            /// Starts a program with it.
            func start(_ arguments: [String], on stage: Stage) async throws -> Program {
                guard self == .debian else { return try stage.start(Place.python, arguments) }
                let modules = stage.path("modules")
                try FileManager.default.createDirectory(
                    atPath: modules, withIntermediateDirectories: true)
                let made = try await stage.run(
                    "protoc",
                    [
                        "--proto_path", Place.root.appending(path: "docs/reference").path,
                        "--python_out", modules, "--grpc_python_out", modules,
                        "--plugin=protoc-gen-grpc_python=/usr/bin/grpc_python_plugin",
                        "courier.proto", "agent.proto",
                    ])
                #expect(made.exitCode == 0, "\(made.output)")
                return try stage.start(
                    URL(filePath: "/usr/bin/python3"), arguments, environment: ["PYTHONPATH": modules])
            }
        }

        @Test(
            "registers, is pushed to, schedules, is answered, and is given nothing twice",
            arguments: Interpreter.present)
        func whole(_ python: Interpreter) async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                _ = try await stage.startAgent(of: relay, options: ["--notifications", "allow"])
                let file = Place.root.appending(path: "deploy/examples/tea.py").path
                let arguments = [
                    file, "--topic", relay.topic, "--socket", stage.path("agent.sock"), "--seconds", "1",
                ]
                let app = try await python.start(arguments, on: stage)
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
                let again = try await python.start(arguments, on: stage)
                #expect(try await again.line(startingWith: "device token: ") == token)
                try await again.line { $0 == "notification: Tea is ready." }
                #expect(!again.output.contains { $0.hasPrefix("push: ") || $0.hasPrefix("response: ") })
            }
        }
    }
}
