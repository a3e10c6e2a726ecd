import FoundationEssentials
import Glibc
import PostriderCommands
import PostriderNotifications
import PostriderSystem
import PostriderTransport

/// A relay that a load run starts for itself: `postrider dev` in its own folder and its own process, so that its
/// resource use can be told from that of the load.
final class SpawnedRelay: Sendable {
    /// The values that it printed.
    let values: DevValues
    private let folder: String
    private let isTemporary: Bool
    private let endings: AsyncStream<Int32>

    private init(_ values: DevValues, folder: String, isTemporary: Bool, endings: AsyncStream<Int32>) {
        self.values = values
        self.folder = folder
        self.isTemporary = isTemporary
        self.endings = endings
    }

    /// Starts a relay, and returns when it is listening.
    ///
    /// - Parameters:
    ///   - folder: its folder; nil for a temporary one.
    ///   - settings: further options of `postrider dev`.
    ///   - processors: the processors that it may run on, as taskset(1) writes them; nil for all.
    ///   - scenario: a file of rules that it applies to pushes; nil for none. Only then it captures requests.
    static func start(
        topics: [Topic], in folder: String?, settings: [String], processors: String?, scenario: String?
    ) async throws -> SpawnedRelay {
        let path = folder ?? Self.temporaryFolder()
        let program = Self.ownProgram
        let options =
            ["dev", "--json", "--directory", path, "--provider-port", "0", "--development-port", "0"]
            + ["--device-port", "0"] + (scenario.map { ["--scenario", $0] } ?? ["--capture", "false"])
            + topics.flatMap { ["--topic", $0.text] }
            + settings
        // The relay must not outlive this process, however this process ends.
        var command = ["--pdeathsig", "TERM", "--"]
        if let processors { command += ["/usr/bin/taskset", "--cpu-list", processors] }
        command += [program] + options
        let (lines, line) = AsyncStream<String>.makeStream()
        let (endings, ending) = AsyncStream<Int32>.makeStream()
        // PR_SET_PDEATHSIG refers to the thread that starts the process, so this thread stays until the relay ends.
        _ = try Thread.spawn(name: "relay") { [command] in
            ending.yield(Self.run("/usr/bin/setpriv", command, line))
            ending.finish()
            line.finish()
        }
        // This is awaited even if the task was cancelled meanwhile, because the process must be ended.
        let text = await Task.detached { await lines.first { $0.hasPrefix("{") } }.value
        guard let text,
            let values = try? JSONDecoder().decode(DevValues.self, from: Data(text.utf8))
        else {
            if folder == nil { try? FileManager.default.removeItem(atPath: path) }
            throw CommandFailure("The relay to be measured did not start; what it said stands above.")
        }
        return SpawnedRelay(values, folder: path, isTemporary: folder == nil, endings: endings)
    }

    /// Ends the relay in order, or kills it if that takes too long, and removes temporary files.
    ///
    /// - Returns: whether it ran until then, judged by how it ended: a killed process has closed its files before
    ///   others can see that it is gone.
    func stop() async -> Bool {
        let wasRunning = kill(values.process, 0) == 0
        kill(values.process, SIGTERM)
        let timeout = Task.detached { [values] in
            try await Task.sleep(for: .seconds(15))
            kill(values.process, SIGKILL)
        }
        // This is awaited even if the task was cancelled.
        let status = await Task.detached { [endings] in await endings.first { _ in true } }.value
        timeout.cancel()
        if isTemporary { try? FileManager.default.removeItem(atPath: folder) }
        guard case .success = await timeout.result else { return wasRunning && status == 0 }
        return wasRunning
    }

    /// Runs a program to its end, and reports its first line.
    private static func run(
        _ path: String, _ arguments: [String], _ line: AsyncStream<String>.Continuation
    ) -> Int32 {
        var start = ProgramStart(
            path: path, arguments: arguments, environment: ProcessInfo.processInfo.environment)
        start.directory = FileManager.default.currentDirectoryPath
        do throws(TransportError) {
            guard case .exited(let code) = try start.runToEnd(eachLine: { line.yield($0) }) else { return -1 }
            return code
        } catch {
            Console.complain("postrider: \(error)")
            return -1
        }
    }

    /// Makes a folder with a short name, because the paths of Unix sockets must be short.
    private static func temporaryFolder() -> String {
        let name = "postrider-load-" + String(UInt32.random(in: 0 ... .max), radix: 36)
        return FileManager.default.temporaryDirectory.appending(path: name).path
    }

    /// The path of this program.
    private static var ownProgram: String {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
            ?? CommandLine.arguments[0]
    }
}
