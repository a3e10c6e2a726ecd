import FoundationEssentials
import Glibc
import PostriderNotifications
import PostriderTransport

/// A relay that a load run starts for itself: `postrider dev` in a folder of its own and a process of its own, so that
/// what it uses can be told from what the load uses.
final class SpawnedRelay: Sendable {
    /// What it said of itself.
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

    /// Starts one, and returns when it listens.
    ///
    /// - Parameters:
    ///   - folder: where its folder is to be; nil: one that is removed afterwards.
    ///   - settings: options of `postrider dev` besides.
    ///   - processors: that it may run on, as taskset(1) writes them; nil: all.
    static func start(
        topics: [Topic], in folder: String?, settings: [String], processors: String?
    ) async throws -> SpawnedRelay {
        let path = folder ?? Self.temporaryFolder()
        let program = Self.ownProgram
        let options =
            ["dev", "--json", "--directory", path, "--provider-port", "0", "--development-port", "0"]
            + ["--device-port", "0", "--capture", "false"] + topics.flatMap { ["--topic", $0.text] }
            + settings
        // It must not outlive whoever started it, however that ends.
        var command = ["--pdeathsig", "TERM", "--"]
        if let processors { command += ["/usr/bin/taskset", "--cpu-list", processors] }
        command += [program] + options
        let (lines, line) = AsyncStream<String>.makeStream()
        let (endings, ending) = AsyncStream<Int32>.makeStream()
        // The thread that starts a process is its parent where that matters here: it stays until the end.
        _ = try Thread.spawn(name: "relay") { [command] in
            ending.yield(Self.run("/usr/bin/setpriv", command, line))
            ending.finish()
            line.finish()
        }
        // Also for somebody who has given up meanwhile: what was started must be ended.
        let text = await Task.detached { await lines.first { $0.hasPrefix("{") } }.value
        guard let text,
            let values = try? JSONDecoder().decode(DevValues.self, from: Data(text.utf8))
        else {
            if folder == nil { try? FileManager.default.removeItem(atPath: path) }
            throw CommandFailure("The relay to be measured did not start; what it said stands above.")
        }
        return SpawnedRelay(values, folder: path, isTemporary: folder == nil, endings: endings)
    }

    /// Ends it in good order, or at once where that takes too long, and removes what was temporary.
    ///
    /// - Returns: whether it was there until then. How it ended tells: what it had open is closed before anybody can
    ///   see that a killed process is gone.
    func stop() async -> Bool {
        let wasRunning = kill(values.process, 0) == 0
        kill(values.process, SIGTERM)
        let timeout = Task.detached { [values] in
            try await Task.sleep(for: .seconds(15))
            kill(values.process, SIGKILL)
        }
        // Somebody who has given up waits for this all the same.
        let status = await Task.detached { [endings] in await endings.first { _ in true } }.value
        timeout.cancel()
        if isTemporary { try? FileManager.default.removeItem(atPath: folder) }
        guard case .success = await timeout.result else { return wasRunning && status == 0 }
        return wasRunning
    }

    /// Runs a program to its end, and tells its first line.
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

    /// Unix sockets have short paths, so the folder has a short name.
    private static func temporaryFolder() -> String {
        let name = "postrider-load-" + String(UInt32.random(in: 0 ... .max), radix: 36)
        return FileManager.default.temporaryDirectory.appending(path: name).path
    }

    /// This program's file.
    private static var ownProgram: String {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
            ?? CommandLine.arguments[0]
    }
}
