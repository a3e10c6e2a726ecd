import Foundation
import Testing

extension LongEndToEnd {
    /// SwiftPM requires that the names of targets are unique in the whole graph of packages, even those of unused
    /// targets.
    @Suite("A package that depends on the libraries by their version", .serialized)
    struct DependentPackageTests {
        /// Names of targets in other packages: swift-crypto's, and common ones.
        private static let neighbours = ["Crypto", "YAML", "CSQLite"]

        @Test(
            "builds beside packages with targets Crypto, YAML and CSQLite, and its app links no OpenSSL",
            .disabled(if: Sanitizer.isLoaded, "it builds without the sanitizer"))
        func builds() async throws {
            try await onStage { stage in
                let address = try await Self.publish(on: stage)
                for name in Self.neighbours {
                    try Self.write(
                        """
                        // swift-tools-version: 6.2
                        import PackageDescription
                        let package = Package(
                            name: "\(name.lowercased())-neighbour",
                            products: [.library(name: "\(name)", targets: ["\(name)"])],
                            targets: [.target(name: "\(name)")])
                        """, "neighbours/\(name.lowercased())-neighbour/Package.swift", on: stage)
                    try Self.write(
                        "public let \(name.lowercased())Name = \"\(name)\"\n",
                        "neighbours/\(name.lowercased())-neighbour/Sources/\(name)/\(name).swift", on: stage)
                }
                try Self.write(Self.manifest(address), "dependent/Package.swift", on: stage)
                try Self.write(Self.app, "dependent/Sources/dependent/main.swift", on: stage)
                let package = stage.path("dependent")
                try await Self.expect(
                    "swift", ["build", "--package-path", package, "--product", "dependent"], on: stage)
                let binary = package + "/.build/debug/dependent"
                #expect(try await Self.expect(binary, [], on: stage).contains("Crypto YAML CSQLite 200"))
                let linked = try await Self.expect("ldd", [binary], on: stage)
                #expect(linked.contains("libnghttp2"))
                for library in ["libssl", "libcrypto", "libsqlite", "libyaml", "libsystemd"] {
                    #expect(!linked.contains(library), "\(linked)")
                }
            }
        }

        @Test(
            "has tests with a relay of PostriderTesting, which shows what differs and ends with the tests",
            .disabled(if: Sanitizer.isLoaded, "it builds without the sanitizer"))
        func tests() async throws {
            try await onStage { stage in
                let address = try await Self.publish(on: stage)
                try Self.write(Self.tested(address), "tested/Package.swift", on: stage)
                try Self.write(Self.suite, "tested/Tests/PushTests/PushTests.swift", on: stage)
                let tests = try Self.test(stage)
                #expect(try await tests.exitCode() == 1, "\(tests.transcript)")
                let said = (tests.output + tests.errors).joined(separator: "\n")
                #expect(said.contains("Test pushes() passed"), "\(said)")
                #expect(said.contains("Test differs() recorded an issue"), "\(said)")
                #expect(said.contains("- payload.aps.alert: \"Coffee\""), "\(said)")
                #expect(said.contains("+ payload.aps.alert: \"Tea\""), "\(said)")
                // The relay has the standard error of the tests, and has ended when that is closed.
                let killed = try Self.test(stage, ["--skip-build", "--filter", "dies"])
                #expect(try await killed.exitCode() != 0)
                let lines = killed.output.filter { $0.hasPrefix("relay: ") }
                let file = try #require(lines.first).dropFirst("relay: ".count)
                #expect(file.hasSuffix("/authority.pem"))
                #expect(!FileManager.default.fileExists(atPath: String(file)))
            }
        }

        /// Runs the tests of the package.
        private static func test(_ stage: Stage, _ options: [String] = ["--skip", "dies"]) throws -> Program {
            try stage.start(
                URL(filePath: "/usr/bin/env"),
                ["swift", "test", "--disable-xctest", "--package-path", stage.path("tested")] + options,
                environment: ["POSTRIDER": Place.products.appending(path: "postrider").path])
        }

