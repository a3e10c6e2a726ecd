import Foundation
import PostriderNotifications
import PostriderStorage
import Testing

@Suite("A follower of a file of lines")
struct LineFollowerTests {
    private func withFolder(_ body: (String) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "follow-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder.appending(path: "lines").path)
    }

    @Test(
        "reads each line once and in order, however often it looks and the file is renamed", arguments: 1...9)
    func rotation(_ pace: Int) throws {
        try withFolder { path in
            let follower = LineFollower(path, files: 8)
            #expect(try follower.readLines().isEmpty)
            // Two lines fit into a file.
            let file = LineFile(path, mostBytes: 16, files: 8)
            var found: [String] = []
            for number in 10..<60 {
                try file.append("line\(number)")
                if number.isMultiple(of: pace) { found += try follower.readLines() }
            }
            found += try follower.readLines()
            #expect(found == (10..<60).map { "line\($0)" } && !follower.hasGap)
        }
    }

    @Test("begins with everything that there is, the oldest file first")
    func beginning() throws {
        try withFolder { path in
            let file = LineFile(path, mostBytes: 12, files: 3)
            for number in 10..<15 { try file.append("line\(number)") }
            let follower = LineFollower(path, files: 3)
            #expect(try follower.readLines().last == "line14")
            #expect(try follower.readLines().isEmpty)
            try file.append("line15")
            #expect(try follower.readLines() == ["line15"])
        }
    }

    @Test("leaves a line alone until it is whole")
    func parts() throws {
        try withFolder { path in
            let follower = LineFollower(path, files: 2)
            try "one\ntw".write(toFile: path, atomically: false, encoding: .utf8)
            #expect(try follower.readLines() == ["one"])
            let handle = try #require(FileHandle(forWritingAtPath: path))
            try handle.seekToEnd()
            try handle.write(contentsOf: Data("o\n".utf8))
            #expect(try follower.readLines() == ["two"])
        }
    }

    @Test("knows that lines were removed before it could read them")
    func gap() throws {
        try withFolder { path in
            let follower = LineFollower(path, files: 2)
            let file = LineFile(path, mostBytes: 12, files: 2)
            try file.append("line10")
            #expect(try follower.readLines() == ["line10"])
            for number in 11..<40 { try file.append("line\(number)") }
            #expect(try follower.readLines().last == "line39" && follower.hasGap)
        }
    }
}
