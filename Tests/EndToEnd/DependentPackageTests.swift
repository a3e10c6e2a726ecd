import Foundation
import Testing

extension EndToEnd {
    /// SwiftPM requires that the names of targets are unique in the whole graph of packages, even those of unused
    /// targets.
    @Suite("A package that depends on PostriderKit by its version", .serialized)
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
