import Foundation
import Notifications
import Testing

@testable import Storage

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
            // It began anew, in the same file.
            (64 * Self.kilo, nil), (72 * Self.kilo, nil),
        ]
        for step in steps {
            #expect(reserve.length(afterBytes: step.used) == step.length, "\(step.used) bytes used")
        }
    }

    @Test(
        "is made by pieces in advance, beyond what the log takes, until it is as long as the log may become")
    func pieces() {
        var reserve = LogReserve()
        let whole = 2_500 * Self.kilo
        #expect(reserve.piece(of: whole) == 1_024 * Self.kilo)
        #expect(reserve.length(afterBytes: 1_100 * Self.kilo) == 2_124 * Self.kilo)
        #expect(reserve.piece(of: whole) == whole)
        #expect(reserve.piece(of: whole) == nil)
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
