import PostriderNotifications
import PostriderSeededRandom
import RelayFixtures
import Testing

@testable import PostriderDeviceQueue

extension Pending {
    fileprivate init(
        _ row: Int64, slot: Slot? = nil, priority: Priority = .immediate,
        expiresAt: Moment? = Samples.now, isLoaded: Bool = true
    ) {
        let notification = Samples.notification(UInt64(row))
        self.init(
            row: QueueRow(row), slot: slot ?? notification.slot, registration: Samples.first,
            priority: priority,
            expiresAt: expiresAt, notification: isLoaded ? notification : nil, durability: .stored,
            acceptedSecond: notification.acceptedAt.wholeSeconds, address: nil,
            delivery: nil)
    }
}

@Suite("A queue of pending notifications")
struct PendingQueueTests {
    private func queue(_ rows: ClosedRange<Int64>) -> PendingQueue {
        var queue = PendingQueue()
        for row in rows { queue.append(Pending(row)) }
        return queue
    }

    private func sent(_ queue: inout PendingQueue, limit: Int = .max) -> [Int64] {
        var rows: [Int64] = []
        while rows.count < limit, let next = queue.next() {
            rows.append(next.row.value)
            queue.advance(delivery: UInt64(rows.count))
        }
        return rows
    }

    @Test("gives its notifications in order, and again after a rewind")
    func order() {
        var queue = queue(1...5)
        #expect(sent(&queue, limit: 3) == [1, 2, 3])
        _ = queue.remove(QueueRow(2))
        _ = queue.remove(QueueRow(5))
        #expect(sent(&queue) == [4])
        queue.append(Pending(6))
        #expect(sent(&queue) == [6])
        queue.rewind()
        #expect(queue.rows { $0.delivery != nil } == [])
        #expect(sent(&queue) == [1, 3, 4, 6])
    }

    @Test("lets the newer of two hold the slot, in whatever order they go")
    func slots() {
        let slot = Slot.collapse(Samples.first, [1])
        var queue = PendingQueue()
        queue.append(Pending(1, slot: slot))
        #expect(queue.row(in: slot) == QueueRow(1))
        _ = queue.remove(QueueRow(1))
        #expect(queue.row(in: slot) == nil)
        queue.append(Pending(2, slot: slot))
        #expect(queue.remove(QueueRow(1)) == nil && queue.row(in: slot) == QueueRow(2))
    }

    @Test("sends what was put back before what waits, and nothing that is in flight twice")
    func putBack() {
        var queue = queue(1...4)
        let old = queue.remove(QueueRow(2))
        #expect(sent(&queue, limit: 2) == [1, 3])
        guard let old else { return }
        queue.putBack(old)
        #expect(sent(&queue) == [2, 4])
        queue.rewind()
        #expect(sent(&queue) == [1, 2, 3, 4])
    }

    @Test("puts back into an empty queue, to the front and to the end")
    func putBackAnywhere() {
        for row in [1, 5, 9] as [Int64] {
            var queue = PendingQueue()
            for other in [1, 5, 9] as [Int64] { queue.append(Pending(other)) }
            guard let old = queue.remove(QueueRow(row)) else { return }
            _ = sent(&queue)
            queue.putBack(old)
            #expect(sent(&queue) == [row])
            queue.rewind()
            #expect(sent(&queue) == [1, 5, 9])
        }
        var queue = queue(1...1)
        guard let old = queue.remove(QueueRow(1)) else { return }
        queue.putBack(old)
        queue.append(Pending(2))
        #expect(sent(&queue) == [1, 2])
    }

    @Test("names what has to be loaded from the cursor on, up to a limit")
    func unloaded() {
        var queue = PendingQueue()
        for row in 1...10 as ClosedRange<Int64> { queue.append(Pending(row, isLoaded: row % 3 == 1)) }
        #expect(sent(&queue, limit: 1) == [1])
        _ = queue.remove(QueueRow(3))
        #expect(queue.unloaded(limit: 3) == [2, 5, 6].map { QueueRow($0) })
        #expect(queue.unloaded(limit: 99) == [2, 5, 6, 8, 9].map { QueueRow($0) })
    }

    private func expired(_ queue: inout PendingQueue, at moment: Int64) -> [Int64] {
        guard queue.expiresFrom <= Moment(milliseconds: moment) else { return [] }
        return queue.findExpired(at: Moment(milliseconds: moment)).compactMap { queue.remove($0)?.row.value }
    }

