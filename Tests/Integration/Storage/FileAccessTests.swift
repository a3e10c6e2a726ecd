import Foundation
import PostriderNotifications
import Testing

@testable import PostriderStorage

/// Tests with existing files that this process may not use, or that have no room.
@Suite struct FileAccessTests {
    private let scratch = Scratch()

    @Test(
        "A file that can only be read is refused at the start, as a matter of permissions",
        arguments: ["registry.sqlite", "queue.sqlite", "queue.sqlite-wal"])
    func readOnly(_ name: String) async throws {
        let (directory, path) = (scratch.store, scratch.store + "/" + name)
        try SQLiteStore(directory: directory, log: .none).close()
        if name.hasSuffix("-wal") { try Data("left".utf8).write(to: URL(filePath: path)) }
        try FileManager.default.setAttributes([.posixPermissions: 0o400], ofItemAtPath: path)
        // Root can write anywhere, therefore another user opens the files then.
        let nobody: uid_t = 65_534
        if geteuid() == 0 {
            for file in try [""] + FileManager.default.subpathsOfDirectory(atPath: scratch.path) {
                unsafe _ = chown(scratch.path + "/" + file, nobody, gid_t.max)
            }
        }
        await #expect(processExitsWith: .success) {
            [directory = directory as String, path = path as String, nobody = nobody as uid_t] in
            if geteuid() == 0 { seteuid(nobody) }
            let failure = try #require(throws: StoreError.self) {
                try SQLiteStore(directory: directory, log: .none)
            }
            #expect(failure.kind == .unusable)
            #expect(failure.description.contains("\(path) cannot be opened for writing"))
            #expect(failure.description.hasSuffix("check its permissions and its directory."))
        }
    }

    @Test(
        "A trace that this user may not write to is told as a matter of permissions",
        arguments: ["", "/refused", "/00000001.segment"])
    func foreignTrace(_ name: String) async throws {
        let directory = scratch.path + "/trace"
        try withExtendedLifetime(FileTrace(directory: directory, log: .none)) {}
        if name.isEmpty { try FileManager.default.removeItem(atPath: directory) }
        let guarded = name.isEmpty ? scratch.path : directory + name
        try FileManager.default.setAttributes(
            [.posixPermissions: name.isEmpty ? 0o500 : 0o400], ofItemAtPath: guarded)
        defer { unsafe _ = chmod(scratch.path, 0o700) }
        // Root can write anywhere, therefore another user opens the files then.
        let nobody: uid_t = 65_534
        if geteuid() == 0 {
            for file in try [""] + FileManager.default.subpathsOfDirectory(atPath: scratch.path) {
                unsafe _ = chown(scratch.path + "/" + file, nobody, gid_t.max)
            }
        }
        await #expect(processExitsWith: .success) {
            [directory = directory as String, nobody = nobody as uid_t] in
            if geteuid() == 0 { seteuid(nobody) }
            let failure = try #require(throws: StoreError.self) {
                try FileTrace(directory: directory, log: .none)
            }
            #expect(failure.description.hasSuffix("(Permission denied): check its permissions."))
        }
    }

    @Test("A sync that finds no room is told as that, and the file is not believed any more")
    func fullSync() {
        // SQLITE_IOERR_FSYNC: some file systems look for room only at that point.
        let failure = StoreError(
            code: 10 | 4 << 8, message: "disk I/O error", path: "queue.sqlite", systemCode: ENOSPC)
        #expect(failure.kind == .inputOutput)
        #expect(failure.description == "No space is left for queue.sqlite (ENOSPC): free space on its disk.")
    }
}
