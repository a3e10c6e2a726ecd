import Foundation
import Testing

extension EndToEnd {
    /// Runs what the pages about tests of providers show.
    @Suite("The pages about tests of push code", .serialized)
    struct ExampleTests {
        private static let examples = Place.root.appending(path: "deploy/examples/testing")

        /// Whether a program is installed. Only Node is among what `make deps` installs, the others are installed by
        /// `make client-behaviour`.
        private static func isInstalled(_ tool: String) -> Bool {
            FileManager.default.isExecutableFile(atPath: "/usr/bin/" + tool)
        }

        private static var hasTyphoeus: Bool {
            let gems = "/usr/share/rubygems-integration/all/specifications"
            let names = try? FileManager.default.contentsOfDirectory(atPath: gems)
            return names?.contains { $0.hasPrefix("typhoeus-") } ?? false
        }

        @Test("lead from an empty folder to tests in the shell, in Python and in JavaScript")
        func fiveMinutes() async throws {
            try await onStage { stage in
                let namespace = geteuid() == 0 ? ["--net"] : ["--map-root-user", "--net"]
                let run = try stage.start(
                    URL(filePath: "/usr/bin/unshare"),
                    namespace + [
                        Place.python.path, Place.programs.appending(path: "five_minutes.py").path,
                        stage.path("page"), Place.products.appending(path: "postrider").path,
                        Place.root.appending(path: "docs/start/test-your-push-code.md").path,
                        Place.root.appending(path: "deploy/python/src").path,
                    ])
                #expect(try await run.exitCode() == 0, "\(run.transcript)")
                #expect(
                    run.output == [
                        "a push is seen", "the token is gone", "its test in pytest passes",
                        "its test in JavaScript passes",
                    ])
            }
        }

        /// Runs an example with the values of a relay in its environment. It must pass, and the relay must have its
        /// push.
        private func run(_ tool: String, _ arguments: [String]) async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay(
                    options: ["--any-token", "--captures-address", "127.0.0.1:0"])
                let bearer = try stage.start("postrider", ["token", "--directory", stage.path("dev")])
                #expect(try await bearer.exitCode() == 0)
                let description = relay.description
                let environment = [
                    "APNS": "https://\(description.host):\(description.providerPort)",
                    "CAPTURES": "http://" + (try #require(description.capturesAddress)),
                    "CA": description.authorityFile, "BEARER": bearer.output.joined(),
                    "GOCACHE": stage.path("go"),
                ]
                let tool = URL(filePath: "/usr/bin").appending(path: tool)
                let example = try stage.start(tool, arguments, environment: environment)
                #expect(try await example.exitCode() == 0, "\(example.transcript)")
                let captures = environment["CAPTURES", default: ""] + "/v1/captures?outcome=captured"
                let (code, seen) = try await stage.run("curl", ["--silent", captures])
                #expect(code == 0 && seen.joined().contains(#""title":"Tea""#), "\(seen)")
            }
        }

        @Test("have an example for Node that passes")
        func node() async throws {
            try await run("node", [Self.examples.appending(path: "push_test.mjs").path])
        }

        @Test(
            "have an example for Go that passes",
            .enabled(if: isInstalled("go"), "golang-go is not installed"))
        func go() async throws {
            try await run("go", ["test", Self.examples.appending(path: "push_test.go").path])
        }

        @Test(
            "have an example for Java that passes",
            .enabled(if: isInstalled("javac"), "default-jdk-headless is not installed"))
        func java() async throws {
            try await run("java", [Self.examples.appending(path: "PushTest.java").path])
        }

        @Test(
            "have an example for PHP that passes",
            .enabled(if: isInstalled("php"), "php-cli is not installed"))
        func php() async throws {
            try await run("php", [Self.examples.appending(path: "push_test.php").path])
        }

        @Test(
            "have an example for Ruby that passes",
            .enabled(if: hasTyphoeus, "ruby-typhoeus is not installed"))
        func ruby() async throws {
            try await run("ruby", [Self.examples.appending(path: "push_test.rb").path])
        }
    }
}
