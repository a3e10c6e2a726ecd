import Foundation
import PostriderNotifications
import Testing

@testable import PostriderStorage

/// Tests of copies of a store that is in use.
@Suite struct SnapshotTests {
    private let scratch = Scratch()
    private var copy: String { scratch.path + "/copy" }

    private func open(_ directory: String? = nil) throws -> SQLiteStore {
        try SQLiteStore(directory: directory ?? scratch.store, log: .none, logPages: 16)
    }

    @Test("A copy holds what was committed when it was begun, in both files, and nothing later")
    func moment() throws {
        let store = try open()
        try store.apply([.addTokenSecret([1])])
        try store.commit(enqueue: (1...30).map { try sample($0) }, settle: [])
        try store.commit(settle: [3])
        let snapshot = try store.snapshot()
        try store.apply([.addTokenSecret([2])])
        try store.commit(enqueue: (31...60).map { try sample($0) }, settle: [1, 2])
        try snapshot.copy(to: copy)
        let copied = try open(copy)
        #expect(try copied.rows() == [1, 2] + Array(4...30))
        #expect(try copied.read([30]).map(fields) == [fields(sample(30))])
        #expect(try copied.loadRegistry().tokenSecrets == [[1]])
        #expect(try store.rows() == Array(4...60))
        #expect(try store.loadRegistry().tokenSecrets == [[1], [2]])
    }

    @Test("A copy that has no place is refused, and the sentence says what to do about it")
    func place() throws {
        let store = try open()
        func refusal(_ directory: String) throws -> String? {
            let snapshot = try store.snapshot()
            return #expect(throws: StoreError.self) { try snapshot.copy(to: directory) }?.description
        }
        #expect(try refusal(copy + "/below")?.hasSuffix("and in which the relay may write.") == true)
        try FileManager.default.createDirectory(
            atPath: copy + ".partial", withIntermediateDirectories: false)
        #expect(try refusal(copy)?.contains("remove it if it is left from a copy that failed") == true)
    }

    @Test("A copy whose name is taken contradicts what is there, and leaves that as it is")
    func taken() throws {
        let store = try open()
        try store.snapshot().copy(to: copy)
        let before = try FileManager.default.contentsOfDirectory(atPath: scratch.path).sorted()
        for place in [copy, scratch.path + "/store"] {
            let error = #expect(throws: StoreError.self) { try store.snapshot().copy(to: place) }
            #expect(error?.kind == .conflict)
            #expect(
                error?.description == "There is \(place) already: name another place for the copy.")
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path).sorted() == before)
    }

    @Test("A copy is its owner's only, with an empty log for each file, and there is nothing beside it")
    func permissions() throws {
        let store = try open()
        try store.commit(enqueue: [sample(1)])
        try store.snapshot().copy(to: copy)
        #expect(try Scratch.permissions(copy) == 0o700)
        let names = try FileManager.default.contentsOfDirectory(atPath: copy)
        let files = ["queue.sqlite", "queue.sqlite-wal", "registry.sqlite", "registry.sqlite-wal"]
        #expect(names.sorted() == files)
        for log in [files[1], files[3]] { #expect(try Scratch.size(copy + "/" + log) == 0) }
        for name in names { #expect(try Scratch.permissions(copy + "/" + name) == 0o600) }
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: scratch.path).sorted() == ["copy", "store"])
    }

    @Test("A copy that is put over the files of a store that was killed is what it was")
    func overAnother() throws {
        let store = try open()
        try store.commit(enqueue: (1...3).map { try sample($0) }, settle: [])
        try store.snapshot().copy(to: copy)
        try store.commit(enqueue: (4...40).map { try sample($0) }, settle: [1])
        try store.apply([.addTokenSecret([1])])
        let killed = scratch.path + "/killed"
        try FileManager.default.copyItem(atPath: scratch.store, toPath: killed)
        for name in try FileManager.default.contentsOfDirectory(atPath: copy) {
            try? FileManager.default.removeItem(atPath: killed + "/" + name)
            try FileManager.default.copyItem(atPath: copy + "/" + name, toPath: killed + "/" + name)
        }
        let restored = try open(killed)
        #expect(try restored.rows() == [1, 2, 3])
        #expect(try restored.loadRegistry().tokenSecrets == [])
    }

    @Test("The files of a copy alone, beside the logs of another store, are not what the copy was")
    func besideOtherLogs() throws {
        let store = try open()
        try store.commit(enqueue: (1...3).map { try sample($0) }, settle: [])
        try store.snapshot().copy(to: copy)
        try store.commit(enqueue: (4...40).map { try sample($0) }, settle: [1])
        let killed = scratch.path + "/killed"
        try FileManager.default.copyItem(atPath: scratch.store, toPath: killed)
        for name in ["queue.sqlite", "registry.sqlite"] {
            try FileManager.default.removeItem(atPath: killed + "/" + name)
            try FileManager.default.copyItem(atPath: copy + "/" + name, toPath: killed + "/" + name)
        }
        #expect(try Scratch.size(killed + "/queue.sqlite-wal") > 0)
        #expect((try? open(killed).rows()) != [1, 2, 3])
    }

    @Test("A place that is taken, or cannot be made, is refused with its name, and left as it is")
    func refusals() throws {
        let store = try open()
        for place in [scratch.store, scratch.path + "/nowhere/copy"] {
            let snapshot = try store.snapshot()
            let failure = #expect(throws: StoreError.self) { try snapshot.copy(to: place) }
            #expect(failure?.description.contains(place) == true)
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path) == ["store"])
    }

    @Test("There is one copying at a time, and one after the other")
    func oneAtATime() throws {
        let store = try open()
        do {
            let first = try store.snapshot()
            let failure = #expect(throws: StoreError.self) { try store.snapshot() }
            #expect(failure?.kind == .busy)
            try first.copy(to: copy)
        }
        try store.snapshot().copy(to: scratch.path + "/another")
    }

    @Test("A store that is closed meanwhile leaves the copying its moment")
    func closed() throws {
        let store = try open()
        try store.commit(enqueue: [sample(1)])
        let snapshot = try store.snapshot()
        try store.commit(enqueue: [sample(2)])
        store.close()
        try snapshot.copy(to: copy)
        #expect(try open(copy).rows() == [1])
        #expect(try open().rows() == [1, 2])
    }

    @Test("A copying that is given up fails, and leaves nothing")
    func givenUp() throws {
        let store = try open()
        try store.commit(enqueue: [sample(1)])
        let snapshot = try #require(try store.snapshot() as? Snapshot)
        snapshot.giveUp()
        #expect(throws: StoreError.self) { try snapshot.copy(to: copy) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.path) == ["store"])
    }
}

