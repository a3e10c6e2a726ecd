import Foundation
import Testing

@testable import PostriderDBus

/// A bus for one test: `dbus-daemon`, which starts no services and allows all messages.
final class PrivateBus {
    private let process = Process()
    private let folder: URL
    let address: BusAddress

    private static let configuration = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../bus.conf").standardized.path

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "bus-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        let socket = folder.appending(path: "bus").path
        let output = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/dbus-daemon")
        process.arguments = [
            "--config-file=\(Self.configuration)", "--address=unix:path=\(socket)", "--nofork",
            "--print-address=1",
        ]
        process.standardOutput = output
        try process.run()
        // The daemon prints its address when it listens.
        let said = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        address = try #require(BusAddress(said.trimmingCharacters(in: .whitespacesAndNewlines)))
    }

    deinit {
        stop()
        try? FileManager.default.removeItem(at: folder)
    }

    func stop() {
        guard process.isRunning else { return }
        // A blocked signal of the test's thread is blocked in the child too; this signal cannot be.
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }
}
