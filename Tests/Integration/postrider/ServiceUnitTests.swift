import Foundation
import Testing

@testable import PostriderCommands
@testable import postrider

@Suite("The unit of a service")
struct ServiceUnitTests {
    /// Writes files below a folder, and reads the unit in its folders `etc` and `lib`.
    private func limit(_ files: [String: String], with configuration: String = "/etc/p.yaml") throws -> Int? {
        let root = FileManager.default.temporaryDirectory.appending(path: "units-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: root) }
        for (name, text) in files {
            let file = root.appending(path: name)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try text.write(to: file, atomically: true, encoding: .utf8)
        }
        return ServiceUnit(
            "p.service", with: configuration, in: ["etc", "lib"].map { root.appending(path: $0).path }
        )?.descriptors
    }

    private static let start = "[Service]\nExecStart=/usr/bin/p serve --config /etc/p.yaml\n"

    @Test("sets the limit of open files: its hard one, or systemd's own if it says nothing")
    func limits() throws {
        #expect(try limit(["lib/p.service": Self.start + "LimitNOFILE=1000"]) == 1000)
        #expect(try limit(["lib/p.service": Self.start + "LimitNOFILE = 1000:2000"]) == 2000)
        #expect(try limit(["lib/p.service": Self.start + "LimitNOFILE=infinity"]) == .max)
        #expect(try limit(["lib/p.service": Self.start]) == 524_288)
    }

    @Test(
        "counts if it starts this service, and an administrator's before the package's, with their drop-ins")
    func places() throws {
        #expect(try limit([:]) == nil)
        #expect(try limit(["lib/p.service": Self.start], with: "/etc/other.yaml") == nil)
        let both = [
            "lib/p.service": Self.start + "LimitNOFILE=1", "etc/p.service": Self.start + "LimitNOFILE=2",
        ]
        #expect(try limit(both) == 2)
        let more = [
            "etc/p.service.d/20.conf": "[Service]\nLimitNOFILE=4", "lib/p.service.d/10.conf": "LimitNOFILE=3",
            "lib/p.service.d/20.conf": "LimitNOFILE=5", "etc/p.service.d/30.txt": "LimitNOFILE=6",
        ]
        #expect(try limit(both.merging(more) { $1 }) == 4)
    }

    @Test("is named by the finding about too few files")
    func finding() throws {
        var machine = Machine(unit: "no-such.service", configuration: "/etc/p.yaml", folders: [])
        #expect(machine.unit == nil)
        (machine.unit, machine.descriptors) = ("/etc/p.service", 64)
        let found = machine.look(at: .agent)
        #expect(found.isEmpty || found[0].problem.hasPrefix("/etc/p.service may have 64 files open"))
        #expect(machine.look(at: .relay(shards: 1, addresses: 2)).map(\.place) == ["nofile"])
    }
}
