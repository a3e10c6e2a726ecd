import Foundation
import Testing

extension EndToEnd {
    /// Tests `deploy/python`: a stock library pushes, and the test's own provider sees every frame.
    @Suite("The pytest plugin", .serialized)
    struct PytestPluginTests {
        private static let package = Place.root.appending(path: "deploy/python")

        /// Runs pytest on the plugin's own tests, with the plugin from this folder.
        private func pytest(_ stage: Stage, plugin: URL, _ options: [String]) throws -> Program {
            let cache = "cache_dir=" + stage.path("cache")
            return try stage.start(
                Place.python,
                [
                    "-B", "-m", "pytest", "-q", "-o", cache, "--rootdir", Self.package.path,
                    "--postrider", Place.products.appending(path: "postrider").path,
                ] + options + [Self.package.appending(path: "tests").path],
                environment: ["PYTHONPATH": plugin.path])
        }

        @Test("shows what a relay was sent, and has it do what rules say")
        func tests() async throws {
            try await onStage { stage in
                let source = Self.package.appending(path: "src")
                let program = try pytest(stage, plugin: source, ["-p", "pytest_postrider.plugin"])
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
                let last = program.output.last ?? ""
                #expect(last.contains("passed") && !last.contains("skipped"), "\(last)")
            }
        }

        @Test("is a wheel that pytest finds by itself")
        func wheel() async throws {
            try await onStage { stage in
                // setuptools writes files next to what it builds.
                let copy = stage.folder.appending(path: "package")
                try FileManager.default.copyItem(at: Self.package, to: copy)
                func pip(_ arguments: [String]) async throws {
                    let program = try stage.start(
                        Place.python, ["-m", "pip", "--quiet", "--disable-pip-version-check"] + arguments)
                    #expect(try await program.exitCode() == 0, "\(program.transcript)")
                }
                let wheels = stage.path("wheels")
                try await pip(
                    [
                        "wheel", "--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", wheels,
                        copy.path,
                    ])
                let wheel = try #require(try FileManager.default.contentsOfDirectory(atPath: wheels).first)
                #expect(wheel == "pytest_postrider-0.1.0-py3-none-any.whl")
                let place = stage.folder.appending(path: "installed")
                try await pip(
                    ["install", "--no-deps", "--no-index", "--target", place.path, wheels + "/" + wheel])
                let program = try pytest(stage, plugin: place, ["-k", "probability or library"])
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
                #expect(program.output.last?.contains("2 passed") == true, "\(program.transcript)")
            }
        }
    }
}
