import Foundation
import PostriderNotifications
import Testing

@testable import PostriderStorage

@Suite("The reserve of a log")
struct LogReserveTests {
    private static let kilo = 1 << 10

    @Test("is what some commits like the last one take, within bounds, made when half of it is used up")
    func lengths() {
        var reserve = LogReserve()
        let steps: [(used: Int, length: Int?)] = [
            (0, nil), (63 * Self.kilo, nil), (64 * Self.kilo, 128 * Self.kilo),
            (72 * Self.kilo, 200 * Self.kilo), (80 * Self.kilo, nil), (136 * Self.kilo, 1032 * Self.kilo),
            (144 * Self.kilo, nil), (968 * Self.kilo, 1992 * Self.kilo), (970 * Self.kilo, nil),
            // The log began anew in the same file.
            (64 * Self.kilo, nil), (72 * Self.kilo, nil),
        ]
        for step in steps {
            #expect(
                reserve.length(afterBytes: step.used, free: { .max }) == step.length,
                "\(step.used) bytes used")
        }
    }

    @Test(
        "is made by pieces in advance, beyond what the log takes, until it is as long as the log may become")
    func pieces() {
        var reserve = LogReserve()
        let whole = 2_500 * Self.kilo
        #expect(reserve.piece(of: whole, free: .max) == 1_024 * Self.kilo)
        #expect(reserve.length(afterBytes: 1_100 * Self.kilo, free: { .max }) == 2_124 * Self.kilo)
        #expect(reserve.piece(of: whole, free: .max) == whole)
        #expect(reserve.piece(of: whole, free: .max) == nil)
    }

    /// A disk whose free space shrinks as a log's file grows.
    private struct Disk {
        var free: Int
        var reserve = LogReserve()
        var length = 0

        mutating func take(_ wanted: Int?) -> Bool {
            guard let wanted else { return false }
            free -= wanted - length
            length = wanted
            return true
        }
    }

    @Test(
        "is at most an eighth of what the disk has left, all of its pieces together, and nothing of little",
        .bug(id: "R3"),
        arguments: [(24, 3), (64, 8), (15, 0), (0, 0), (1_000_000, 32)] as [(Int, Int)])
    func share(_ freeMegabytes: Int, _ mostMegabytes: Int) {
        let (free, most) = (freeMegabytes << 20, mostMegabytes << 20)
        var disk = Disk(free: free)
        while disk.take(disk.reserve.piece(of: 32 << 20, free: disk.free)) {}
        #expect(disk.length <= most && disk.length >= most - LogReserve.leastBytes)
        #expect(disk.free == free - disk.length)
    }

    @Test("does not grow before a log that grows on a disk that has little left", .bug(id: "R3"))
    func littleLeft() {
        var reserve = LogReserve()
        let mega = 1024 * Self.kilo
        #expect(reserve.length(afterBytes: mega, free: { 15 * mega }) == nil)
        #expect(reserve.length(afterBytes: 2 * mega, free: { 16 * mega }) == 3 * mega)
        // More than half of it is used, and little free space is left.
        #expect(reserve.length(afterBytes: 2 * mega + 768 * Self.kilo, free: { mega }) == nil)
    }

    @Test("leaves what is there as it is, and a file that is longer; makes none")
    func lengthening() throws {
        let scratch = Scratch()
        let path = scratch.path + "/file.sqlite"
        WriteAheadLog.lengthen(path, to: 100)
        #expect(!FileManager.default.fileExists(atPath: path + "-wal"))
        let bytes = Data((0..<5_000).map { UInt8(truncatingIfNeeded: $0 &* 31 | 1) })
        try bytes.write(to: URL(filePath: path + "-wal"))
        WriteAheadLog.lengthen(path, to: 4_000)
        #expect(try Data(contentsOf: URL(filePath: path + "-wal")) == bytes)
        WriteAheadLog.lengthen(path, to: 9_000)
        #expect(try Data(contentsOf: URL(filePath: path + "-wal")) == bytes + Data(count: 4_000))
    }

    @Test("is no part of the log: what was committed is read after a kill, with commits in it and behind it")
    func kills() throws {
        let scratch = Scratch()
        let store = try SQLiteStore(directory: scratch.store, log: .none, logPages: 1 << 20)
        let log = scratch.store + "/queue.sqlite-wal"
        var isLonger = false
        for round in Int64(0)..<6 {
            let batch = try (round * 100 + 1...round * 100 + 100).map { try sample($0, payloadBytes: 1500) }
            try store.commit(enqueue: batch)
            if round == 4 { while store.prepare() {} }
            let pages = try #require(store.queueDatabase).logPages
            isLonger = try isLonger || Scratch.size(log) > WriteAheadLog.byteCount(pages: pages)
            let copy = scratch.path + "/copy-\(round)"
            try scratch.copyStore(to: copy)
            let survivor = try SQLiteStore(directory: copy, log: .none)
            #expect(try survivor.rows() == Array(1...round * 100 + 100))
            try survivor.commit(enqueue: [sample(10_000)])
            survivor.close()
            #expect(try SQLiteStore(directory: copy, log: .none).scan().last == 10_000)
        }
        #expect(isLonger)
    }

    @Test("is there as a whole when the store has prepared itself; commits make the file no longer then")
    func prepared() throws {
        let scratch = Scratch()
        let store = try SQLiteStore(directory: scratch.store, log: .none, logPages: 700)
        let log = scratch.store + "/queue.sqlite-wal"
        var pieces = 0
        while store.prepare() { pieces += 1 }
        #expect(pieces == 3)
        let whole = WriteAheadLog.byteCount(pages: 700)
        #expect(try Scratch.size(log) == whole)
        for row in Int64(1)...100 { try store.commit(enqueue: [sample(row, payloadBytes: 1500)]) }
        store.maintain()
        #expect(try Scratch.size(log) == whole)
        #expect(try store.rows() == Array(1...100))
    }
}
