import Foundation
import PostriderCallbackSender
import PostriderCallbacks
import PostriderNotifications
import Testing

@Suite("The file of callbacks")
struct CallbackFileTests {
    /// A folder for one test.
    private final class Folder {
        let url = FileManager.default.temporaryDirectory.appending(path: "callbacks-\(UUID().uuidString)")
        var path: String { url.appending(path: "callbacks.log").path }

        init() throws {
            try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        }

        deinit { try? FileManager.default.removeItem(at: url) }

        func open() -> CallbackFile { CallbackFile(path, log: .none) }

        var size: Int {
            get throws {
                let attributes = try FileManager.default.attributesOfItem(atPath: path)
                return try #require(attributes[.size] as? Int)
            }
        }
    }

    private func owed(_ number: Int, padding: Int = 0) throws -> CallbackRecord {
        let url = try #require(CallbackURL("https://hooks.example.com/a"))
        let body = #"{"padding":"\#(String(repeating: "x", count: padding))"}"#
        let message = CallbackMessage(id: "id-\(number)", url: url, body: Array(body.utf8))
        return .owed(message, row: QueueRow(Int64(number)), event: "done")
    }

    @Test("has what was written, also if the process was killed in the middle of a line")
    func killed() throws {
        let folder = try Folder()
        let first = folder.open()
        #expect(first.load().messages.isEmpty)
        first.append([try owed(1), try owed(2), .settled("id-1")])
        let end = try FileHandle(forWritingTo: URL(filePath: folder.path))
        try end.seekToEnd()
        try end.write(contentsOf: Data("owed 3 done id-3 https://hooks.exam".utf8))
        try end.close()
        let second = folder.open()
        #expect(second.load().messages.map(\.id) == ["id-2"])
        second.append([try owed(4)])
        #expect(folder.open().load().messages.map(\.id) == ["id-2", "id-4"])
        let mode = try FileManager.default.attributesOfItem(atPath: folder.path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test("is written anew when it has grown, without what is settled")
    func rewritten() throws {
        let folder = try Folder()
        let file = folder.open()
        _ = file.load()
        for number in 1...200 {
            file.append([try owed(number, padding: 100_000)])
            if number > 3 { file.append([.settled("id-\(number)")]) }
        }
        #expect(try folder.size < 6_000_000)
        #expect(folder.open().load().messages.map(\.id) == ["id-1", "id-2", "id-3"])
        #expect(try folder.size < 400_000)
    }

    @Test("does not keep callbacks from being sent if it cannot be written")
    func unwritable() throws {
        let folder = try Folder()
        let file = CallbackFile(folder.url.path + "/none/callbacks.log", log: .none)
        #expect(file.load().messages.isEmpty)
        file.append([try owed(1)])
    }
}
