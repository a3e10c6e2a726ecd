import Foundation
import PostriderNotifications
import Synchronization
import Testing

@testable import PostriderStorage

/// Tests of what only a store on a disk can do wrong.
@Suite struct SQLiteStoreTests {
    private let scratch = Scratch()

    private func open(log: Log = .none, logPages: Int = 64) throws -> SQLiteStore {
        try SQLiteStore(directory: scratch.store, log: log, logPages: logPages)
    }

    /// Opens a store and returns the error, which must have this kind and one sentence that names the file or
    /// directory.
    private func refusal(_ kind: StoreError.Kind, naming name: String) throws -> String {
        let failure = try #require(throws: StoreError.self) { try open() }
        #expect(failure.kind == kind)
        #expect(failure.description.contains(scratch.store + name))
        #expect(failure.description.hasSuffix(".") && !failure.description.contains("\n"))
        return failure.description
    }

    @Test("The directory is made for its owner only, and so are the files")
    func permissions() throws {
        let store = try open()
        try store.commit(enqueue: [sample(1)])
        #expect(try Scratch.permissions(scratch.store) == 0o700)
        let names = try FileManager.default.contentsOfDirectory(atPath: scratch.store)
        #expect(Set(names).isSuperset(of: ["registry.sqlite", "queue.sqlite", "queue.sqlite-wal", "lock"]))
        for name in names { #expect(try Scratch.permissions(scratch.store + "/" + name) == 0o600, "\(name)") }
    }

    @Test("A directory that others may read is used, with a warning")
    func openDirectory() throws {
        let mode: [FileAttributeKey: Any] = [.posixPermissions: 0o755]
        try FileManager.default.createDirectory(
            atPath: scratch.store, withIntermediateDirectories: false, attributes: mode
        )
        let warnings = Mutex(0)
        _ = try open(log: Log { level, _ in warnings.withLock { $0 += level == .warning ? 1 : 0 } })
        #expect(warnings.withLock { $0 } == 1)
    }

    @Test("A second opener is refused and told who owns the directory, until the first has closed")
    func secondOpener() throws {
        let first = try open()
        try first.commit(enqueue: [sample(1)])
        #expect(try refusal(.busy, naming: "").contains("(\(ProcessInfo.processInfo.processIdentifier))"))
        try first.commit(enqueue: [sample(2)])
        first.close()
        #expect(try open().rows() == [1, 2])
    }

    @Test("A file of another program is refused and left as it is", arguments: ["registry", "queue"])
    func foreign(_ name: String) throws {
        let path = scratch.store + "/\(name).sqlite"
        try open().close()
        try FileManager.default.removeItem(atPath: path)
        let schema = Schema(applicationIdentifier: 7, steps: ["CREATE TABLE recipe (name TEXT)"])
        _ = try Database(path: path, schema: schema)
        let before = try Data(contentsOf: URL(filePath: path))
        #expect(try refusal(.unusable, naming: "/\(name).sqlite").contains("another program"))
        #expect(try Data(contentsOf: URL(filePath: path)) == before)
    }

    @Test("A file with tables of nobody we know is refused")
    func foreignWithoutIdentifier() throws {
        try open().close()
        let path = scratch.store + "/queue.sqlite"
        let file = try QueueFile(path: path)
        try file.database.execute("PRAGMA application_id=0")
        #expect(try refusal(.unusable, naming: "/queue.sqlite").contains("another program"))
    }

    @Test("A file of a newer version is refused with both versions")
    func newer() throws {
        try open().close()
        let file = try QueueFile(path: scratch.store + "/queue.sqlite")
        try file.database.execute("PRAGMA user_version=9")
        let sentence = try refusal(.unusable, naming: "/queue.sqlite")
        #expect(sentence.contains(/newer version \(its schema is 9, this program knows [1-8]\)/))
    }

    @Test("A queue without its registry is refused and left as it is", arguments: [true, false])
    func registryGone(_ isEmpty: Bool) throws {
        let store = try open()
        try store.commit(enqueue: [sample(1)])
        store.close()
        let (registry, queue) = (scratch.store + "/registry.sqlite", scratch.store + "/queue.sqlite")
        let kept = try Data(contentsOf: URL(filePath: registry))
        try FileManager.default.removeItem(atPath: registry)
        if isEmpty { try Data().write(to: URL(filePath: registry)) }
        let before = try Data(contentsOf: URL(filePath: queue))
        #expect(try refusal(.unusable, naming: "/registry.sqlite").contains("backup"))
        #expect(try Data(contentsOf: URL(filePath: queue)) == before)
        try kept.write(to: URL(filePath: registry))
        #expect(try open().rows() == [1])
    }

    @Test("A file that is no database is refused")
    func noDatabase() throws {
        try open().close()
        try Data(repeating: 0x41, count: 9000).write(to: URL(filePath: scratch.store + "/queue.sqlite"))
        #expect(try refusal(.unusable, naming: "/queue.sqlite").contains("not a database"))
    }

    @Test("A database that cannot be read is refused")
    func unreadable() throws {
        try open().close()
        let path = scratch.store + "/registry.sqlite"
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        _ = try refusal(.unusable, naming: "/registry.sqlite")
    }

    @Test("A damaged queue fails its scan with one sentence")
    func damaged() throws {
        let store = try open()
        try store.commit(enqueue: (1...200).map { try sample($0) })
        store.close()
        let path = scratch.store + "/queue.sqlite"
        var bytes = try Data(contentsOf: URL(filePath: path))
        bytes.replaceSubrange(16_384..<32_768, with: Data(repeating: 0xEE, count: 16_384))
        try bytes.write(to: URL(filePath: path))
        let failure = try #require(throws: StoreError.self) { try open().scan() }
        #expect(failure.kind == .unusable)
        #expect(failure.description.contains(path) && failure.description.contains("damaged"))
    }

    @Test("A place where no directory can be is refused")
    func noDirectory() throws {
        try Data().write(to: URL(filePath: scratch.store))
        #expect(try refusal(.unusable, naming: "").contains("not a directory"))
        let below = scratch.store + "/store"
        let failure = #expect(throws: StoreError.self) { try SQLiteStore(directory: below, log: .none) }
        #expect(failure?.kind == .unusable && failure?.description.contains(below) == true)
    }

    @Test(
        "A directory that cannot be written to is refused",
        .disabled(if: geteuid() == 0, "root writes anywhere"))
    func readOnly() throws {
        try open().close()
        try FileManager.default.removeItem(atPath: scratch.store + "/lock")
        try FileManager.default.setAttributes([.posixPermissions: 0o500], ofItemAtPath: scratch.store)
        defer {
            try? FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: scratch.store)
        }
        #expect(try refusal(.unusable, naming: "").contains("permissions"))
    }

