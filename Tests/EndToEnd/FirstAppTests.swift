import Foundation
import Testing

extension EndToEnd {
    /// Runs the code blocks of docs/start/first-app.md as a reader would copy them.
    @Suite("The first app of docs/start/first-app.md", .serialized)
    struct FirstAppTests {
        private static let topic = "com.example.tea"

        /// Returns the code block under a title of the page, in a language; each block begins with its first line.
        private func block(_ language: String, beginning: String) throws -> String {
            let path = Place.root.appending(path: "docs/start/first-app.md")
            let page = try String(contentsOf: path, encoding: .utf8)
            let fence = "```\(language)\n" + beginning
            let start = try #require(page.range(of: fence), "no block begins with \(beginning)")
            let end = try #require(page[start.upperBound...].range(of: "\n```"))
            return beginning + page[start.upperBound..<end.lowerBound] + "\n"
        }

        private func startAgent(on stage: Stage, _ relay: RelayUnderTest) async throws {
            _ = try await stage.startAgent(of: relay, options: ["--notifications", "allow"])
        }

        /// Pushes as the page tells the reader, to the token that the app has printed.
        private func push(_ title: String, to token: String, _ relay: RelayUnderTest, on stage: Stage)
            async throws
        {
            let send = try stage.start(
                "postrider",
                [
                    "send", "--directory", stage.path("dev"), "--topic", relay.topic, "--title", title,
                    "--body", "boils", token,
                ])
            #expect(try await send.exitCode() == 0, "\(send.transcript)")
        }

        @Test(
            "in Swift compiles, and does what the page says",
            .disabled(if: Sanitizer.isLoaded, "what it links wants the sanitizer, too"))
        func swift() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                try await startAgent(on: stage, relay)
                let code = try block("swift", beginning: "import PostriderKit\n\nlet application")
                    .replacing(Self.topic, with: relay.topic)
                _ = try stage.write(code, to: "main.swift")
                let compiler = try stage.start(
                    URL(filePath: "/usr/bin/env"), ["swiftc"] + Self.compilation(on: stage))
                #expect(try await compiler.exitCode() == 0, "\(compiler.transcript)")
                let linked = try stage.start(URL(filePath: "/usr/bin/ldd"), [stage.path("tea")])
                #expect(try await linked.exitCode() == 0)
                let libraries = linked.output.joined()
                #expect(libraries.contains("libnghttp2"))
                #expect(!libraries.contains("libssl") && !libraries.contains("libcrypto"))
                // Its output goes into a pipe here, not to a terminal.
                let app = try stage.start(
                    URL(filePath: "/usr/bin/stdbuf"), ["-oL", stage.path("tea")],
                    environment: ["POSTRIDER_AGENT_SOCKET": stage.path("agent.sock")])
                let token = try await app.line(startingWith: "device token: ")
                try await push("Kettle", to: token, relay, on: stage)
                try await app.line { $0 == "push: Kettle" }
                try await app.line { $0 == "notification: Tea is ready." }
                _ = try await stage.agentSays(["respond", relay.topic, "tea", "stop"])
                try await app.line { $0 == "response: stop" }
            }
        }

        @Test("in Python registers, and is given what is pushed")
        func python() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                try await startAgent(on: stage, relay)
                let code = try block("python", beginning: "import queue, sys\n")
                    .replacing(Self.topic, with: relay.topic)
                    .replacing(".postrider/agent.sock", with: stage.path("agent.sock"))
                let app = try stage.start(
                    Place.python, [try stage.write(code, to: "first.py")])
                let token = try await app.line(startingWith: "device token: ")
                try await push("Kettle", to: token, relay, on: stage)
                try await app.line { $0.hasPrefix("push: ") && $0.contains("Kettle") }
            }
        }

        /// The compiler's arguments for the kit that was built with the tests. The package manager would build it
        /// again.
        private static func compilation(on stage: Stage) throws -> [String] {
            let modules = ["CPostriderLinux", "CPostriderNghttp2", "CPostriderSystem"].flatMap { module in
                ["-Xcc", "-fmodule-map-file=\(Place.root.path)/Sources/\(module)/module.modulemap"]
            }
            let parts = [
                "PostriderKit", "PostriderNotifications", "PostriderTransport", "PostriderHTTP2",
                "PostriderSystem", "PostriderCourier", "PostriderEndpoints", "PostriderSchedules",
                "PostriderJSON", "PostriderProxies",
            ]
            var objects: [String] = []
            for part in parts {
                // The sources decide, because the object file of a renamed source remains.
                let sources = try FileManager.default.subpathsOfDirectory(
                    atPath: Place.root.appending(path: "Sources/\(part)").path)
                let folder = Place.products.appending(path: "\(part).build").path
                objects += sources.filter { $0.hasSuffix(".swift") }
                    .map { "\(folder)/\(URL(filePath: $0).lastPathComponent).o" }
            }
            return [
                "-swift-version", "6", "-I", Place.products.appending(path: "Modules").path, "-o",
                stage.path("tea"), stage.path("main.swift"),
            ] + modules + objects + ["-lnghttp2"]
        }
    }
}
