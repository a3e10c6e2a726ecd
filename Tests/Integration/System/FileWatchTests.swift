import Foundation
import Testing

@testable import PostriderSystem
@testable import PostriderTransport

@Suite("A watch on a file", .timeLimit(.minutes(10)))
struct FileWatchTests {
    @Test("tells that it was made, replaced and removed, and nothing of its neighbours")
    func changes() throws {
        let directory = FileManager.default.temporaryDirectory.path + "/watch-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let loop = try EventLoop()
        var count = 0
        try loop.watch(directory: directory, for: "zone") { count += 1 }
        let file = directory + "/zone"
        try "Neighbour".write(toFile: directory + "/zones", atomically: false, encoding: .utf8)
        try FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: "GMT")
        while count == 0 { loop.turn() }
        // A file of another name is renamed to this one's name.
        try "CET".write(toFile: file, atomically: true, encoding: .utf8)
        while count == 1 { loop.turn() }
        try FileManager.default.removeItem(atPath: file)
        while count == 2 { loop.turn() }
        try "Neighbour".write(toFile: directory + "/zones", atomically: false, encoding: .utf8)
        let timer = loop.makeTimer {}
        timer.arm(afterMilliseconds: 0)
        while timer.isArmed { loop.turn() }
        #expect(count == 3)
    }

    @Test("is refused in a sentence where there is no such directory")
    func missing() throws {
        let loop = try EventLoop()
        let error = #expect(throws: TransportError.self) {
            try loop.watch(directory: "/nowhere", for: "zone") {}
        }
        #expect(error?.description == "Cannot watch /nowhere/zone: No such file or directory.")
    }
}