    @Test("A full disk fails the batch, and the store goes on when there is room again")
    func full() throws {
        let store = try open()
        try store.commit(enqueue: (1...50).map { try sample($0) })
        let database = try #require(store.queueDatabase)
        try database.execute("PRAGMA max_page_count=\(database.number("PRAGMA page_count") + 2)")
        let failure = #expect(throws: StoreError.self) {
            try store.commit(enqueue: (51...200).map { try sample($0) }, settle: [1])
        }
        #expect(failure?.kind == .full)
        #expect(failure?.description.contains("queue.sqlite") == true)
        #expect(store.doubtfulRows.isEmpty, "a full disk, for however long, takes no memory")
        #expect(try store.rows() == Array(1...50))
        #expect(try store.scan().last == 50)
        try store.commit(settle: Array(1...40))
        try store.commit(enqueue: (201...220).map { try sample($0) })
        #expect(try store.rows() == Array(41...50) + Array(201...220))
        store.close()
        #expect(try open().rows().count == 30)
    }

    @Test("What was committed survives a process that never closes; a torn last batch is wholly absent")
    func crash() throws {
        let store = try open(logPages: 1 << 20)
        try store.commit(enqueue: (1...20).map { try sample($0) })
        let logBytes = try Scratch.size(scratch.store + "/queue.sqlite-wal")
        try store.commit(enqueue: (21...40).map { try sample($0) }, settle: [1, 2])
        for (name, torn, rows) in [("whole", false, Array(3...40)), ("torn", true, Array(1...20))] {
            let copy = scratch.path + "/" + name
            try scratch.copyStore(to: copy)
            if torn {
                let log = try FileHandle(forUpdating: URL(filePath: copy + "/queue.sqlite-wal"))
                try log.truncate(atOffset: UInt64(logBytes) + 5000)
                try log.close()
            }
            let survivor = try SQLiteStore(directory: copy, log: .none)
            #expect(try survivor.rows() == rows.map(Int64.init))
        }
    }

    @Test("A killed process leaves what it had committed")
    func killed() async throws {
        let directory = scratch.store
        await #expect(processExitsWith: .signal(SIGKILL)) { [directory = directory as String] in
            let store = try SQLiteStore(directory: directory, log: .none, logPages: 16)
            try store.apply([.addTokenSecret([1, 2])])
            for row in 1...100 { try store.commit(enqueue: [sample(Int64(row))], settle: [Int64(row) - 50]) }
            kill(getpid(), SIGKILL)
        }
        let survivor = try open()
        #expect(try survivor.rows() == Array(51...100))
        #expect(try survivor.loadRegistry().tokenSecrets == [[1, 2]])
    }

    @Test("The log is bounded while commits go on, and nothing is lost")
    func boundedLog() throws {
        let store = try open(logPages: 64)
        var row: Int64 = 0
        // The log starts anew once another thread has copied it: commits follow until that has happened five times.
        var restarts = 0
        var pages = 0
        while restarts < 5, row < 400_000 {
            try store.commit(
                enqueue: (row + 1...row + 20).map { try sample($0) },
                settle: row < 20 ? [] : Array(row - 19...row)
            )
            row += 20
            let now = try #require(store.queueDatabase).logPages
            if now < pages { restarts += 1 }
            pages = now
        }
        #expect(restarts == 5)
        #expect(try store.rows() == Array(row - 19...row))
        store.close()
        #expect(!FileManager.default.fileExists(atPath: scratch.store + "/queue.sqlite-wal"))
        #expect(try open().rows() == Array(row - 19...row))
    }
}