/// Tests of reopening a file. `make torture` shows the reason for it, on failing disks.
@Suite struct TrustedFileTests {
    private let scratch = Scratch()
    private var path: String { scratch.path + "/queue.sqlite" }

    @Test("A file that is opened anew holds what it held, with its log written into it")
    func renewal() throws {
        let file = try TrustedFile<QueueFile>(path: path, thresholdPages: 1 << 20, log: .none)
        var batch = QueueBatch()
        batch.enqueued = try (1...20).map { try sample($0) }
        try file.change { queue throws(StoreError) in try queue.commit(batch) }
        #expect(try Scratch.size(path + "-wal") > 0)
        try file.renew()
        #expect(try Scratch.size(path + "-wal") == 0)
        var rows: [Int64] = []
        _ = try file.read { queue throws(StoreError) in try queue.scan { rows.append($0.row.value) } }
        #expect(rows == Array(1...20))
    }

    @Test("A failure of the disk makes a file doubtful, and no other failure does")
    func doubt() throws {
        let file = try TrustedFile<QueueFile>(path: path, thresholdPages: 64, log: .none)
        // SQLITE_FULL, SQLITE_CONSTRAINT, SQLITE_BUSY, SQLITE_CORRUPT.
        for code: CInt in [13, 19, 5, 11] {
            #expect(throws: StoreError.self) { try file.file.database.check(code) }
            #expect(!file.needsRenewal)
        }
        // SQLITE_IOERR_FSYNC.
        #expect(throws: StoreError.self) { try file.file.database.check(1034) }
        #expect(file.needsRenewal)
        try file.renew()
        #expect(!file.needsRenewal)
    }
}

@Suite struct WriteAheadLogTests {
    private let scratch = Scratch()

    @Test("A log that is written anew has the bytes that it had; one that is not there is not made")
    func anew() throws {
        let path = scratch.path + "/file.sqlite"
        try WriteAheadLog.writeAnew(of: path)
        #expect(!FileManager.default.fileExists(atPath: path + "-wal"))
        let bytes = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        try bytes.write(to: URL(filePath: path + "-wal"))
        try WriteAheadLog.writeAnew(of: path)
        #expect(try Data(contentsOf: URL(filePath: path + "-wal")) == bytes)
    }
}