    @Test("knows from when on something expires, and leaves alone what is in flight or has one attempt")
    func expiry() {
        var queue = PendingQueue()
        #expect(queue.expiresFrom == .last)
        for (row, expiry) in [(1, 50), (2, 30), (3, nil), (4, 90), (5, 70)] as [(Int64, Int64?)] {
            queue.append(Pending(row, expiresAt: expiry.map(Moment.init(milliseconds:))))
        }
        #expect(queue.expiresFrom == Moment(milliseconds: 30))
        #expect(sent(&queue, limit: 1) == [1])
        #expect(expired(&queue, at: 29) == [] && expired(&queue, at: 60) == [2])
        #expect(queue.expiresFrom == Moment(milliseconds: 50), "what is in flight may come back")
        queue.rewind()
        let last = queue.remove(QueueRow(4))
        #expect(expired(&queue, at: 60) == [1] && queue.expiresFrom == Moment(milliseconds: 70))
        #expect(expired(&queue, at: 100) == [5] && queue.expiresFrom == .last)
        if let last { queue.putBack(last) }
        #expect(expired(&queue, at: 100) == [4] && queue.count == 1)
    }

    /// The same queue in the simplest form: an array with a linear search.
    private struct Model {
        var rows: [(row: Int64, slot: Slot, priority: Priority, delivery: UInt64?)] = []

        mutating func next() -> Int64? { rows.first { $0.delivery == nil }?.row }

        var leastImportant: Int64? {
            let waiting = rows.filter { $0.delivery == nil }
            let lowest = waiting.map(\.priority).min()
            return waiting.first { $0.priority == lowest }?.row
        }
    }

    @Test("does what a plain array would do", arguments: 1...30 as ClosedRange<UInt64>)
    func random(_ seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var (queue, model) = (PendingQueue(), Model())
        var (row, delivery) = (Int64(0), UInt64(0))
        var removed: [Pending] = []
        for step in 0..<1500 {
            switch Int.random(in: 0..<12, using: &random) {
            case 0..<5:
                row += Int64.random(in: 1...3, using: &random)
                let isUsual = random.chance(9, in: 10)
                let priority = isUsual ? .immediate : Priority.allCases.randomElement(using: &random)
                let pending = Pending(row, priority: priority ?? .immediate)
                queue.append(pending)
                model.rows.append((row, pending.slot, pending.priority, nil))
            case 5..<8:
                guard let next = queue.next() else { break }
                #expect(next.row.value == model.next())
                delivery += 1
                queue.advance(delivery: delivery)
                if let index = model.rows.firstIndex(where: { $0.row == next.row.value }) {
                    model.rows[index].delivery = delivery
                }
            case 8..<11:
                // Long runs of removals close holes.
                for _ in 0..<(random.chance(1, in: 20) ? 60 : 1) {
                    guard let victim = model.rows.randomElement(using: &random) else { break }
                    guard var pending = queue.remove(QueueRow(victim.row)) else {
                        Issue.record("row \(victim.row) is missing")
                        return
                    }
                    model.rows.removeAll { $0.row == victim.row }
                    pending.delivery = nil
                    removed.append(pending)
                }
            default:
                if random.chance(1, in: 6) {
                    queue.rewind()
                    for index in model.rows.indices { model.rows[index].delivery = nil }
                } else if !removed.isEmpty {
                    let back = removed.remove(at: Int.random(in: removed.indices, using: &random))
                    queue.putBack(back)
                    model.rows.append((back.row.value, back.slot, back.priority, nil))
                    model.rows.sort { $0.row < $1.row }
                }
            }
            #expect(queue.count == model.rows.count, "step \(step)")
            #expect(queue.next()?.row.value == model.next(), "step \(step)")
            #expect(queue.first?.row.value == model.rows.first?.row, "step \(step)")
            let victim = queue.leastImportant(of: Samples.first)?.value
            #expect(victim == model.leastImportant, "step \(step)")
            if step % 50 == 0 {
                #expect(queue.rows { _ in true }.map(\.value) == model.rows.map(\.row))
                #expect(model.rows.allSatisfy { queue.row(in: $0.slot) == QueueRow($0.row) })
                #expect(model.rows.allSatisfy { queue[QueueRow($0.row)]?.delivery == $0.delivery })
            }
        }
    }
}
