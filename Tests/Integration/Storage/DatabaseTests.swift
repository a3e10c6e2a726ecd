import CPostriderSQLite
import Foundation
import PostriderNotifications
import Synchronization
import Testing

@testable import PostriderStorage

/// Tests the wrapper of SQLite under the stores and the agent's inbox.
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
        #expect(Set(names) == ["file.sqlite", "file.sqlite-wal"])
    }

    @Test(
        "The index of the log is no file, and nothing is mapped, with a second connection, too",
        .bug(id: "R1"), .bug(id: "A1"))
    func index() throws {
        let database = try Database(path: path, schema: first)
        let other = try database.sibling()
        // More rows than the first 32 KiB of an index hold.
        for number in 1...5000 { try database.execute("INSERT INTO thing (number) VALUES (\(number))") }
        #expect(try other.number("SELECT count(*) FROM thing") == 5000)
        try other.checkpoint()
        try database.execute("DELETE FROM thing")
        #expect(try other.number("SELECT count(*) FROM thing") == 0)
        let names = try FileManager.default.contentsOfDirectory(atPath: scratch.path)
        #expect(Set(names) == ["file.sqlite", "file.sqlite-wal"])
        let maps = try String(contentsOfFile: "/proc/self/maps", encoding: .utf8)
        #expect(!maps.contains(scratch.path))
        #expect(try database.number("PRAGMA mmap_size") == 0)
    }

    @Test("The index that an earlier version has left goes, and its log is read", .bug(id: "R1"))
    func earlierIndex() throws {
        let database = try Database(path: path, schema: first)
        try database.execute("INSERT INTO thing (number) VALUES (5)")
        database.close(keepingLog: true)
        try Data(repeating: 0xA5, count: 32_768).write(to: URL(filePath: path + "-shm"))
        let next = try Database(path: path, schema: first)
        #expect(try next.number("SELECT number FROM thing") == 5)
        #expect(!FileManager.default.fileExists(atPath: path + "-shm"))
    }

    @Test("A log is cut behind what is committed, and no further", .bug(id: "R4"))
    func cutLog() throws {
        let database = try Database(path: path, schema: first)
        for number in 1...50 { try database.execute("INSERT INTO thing (number) VALUES (\(number))") }
        let length = WriteAheadLog.byteCount(pages: database.logPages)
        WriteAheadLog.lengthen(path, to: length + 100_000)
        WriteAheadLog.cut(path, toPages: database.logPages)
        #expect(try Scratch.size(path + "-wal") == length)
        WriteAheadLog.cut(path, toPages: database.logPages + 1)
        #expect(try Scratch.size(path + "-wal") == length)
        database.close(keepingLog: true)
        #expect(try Database(path: path, schema: first).number("SELECT count(*) FROM thing") == 50)
    }

    @Test("While a connection is open, another process cannot use the file", .bug(id: "R1"))
    func otherProcess() async throws {
        let path = path
        let database = try Database(path: path, schema: first)
        try database.execute("INSERT INTO thing (number) VALUES (1)")
        await #expect(processExitsWith: .success) { [path = path as String] in
            let failure = #expect(throws: StoreError.self) {
                try Database(opening: path).number("SELECT count(*) FROM thing")
            }
            #expect(failure?.kind == .busy)
        }
        #expect(try database.number("SELECT count(*) FROM thing") == 1)
    }

    @Test(
        "That a log cannot be copied is told twice in a minute at most, however often it fails and succeeds",
        .bug(id: "A18"))
    func copyingTold() throws {
        let told = ToldLines()
        let checkpointer = try Checkpointer(
            of: try Database(path: path, schema: first), thresholdPages: 100, log: told.log,
            now: { told.now.withLock { $0 } })
        for _ in 0..<50 {
            checkpointer.note(StoreError(.full, "full"), of: path)
            told.now.withLock { $0 += 1_000_000_000 }
            checkpointer.note(nil, of: path)
        }
        #expect(told.lines.withLock { $0.count { $0.contains("cannot be copied") } } == 2)
        #expect(told.lines.withLock { $0.count { $0.contains("succeed again") } } == 1)
        told.now.withLock { $0 += FailureEpisodes.quiet }
        checkpointer.note(nil, of: path)
        #expect(told.lines.withLock { $0.last }?.contains("succeed again") == true)
        checkpointer.stop()
    }

    /// Keeps the lines of a log, at a constant time.
    private final class ToldLines: Sendable {
        let now = Mutex<UInt64>(1_000_000_000_000)
        let lines = Mutex<[String]>([])
        var log: Log { Log { [self] _, line in lines.withLock { $0.append(line) } } }
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

    @Test("A log that somebody reads is copied as far as that disturbs nobody, and wholly afterwards")
    func readLog() throws {
        let database = try Database(path: path, schema: first)
        let insert = try database.prepare("INSERT INTO thing (number) VALUES (1)")
        for _ in 1...20 { try insert.run() }
        let before = try Scratch.size(path)
        let reader = try database.sibling()
        try reader.holdMoment()
        for _ in 1...2000 { try insert.run() }
        #expect(try !database.checkpoint(), "the reader sees the file as it was")
        #expect(try Scratch.size(path) == before)
        try reader.execute("COMMIT")
        #expect(try database.checkpoint())
        #expect(try Scratch.size(path) > before)
    }

    /// A connection that is asked to copy the log while another connection copies it.
    private final class Interruption {
        let database: Database
        var isCopied: Bool?

        init(_ database: Database) { self.database = database }
    }

    @Test("A log that another connection copies at the moment is left to that one, without a failure")
    func busyLog() throws {
        let database = try Database(path: path, schema: first)
        for _ in 1...20 { try database.execute("INSERT INTO thing (number) VALUES (1)") }
        let (copier, reader) = (try database.sibling(), try database.sibling())
        try reader.holdMoment()
        let interruption = Interruption(database)
        // SQLite calls this while the copier waits for the reader and holds its lock.
        unsafe sqlite3_busy_handler(
            copier.handle,
            { context, _ in
                guard let context = unsafe context else { return 0 }
                let interruption = unsafe Unmanaged<Interruption>.fromOpaque(context).takeUnretainedValue()
                interruption.isCopied = try? interruption.database.checkpoint()
                return 0
            },
            Unmanaged.passUnretained(interruption).toOpaque())
        #expect(throws: StoreError.self) { try copier.emptyLog() }
        #expect(interruption.isCopied == false)
        try reader.execute("COMMIT")
        #expect(try database.checkpoint())
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
