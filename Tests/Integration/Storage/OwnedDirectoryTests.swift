import Foundation
import PostriderNotifications
import PostriderStorage
import ProgramFixtures
import Testing

@Suite("A directory of one process")
struct OwnedDirectoryTests {
    /// Runs a test in a directory whose lock is held by a child, under the process number of `owner`.
    private func withLock(
        ofOwner owner: Int32, child: String,
        _ body: (_ directory: String, _ child: ChildProgram) throws -> Void
    ) throws {
        let place = FileManager.default.temporaryDirectory.appending(path: "owned-\(UUID())")
        try FileManager.default.createDirectory(
            at: place, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(at: place) }
        let file = place.appending(path: "lock")
        try Data("\(owner)\n".utf8).write(to: file)
        let handle = try FileHandle(forUpdating: file)
        #expect(flock(handle.fileDescriptor, LOCK_EX | LOCK_NB) == 0)
        let program = try ChildProgram(
            "/bin/sh", ["-c", child], input: .descriptor(handle.fileDescriptor), output: .nothing)
        try handle.close()
        defer {
            program.send(SIGKILL)
            program.waitUntilExit()
        }
        try body(place.path, program)
    }

    /// The number of a process that has ended.
    private func numberOfNobody() throws -> Int32 {
        let program = try ChildProgram("/bin/true")
        program.waitUntilExit()
        return program.processIdentifier
    }

    @Test("is claimed when the child of an owner that is gone has let go of it")
    func child() throws {
        try withLock(ofOwner: try numberOfNobody(), child: "exec sleep 0.1") { directory, _ in
            _ = try OwnedDirectory(directory, log: .none)
        }
    }

    @Test("is refused while its owner is there")
    func owner() throws {
        try withLock(ofOwner: getpid(), child: "exec sleep 60") { directory, child in
            let error = #expect(throws: StoreError.self) { try OwnedDirectory(directory, log: .none) }
            #expect(error?.description.contains("belongs to another process (\(getpid()))") == true)
            #expect(child.isRunning)
        }
    }
}
