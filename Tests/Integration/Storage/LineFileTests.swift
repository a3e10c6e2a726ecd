import Foundation
import PostriderNotifications
import PostriderStorage
import Testing

@Suite("A file of lines")
struct LineFileTests {
    private func withFolder(_ body: (String) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "lines-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder.appending(path: "lines").path)
    }

    private func text(_ path: String) -> String? {
        FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test("keeps its lines in order, also over a restart, and only its owner can read it")
    func order() throws {
        try withFolder { path in
            let file = LineFile(path, mostBytes: 1000, files: 2)
            #expect(text(path) == nil)
            try file.append("one")
            try file.append("two")
            try LineFile(path, mostBytes: 1000, files: 2).append("three")
            #expect(text(path) == "one\ntwo\nthree\n")
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
            #expect(mode == 0o600)
        }
    }

    @Test("takes no more place than the limits say, and loses the oldest lines", arguments: [1, 2, 3])
    func rotation(_ files: Int) throws {
        try withFolder { path in
            let file = LineFile(path, mostBytes: 10, files: files)
            for number in 0..<20 { try file.append("line\(number % 10)") }
            let paths = LineFile.paths(path, files: files)
            #expect(paths.last == path && paths.count == files)
            // Each line has five letters and its end, so that two do not fit.
            #expect(paths.compactMap(text) == (20 - files..<20).map { "line\($0 % 10)\n" })
            let folder = URL(filePath: path).deletingLastPathComponent().path
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count == files)
        }
    }

    @Test("takes a line that is longer than the limit")
    func long() throws {
        try withFolder { path in
            let file = LineFile(path, mostBytes: 10, files: 2)
            let long = String(repeating: "x", count: 100)
            try file.append(long)
            try file.append("y")
            #expect(text(path + ".1") == long + "\n" && text(path) == "y\n")
        }
    }

    @Test("ends a line that a power failure cut off")
    func cut() throws {
        try withFolder { path in
            try Data("one\ntw".utf8).write(to: URL(filePath: path))
            try LineFile(path, mostBytes: 1000, files: 2).append("three")
            #expect(text(path) == "one\ntw\nthree\n")
        }
    }

    @Test("says why it cannot be written, follows no link, and is written again when it can be")
    func failure() throws {
        try withFolder { path in
            let file = LineFile(path, mostBytes: 1000, files: 2)
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: path + ".target")
            let error = #expect(throws: StoreError.self) { try file.append("one") }
            #expect(error.map { "\($0)" }?.contains("The file \(path) cannot be written (") == true)
            #expect(text(path + ".target") == nil)
            try FileManager.default.removeItem(atPath: path)
            try file.append("two")
            #expect(text(path) == "two\n")
        }
    }
}
