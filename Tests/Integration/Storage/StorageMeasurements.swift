import Foundation
import PostriderNotifications
import Testing

@testable import PostriderStorage

private let measuredDirectory = ProcessInfo.processInfo.environment["POSTRIDER_MEASURE"]

/// Measurements, not tests: they check no times. They run when `POSTRIDER_MEASURE` names a directory on the disk to
/// measure: `POSTRIDER_MEASURE=/var/tmp swift test -c release -Xswiftc -enable-testing --filter StorageMeasurements`.
@Suite(.serialized, .enabled(if: measuredDirectory != nil, "POSTRIDER_MEASURE is not set"))
struct StorageMeasurements {
    private let path = (measuredDirectory ?? "") + "/postrider-measure-" + UUID().uuidString

    @Test(
        "Commits of a full batch, with the rows of an earlier one settled or not", arguments: [64, 256],
        [false, true])
    func commits(batch: Int, settles: Bool) throws {
        let store = try SQLiteStore(directory: path, log: .none)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let samples = try (1...batch).map { try sample(Int64($0)).notification }
        let rounds = 300_000 / batch
        let delay = 20
        var longest = Duration.zero
        let clock = ContinuousClock()
        let total = try clock.measure {
            for round in 0..<rounds {
                let first = Int64(round * batch) + 1
                let took = try clock.measure {
                    try store.commit(
                        enqueue: samples.enumerated().map { offset, notification in
                            QueuedNotification(
                                row: QueueRow(first + Int64(offset)), notification: notification)
                        },
                        settle: settles && round >= delay
                            ? Array(first - Int64(delay * batch)..<first - Int64((delay - 1) * batch)) : []
                    )
                }
                longest = max(longest, took)
            }
        }
        report("commit, batch \(batch)\(settles ? ", settling" : "")", rows: rounds * batch, total)
        print("    longest commit \(longest), log \(try Scratch.size(path + "/queue.sqlite-wal") >> 20) MiB")
    }

    @Test("Scan and read of a million rows")
    func scan() throws {
        let count: Int64 = 1_000_000
        var store = try SQLiteStore(directory: path, log: .none)
        defer { try? FileManager.default.removeItem(atPath: path) }
        for first in stride(from: Int64(1), through: count, by: 1000) {
            try store.commit(enqueue: (first..<first + 1000).map { try sample($0) })
        }
        store.close()
        let clock = ContinuousClock()
        let opening = try clock.measure { store = try SQLiteStore(directory: path, log: .none) }
        var visited = 0
        var last = QueueRow(0)
        let scanning = try clock.measure {
            last = try store.scanQueue { visited += $0.row.value > 0 ? 1 : 0 }
        }
        #expect(visited == Int(count) && last.value == count)
        print("    opening \(opening)")
        report("scan", rows: visited, scanning)
        let rows = (0..<100_000).map { _ in Int64.random(in: 1...count) }
        let reading = try clock.measure {
            for first in stride(from: 0, to: rows.count, by: 64) {
                _ = try store.read(Array(rows[first..<min(first + 64, rows.count)]))
            }
        }
        report("read at random, 64 at a time", rows: rows.count, reading)
    }

    private func report(_ what: String, rows: Int, _ time: Duration) {
        let seconds = time / .seconds(1)
        print("\(what): \(rows) rows in \(time), \(Int(Double(rows) / seconds)) rows/s")
    }
}
