import Foundation
import Synchronization
import Testing

/// The folder and the programs of one test; the programs end with it.
final class Stage: Sendable {
    /// The test's own folder.
    let folder: URL
    private let programs = Mutex<[Program]>([])

    fileprivate init() throws {
        // Unix sockets need short paths, so the folder has a short name.
        let name = "pr-" + String(UInt32.random(in: 0 ... .max), radix: 36)
        folder = FileManager.default.temporaryDirectory.appending(path: name)
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    /// Starts a program of this repository.
    func start(_ product: String, _ arguments: [String]) throws -> Program {
        try start(Place.products.appending(path: product), arguments)
    }

    /// Starts any program.
    func start(_ file: URL, _ arguments: [String], environment: [String: String] = [:]) throws -> Program {
        try keep(Program(file, arguments, environment: environment))
    }

    /// Starts a Python program from the folder `Programs`.
    func python(_ program: String, _ arguments: [String], by python: URL = Place.python) throws -> Program {
        let file = Place.programs.appending(path: program).path
        return try keep(Program(python, [file] + arguments))
    }

    /// Runs a tool of the system to its end.
    func run(_ tool: String, _ arguments: [String]) async throws -> (exitCode: Int32, output: [String]) {
        let tool = URL(filePath: "/usr/bin").appending(path: tool)
        let program = try keep(Program(tool, arguments))
        return (try await program.exitCode(), program.output)
    }

    /// Starts a bus that allows all messages, and returns its address.
    func startBus() async throws -> String {
        let bus = try start(
            URL(filePath: "/usr/bin/dbus-daemon"),
            [
                "--config-file=\(Place.root.appending(path: "Tests/bus.conf").path)",
                "--address=unix:path=\(path("bus"))", "--nofork", "--print-address=1",
            ])
        return try await bus.line { $0.hasPrefix("unix:") }
    }

    /// Returns the path of a file in the test's folder.
    func path(_ name: String) -> String { folder.appending(path: name).path }

    /// Writes a file that only its owner can read into the test's folder, and returns its path.
    func write(_ text: String, to name: String) throws -> String {
        try Data(text.utf8).write(to: folder.appending(path: name))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path(name))
        return path(name)
    }

    fileprivate var transcripts: String {
        programs.withLock { $0.map(\.transcript) }.joined(separator: "\n")
    }

    /// Ends every program that still runs, and removes the folder.
    fileprivate func clear() async throws {
        let programs = programs.withLock { $0 }
        for program in programs { program.send(SIGKILL) }
        for program in programs { _ = try await program.exitCode() }
        try FileManager.default.removeItem(at: folder)
    }

    private func keep(_ program: Program) -> Program {
        programs.withLock { $0.append(program) }
        return program
    }
}

/// Runs a test with its own stage, which is removed in any case. A failure is reported with the programs' last
/// output.
func onStage(_ body: (Stage) async throws -> Void) async throws {
    let stage = try Stage()
    let result: Result<Void, any Error>
    do {
        result = .success(try await body(stage))
    } catch {
        result = .failure(Failure("\(error)\n\(stage.transcripts)"))
    }
    do {
        try await stage.clear()
    } catch {
        Issue.record("the stage is not clear: \(error)\n\(stage.transcripts)")
    }
    try result.get()
}

/// The paths of programs.
enum Place {
    /// The root of the repository.
    static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    /// The folder of the Python programs.
    static let programs = root.appending(path: "Tests/EndToEnd/Programs")
    /// The Python that `make deps` installs, with the stock clients.
    static let python = root.appending(path: ".build/venv/bin/python")
    /// The Python with aapns, which cannot be installed together with the others.
    static let pythonWithAapns = root.appending(path: ".build/venv-aapns/bin/python")
    /// The folder of the package's executables, which is that of the tests.
    static let products = Bundle.main.bundleURL
}
