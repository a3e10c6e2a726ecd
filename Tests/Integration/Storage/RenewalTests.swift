import Foundation
import Glibc
import PostriderNotifications
import Testing

@testable import PostriderStorage

@Suite("A database file under which the disk has failed")
struct RenewalTests {
    /// A database file with numbers.
    private final class Numbers: DatabaseFile {
        let database: Database
        private let insert: Statement
        private let all: Statement
        private(set) var reloads = 0

        init(path: String) throws(StoreError) {
            let schema = Schema(
                applicationIdentifier: 43, steps: ["CREATE TABLE number (value INTEGER) STRICT;"])
            database = try Database(path: path, schema: schema)
            insert = try database.prepare("INSERT INTO number VALUES (?)")
            all = try database.prepare("SELECT value FROM number ORDER BY value")
        }

        func reload() { reloads += 1 }

        func add(_ value: Int64) throws(StoreError) {
            insert.bind(value)
            try insert.run()
        }

        func values() throws(StoreError) -> [Int64] {
            var values: [Int64] = []
            while try all.step() { values.append(all.integer(0)) }
            return values
        }
    }

    private let scratch = Scratch()
    private var path: String { scratch.path + "/numbers.sqlite" }

    private func open() throws -> TrustedFile<Numbers> {
        try TrustedFile(path: path, thresholdPages: nil, log: .none)
    }

    @Test("is read, and not changed, until it is opened anew; what was prepared works on")
    func renewal() throws {
        let trusted = try open()
        let file = trusted.file
        try file.add(1)
        #expect(!trusted.needsRenewal)
        file.database.isDoubtful = true
        #expect(trusted.needsRenewal)
        for _ in 0..<2 {
            #expect(throws: StoreError.self) { try file.add(2) }
            #expect(throws: StoreError.self) { try file.database.transaction {} }
            #expect(throws: StoreError.self) { try file.database.execute("DELETE FROM number") }
            #expect(try file.values() == [1])
        }
        try trusted.renew()
        #expect(!trusted.needsRenewal && file.reloads == 1)
        #expect(try Scratch.size(path + "-wal") == 0, "what the log held is in the file")
        try file.add(3)
        #expect(try file.values() == [1, 3])
        try trusted.renew()
        #expect(try file.values() == [1, 3] && open().file.values() == [1, 3])
    }

    @Test("that cannot be opened again fails whatever it is asked, until it can")
    func absence() throws {
        let trusted = try open()
        let file = trusted.file
        try file.add(1)
        try FileManager.default.moveItem(atPath: path, toPath: path + ".away")
        #expect(throws: StoreError.self) { try trusted.renew() }
        #expect(trusted.needsRenewal && file.reloads == 0)
        #expect(throws: StoreError.self) { try file.add(2) }
        #expect(throws: StoreError.self) { try file.values() }
        #expect(throws: StoreError.self) { try file.database.prepare("SELECT 1") }
        #expect(throws: StoreError.self) { try trusted.read { _ in } }
        try FileManager.default.moveItem(atPath: path + ".away", toPath: path)
        try trusted.renew()
        try file.add(2)
        #expect(try file.values() == [1, 2])
    }

    @Test(
        "is opened anew, and read, where no file can become longer than they are: reading needs no room",
        .bug(id: "R4"), .bug(id: "R1"))
    func noRoom() async {
        await #expect(processExitsWith: .success) { [path = path as String] in
            let trusted = try TrustedFile<Numbers>(path: path, thresholdPages: nil, log: .none)
            try trusted.file.add(1)
            trusted.file.database.isDoubtful = true
            // SQLite's index of a log, if it is a file, has 32 KiB from the first read on.
            signal(SIGXFSZ, SIG_IGN)
            var limit = rlimit(rlim_cur: 24 << 10, rlim_max: 24 << 10)
            unsafe _ = setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
            for name in [path, path + "-wal"] { try #require(try Scratch.size(name) < 24 << 10) }
            try trusted.renew()
            #expect(try trusted.read { file throws(StoreError) in try file.values() } == [1])
        }
    }

    @Test("keeps in mind those of the refused rows that turn out to be there, and removes them")
    func refusedRows() throws {
        let store = try SQLiteStore(directory: scratch.store, log: .none)
        try store.commit(enqueue: (1...5).map { try sample($0) })
        let file = try #require(store.queueDatabase)
        // Acts as if the disk had failed under rows 4 to 9.
        store.doubt((4...9).map { QueueRow($0) })
        file.isDoubtful = true
        try store.commit(enqueue: [try sample(20)])
        #expect(try store.rows() == [1, 2, 3, 20])
        #expect(store.doubtfulRows.isEmpty)
        #expect(try store.scan().last == 20)
        store.doubt([QueueRow(2)])
        try store.commit(enqueue: [])
        #expect(try store.rows() == [1, 3, 20], "an empty batch is one")
    }
}
