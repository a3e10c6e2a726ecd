import Foundation
import ProgramFixtures
import Testing

@testable import PostriderDBus

/// A bus for one test: `dbus-daemon`, which starts no services and allows all messages.
final class PrivateBus {
    private let daemon: ChildProgram
    private let folder: URL
    let address: BusAddress

    private static let configuration = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../bus.conf").standardized.path

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "bus-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        let socket = folder.appending(path: "bus").path
        daemon = try ChildProgram(
            "/usr/bin/dbus-daemon",
            [
                "--config-file=\(Self.configuration)", "--address=unix:path=\(socket)", "--nofork",
                "--print-address=1",
            ])
        // The daemon prints its address when it listens.
        let said = String(decoding: daemon.readOutput(), as: UTF8.self)
        address = try #require(BusAddress(said.trimmingCharacters(in: .whitespacesAndNewlines)))
    }

    deinit {
        stop()
        try? FileManager.default.removeItem(at: folder)
    }

    func stop() {
        daemon.send(SIGKILL)
        daemon.waitUntilExit()
    }
}