        private static func tested(_ address: String) -> String {
            """
            // swift-tools-version: 6.2
            import PackageDescription
            let package = Package(
                name: "tested",
                dependencies: [.package(url: "\(address)", from: "1.0.0")],
                targets: [
                    .testTarget(
                        name: "PushTests",
                        dependencies: [.product(name: "PostriderTesting", package: "postrider")])
                ])
            """
        }

        /// A suite whose second test fails on purpose, and whose third one kills its process.
        private static let suite = #"""
            import Foundation
            import PostriderTesting
            import Testing

            func push(_ relay: TestRelay) async throws -> Capture {
                let token = String(repeating: "ab", count: 32)
                let curl = Process()
                curl.executableURL = URL(filePath: "/usr/bin/curl")
                curl.arguments = [
                    "--silent", "--http2", "--cacert", relay.authorityFile,
                    "--cert", relay.providerCertificateFile,
                    "--header", "apns-topic: \(relay.topic)", "--data", #"{"aps":{"alert":"Tea"}}"#,
                    "https://\(relay.host):\(relay.providerPort)/3/device/\(token)",
                ]
                try curl.run()
                return try await relay.captures.wait()[0]
            }

            @Test func pushes() async throws {
                try await TestRelay.with { relay in
                    try await push(relay).expect(status: 200, outcome: .captured, topic: relay.topic)
                }
            }

            @Test func differs() async throws {
                try await TestRelay.with { try await push($0).expect(payload: ["aps": ["alert": "Coffee"]]) }
            }

            @Test func dies() async throws {
                let relay = try await TestRelay.start()
                FileHandle.standardOutput.write(Data("relay: \(relay.authorityFile)\n".utf8))
                kill(getpid(), SIGKILL)
            }
            """#

        /// Makes a repository of this tree with one commit and a tag for its version. Returns its address.
        private static func publish(on stage: Stage) async throws -> String {
            let repository = stage.path("postrider")
            try FileManager.default.createDirectory(
                atPath: repository, withIntermediateDirectories: true)
            // Files that are in the index but were removed from the tree are skipped.
            let copying = """
                cd "$1" && git ls-files -z --cached --others --exclude-standard \
                    | tar --null --ignore-failed-read --files-from - --create | tar --directory "$2" --extract
                """
            try await expect("sh", ["-c", copying, "sh", Place.root.path, repository], on: stage)
            for arguments in [
                ["init", "--quiet"], ["add", "--all"],
                [
                    "-c", "user.name=test", "-c", "user.email=test@example.org", "commit", "--quiet",
                    "--message", "This tree",
                ],
                ["tag", "1.0.0"],
            ] {
                try await expect("git", ["-C", repository] + arguments, on: stage)
            }
            return "file://" + repository
        }

        private static func manifest(_ address: String) -> String {
            let locals = neighbours.map { ".package(path: \"../neighbours/\($0.lowercased())-neighbour\")," }
            let products = neighbours.map {
                ".product(name: \"\($0)\", package: \"\($0.lowercased())-neighbour\"),"
            }
            return """
                // swift-tools-version: 6.2
                import PackageDescription
                let package = Package(
                    name: "dependent",
                    dependencies: [
                        .package(url: "\(address)", from: "1.0.0"),
                        \(locals.joined(separator: "\n        "))
                    ],
                    targets: [
                        .executableTarget(
                            name: "dependent",
                            dependencies: [
                                .product(name: "PostriderKit", package: "postrider"),
                                \(products.joined(separator: "\n                "))
                            ])
                    ])
                """
        }

        private static let app = """
            import CSQLite
            import Crypto
            import PostriderKit
            import YAML

            let dispatcher = NotificationDispatcher.default
            print(cryptoName, yamlName, csqliteName, 200)
            _ = dispatcher
            """

        private static func write(_ text: String, _ path: String, on stage: Stage) throws {
            let file = URL(filePath: stage.path(path))
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try text.write(to: file, atomically: true, encoding: .utf8)
        }

        /// Runs a program that must succeed, and returns its output.
        @discardableResult
        private static func expect(
            _ program: String, _ arguments: [String], on stage: Stage
        ) async throws -> String {
            let program = try stage.start(URL(filePath: "/usr/bin/env"), [program] + arguments)
            #expect(try await program.exitCode() == 0, "\(program.transcript)")
            return program.output.joined(separator: "\n")
        }
    }
}
