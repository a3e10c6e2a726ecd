import Foundation
import Notifications
import Testing

@testable import Storage

/// The wrapper that the stores and the agent's inbox stand on.
@Suite struct DatabaseTests {
    private let scratch = Scratch()
    private var path: String { scratch.path + "/file.sqlite" }
    private let first = Schema(
        applicationIdentifier: 42,
        steps: ["CREATE TABLE thing (number INTEGER, words TEXT, bytes BLOB) STRICT;"]
    )

    @Test("Values come back as they were bound")
    func values() throws {
        let database = try Database(path: path, schema: first)
        let insert = try database.prepare("INSERT INTO thing VALUES (?,?,?)")
        let rows: [(Int64?, String?, [UInt8])] = [
            (.min, "", []), (.max, "a\0b ✓", [0, 255]), (nil, nil, [UInt8](repeating: 7, count: 30_000)),
            (0, String(repeating: "long ", count: 3000), [1]),
        ]
        for (number, words, bytes) in rows {
            insert.bind(number)
            insert.bind(words)
            insert.bind(bytes)
            try insert.run()
        }
        let select = try database.prepare("SELECT * FROM thing ORDER BY rowid")
        for (number, words, bytes) in rows {
            #expect(try select.step())
            #expect(select.isNull(0) == (number == nil) && select.integer(0) == number ?? 0)
            #expect(select.isNull(1) == (words == nil) && select.text(1) == words ?? "")
            #expect(!select.isNull(2) && select.bytes(2) == bytes)
        }
        #expect(try !select.step())
    }

    @Test("A file is made whole: what an interrupted making has left, and a log without a file, make way")
    func making() throws {
        let leftovers = ["", ".new", ".new-wal", ".new-journal", "-wal", "-shm"]
        for ending in leftovers where !ending.isEmpty {
            try Data("left over".utf8).write(to: URL(filePath: path + ending))
        }
        try Data().write(to: URL(filePath: path))
        let database = try Database(path: path, schema: first)
        try database.execute("INSERT INTO thing (number) VALUES (5)")
        let select = try database.prepare("SELECT number FROM thing")
        #expect(try select.step() && select.integer(0) == 5)
        select.reset()
        let names = try FileManager.default.contentsOfDirectory(atPath: scratch.path)
        #expect(Set(names) == ["file.sqlite", "file.sqlite-wal", "file.sqlite-shm"])
    }

    @Test("A version below every schema's is told as damage")
    func negativeVersion() throws {
        try Database(path: path, schema: first).execute("PRAGMA user_version=-3")
        let failure = try #require(throws: StoreError.self) { try Database(path: path, schema: first) }
        #expect(failure.kind == .unusable && failure.description.contains("damaged (its schema is -3)"))
    }

    @Test("A transaction whose body fails makes no change")
    func rollback() throws {
        let database = try Database(path: path, schema: first)
        let failure = StoreError(.full, "No room is left.")
        #expect(throws: failure) {
            try database.transaction { () throws(StoreError) in
                try database.execute("INSERT INTO thing (number) VALUES (1)")
                throw failure
            }
        }
        try database.transaction { () throws(StoreError) in
            try database.execute("INSERT INTO thing (number) VALUES (2)")
        }
        let select = try database.prepare("SELECT number FROM thing")
        #expect(try select.step() && select.integer(0) == 2)
        #expect(try !select.step())
    }

    /// An open file's own lock is in the way of its own process, too.
    private func lockCopying(_ kind: Int32, _ file: CInt) -> CInt {
        // The lock that whoever copies holds: sqlite.org/walformat.html, "WAL Locks".
        var lock = flock(l_type: Int16(kind), l_whence: Int16(SEEK_SET), l_start: 121, l_len: 1, l_pid: 0)
        // F_OFD_SETLK (Linux, fcntl.h), which Swift's Glibc does not show.
        return unsafe fcntl(file, 37, &lock)
    }

    @Test("A log that somebody else copies is left to him without a word")
    func busyLog() throws {
        let database = try Database(path: path, schema: first)
        let insert = try database.prepare("INSERT INTO thing (number) VALUES (1)")
        for _ in 1...20 { try insert.run() }
        let size = { try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int }
        let before = try #require(try size())

        let shared = unsafe open(path + "-shm", O_RDWR | O_CLOEXEC)
        try #require(lockCopying(F_WRLCK, shared) == 0)
        try database.checkpoint()
        for _ in 1...2000 { try insert.run() }
        try database.checkpoint()
        #expect(try size() == before, "nothing was copied")

        try #require(lockCopying(F_UNLCK, shared) == 0)
        try database.checkpoint()
        #expect(try #require(try size()) > before)
        database.close(keepingLog: false)
        close(shared)
    }

    @Test("An older file is brought up to date, and keeps its rows")
    func upgrade() throws {
        let second = Schema(
            applicationIdentifier: 42,
            steps: first.steps + ["ALTER TABLE thing ADD COLUMN more TEXT; UPDATE thing SET more = 'x';"]
        )
        try Database(path: path, schema: first).execute("INSERT INTO thing (number) VALUES (5)")
        for _ in 1...2 {
            let select = try Database(path: path, schema: second).prepare("SELECT number, more FROM thing")
            #expect(try select.step() && select.integer(0) == 5 && select.text(1) == "x")
        }
        #expect(throws: StoreError.self) { try Database(path: path, schema: first) }
    }

    @Test("An upgrade that fails leaves the older version")
    func failedUpgrade() throws {
        let broken = Schema(
            applicationIdentifier: 42, steps: first.steps + ["CREATE TABLE other (a); nonsense;"])
        _ = try Database(path: path, schema: first)
        let failure = #expect(throws: StoreError.self) { try Database(path: path, schema: broken) }
        #expect(failure?.kind == .unusable)
        let version = try Database(path: path, schema: first).prepare("PRAGMA user_version")
        #expect(try version.step() && version.integer(0) == 1)
    }

    @Test("Another connection's transaction makes the file busy")
    func busy() throws {
        let database = try Database(path: path, schema: first)
        let other = try Database(path: path, schema: first)
        try database.transaction { () throws(StoreError) in
            let failure = #expect(throws: StoreError.self) {
                try other.execute("INSERT INTO thing (number) VALUES (1)")
            }
            #expect(failure?.kind == .busy)
        }
        try other.execute("INSERT INTO thing (number) VALUES (1)")
    }
}
