import Foundation
import Glibc
import Testing

@testable import PostriderSystem
@testable import PostriderTransport

@Suite struct SupervisorTests {
    /// Makes a supervisor's socket.
    private func bound(_ path: String, _ prefix: String) throws -> Descriptor {
        let supervisor = Descriptor(owning: socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0))
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let name = Array((prefix + path).utf8)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { bytes in
            unsafe bytes.copyBytes(from: prefix.isEmpty ? name : [0] + name.dropFirst())
        }
        let bound = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(supervisor.number, $0, socklen_t(2 + name.count))
            }
        }
        try #require(bound == 0)
        return supervisor
    }

    @Test(
        "A sign of life is not waited for where the supervisor has stopped reading", .timeLimit(.minutes(1)))
    func full() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
        defer { _ = unsafe unlink(path) }
        let supervisor = try bound(path, "")
        // A blocking call would never return here.
        var count = 0
        while Supervisor.notify("WATCHDOG=1", socket: path, waits: false) { count += 1 }
        #expect(count > 0)
        var buffer = [UInt8](repeating: 0, count: 64)
        for _ in 0..<count { #expect(unsafe recv(supervisor.number, &buffer, buffer.count, 0) == 10) }
        #expect(Supervisor.notify("WATCHDOG=1", socket: path, waits: false))
    }

    @Test("A supervisor is told a state, behind a file or without one", arguments: ["", "@"])
    func told(prefix: String) throws {
        let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
        defer { _ = unsafe unlink(path) }
        let supervisor = try bound(path, prefix)
        #expect(Supervisor.notify("READY=1", socket: prefix + path))
        var buffer = [UInt8](repeating: 0, count: 64)
        let count = unsafe recv(supervisor.number, &buffer, buffer.count, 0)
        #expect(String(decoding: buffer.prefix(max(count, 0)), as: UTF8.self) == "READY=1")
    }

    @Test(
        "A supervisor that is not there is no failure of ours",
        arguments: ["", "@", "relative", "/nowhere/at/all", "/" + String(repeating: "x", count: 200)])
    func absent(name: String) {
        #expect(!Supervisor.notify("READY=1", socket: name))
    }
}
