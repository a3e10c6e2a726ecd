import PostriderNotifications
import PostriderSeededRandom

/// The steps of a run. Every step follows from the seed and its number alone, independent of the outcomes of earlier
/// steps.
struct Script {
    let seed: UInt64

    /// One call of the store.
    enum Step {
        case commit(QueueBatch)
        case apply(secret: [UInt8])
    }

    /// The most rows that a step may enqueue; each step has this many row numbers of its own.
    static let rowsPerStep: Int64 = 8

    func step(_ number: Int) -> Step {
        // The random numbers of a step begin at another point than those of any other step or neighbouring seed.
        var beginnings = SplitMix64(seed: seed)
        var random = SplitMix64(seed: beginnings.next() &+ UInt64(number))
        if number % 5 == 0 {
            return .apply(secret: (0..<32).map { _ in UInt8(truncatingIfNeeded: random.next()) })
        }
        var batch = QueueBatch()
        for _ in 0..<random.next() % 6 {
            let earlier = number - 1 - Int(random.next() % 10)
            guard earlier > 0 else { continue }
            batch.settled.append(QueueRow(row(0, of: earlier).value + Int64(random.next() % 6)))
        }
        for index in 0..<1 + Int64(random.next() % 6) {
            let bytes = random.next() % 4 == 0 ? random.next() % 5000 : random.next() % 300
            batch.enqueued.append(notification(row(index, of: number), payloadBytes: Int(bytes)))
        }
        return .commit(batch)
    }

    private func row(_ index: Int64, of step: Int) -> QueueRow {
        QueueRow(Int64(step) * Self.rowsPerStep + index + 1)
    }

    private func notification(_ row: QueueRow, payloadBytes: Int) -> QueuedNotification {
        guard let topic = Topic("com.example.fire") else { preconditionFailure("a good topic") }
        let number = UInt64(row.value)
        return QueuedNotification(
            row: row,
            notification: Notification(
                identity: NotificationIdentity(high: seed, low: number),
                device: DeviceIdentity(high: number &* 31, low: UInt32(row.value % 7)),
                registration: RegistrationNumber(UInt32(row.value % 5)),
                topic: topic,
                pushType: .alert,
                priority: .immediate,
                expiration: .at(Moment(milliseconds: 1_900_000_000_000)),
                collapseIdentifier: row.value % 3 == 0 ? "collapse \(row.value)" : nil,
                payload: (0..<payloadBytes).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ Int(row.value)) },
                acceptedAt: Moment(milliseconds: 1_700_000_000_000 + row.value)
            )
        )
    }
}
