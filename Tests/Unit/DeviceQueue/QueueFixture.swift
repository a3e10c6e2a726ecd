import PostriderCourier
import PostriderNotifications
import RelayFixtures
import Testing

@testable import PostriderDeviceQueue

extension HomeEffect: CustomStringConvertible {
    /// The texts of an effect; storing and sending in one effect counts as two.
    var texts: [String] {
        guard case .take(let queued, let delivery?) = self else { return [description] }
        let effects: [Self] = [.take(queued, delivery: nil), .send(queued, delivery: delivery)]
        return effects.map(\.description)
    }

    /// The effect as text, such as `200 s1`, `410 s1`, `store r3`, `send 1 n7`, `settle r3` or `load r3`: s is a
    /// stream, r a row, n a notification, and a bare number a delivery.
    public var description: String {
        switch self {
        case .answer(let address, .accepted): "200 s\(address.stream)"
        case .answer(let address, .rejected(let rejection, let since)):
            "\(rejection.status) s\(address.stream)" + (since.map { " since \($0.milliseconds)" } ?? "")
        case .take(let queued, nil): "store r\(queued.row.value)"
        case .take: texts.joined(separator: ", ")
        case .send(let queued, let delivery): "send \(delivery) n\(queued.notification.identity.low)"
        case .settle(let row): "settle r\(row.value)"
        case .load(let rows): "load \(rows.map { "r\($0.value)" }.joined(separator: ","))"
        case .noteAccepted(let queued): "accepted r\(queued.row.value)"
        case .note(let kind, let row, 0): "\(kind) r\(row.value)"
        case .note(let kind, let row, let detail): "\(kind) r\(row.value) \(detail)"
        }
    }

    /// The effect's record in the trace; nil if it has none.
    var note: String? {
        switch self {
        case .note, .noteAccepted: description
        case .send(let queued, _), .take(let queued, .some): "sent r\(queued.row.value)"
        case .answer, .take(_, nil), .settle, .load: nil
        }
    }

    /// Whether the effect is for the trace only.
    var isNote: Bool {
        switch self {
        case .note, .noteAccepted: true
        case .answer, .take, .send, .settle, .load: false
        }
    }
}

/// A device with the row numbers that its home would draw, and the effects of each event as text. Push number n has
/// stream n and row n.
struct QueueFixture {
    var device = Device(Samples.record)
    var tally = Tally()
    var now = Samples.now
    var rules = DeviceRules()
    private(set) var disk: [QueueRow: Notification] = [:]
    /// The records of the trace, as text.
    private(set) var notes: [String] = []
    private var row: Int64 = 0

    init(
        registrations: [RegistrationRecord] = [
            Samples.registration(), Samples.registration(Samples.second, of: Samples.otherTopic),
        ]
    ) {
        for registration in registrations { _ = apply(registration) }
    }

    mutating func after(_ event: (inout Device, inout Tally, inout [HomeEffect]) -> Void) -> [String] {
        var effects: [HomeEffect] = []
        event(&device, &tally, &effects)
        for effect in effects {
            if case .take(let queued, _) = effect { disk[queued.row] = queued.notification }
        }
        #expect(tally.isBalanced)
        #expect(tally.pending == UInt64(device.pendingCount))
        notes += effects.compactMap(\.note)
        return effects.filter { !$0.isNote }.flatMap(\.texts)
    }

    /// Offers a push with the next number, which is also its row and its stream.
    mutating func offer(
        priority: Priority = .immediate, collapse: String? = nil, nowOrNever: Bool = false,
        lifetime: Int64 = 60_000, identity: UInt64? = nil, payload: String = "{}",
        to registration: RegistrationNumber = Samples.first
    ) -> [String] {
        let notification = Samples.notification(
            identity ?? UInt64(row + 1), to: registration,
            topic: registration == Samples.second ? Samples.otherTopic : Samples.topic, priority: priority,
            expiration: nowOrNever ? .nowOrNever : .at(now.advanced(byMilliseconds: lifetime)),
            collapse: collapse, payload: Array(payload.utf8))
        return offer(notification)
    }

    mutating func offer(_ notification: Notification) -> [String] {
        row += 1
        let (row, now, rules) = (QueueRow(row), now, rules)
        return after { device, tally, effects in
            device.offer(
                notification, at: row, for: Samples.replyAddress(Int(row.value)), now: now, rules, &tally,
                &effects
            )
        }
    }

    mutating func committed(_ rows: Int64...) -> [String] {
        after { device, tally, effects in
            for row in rows { device.stored(QueueRow(row), failure: nil, &tally, &effects) }
        }
    }

    mutating func failed(_ row: Int64, _ failure: Rejection = .serviceUnavailable) -> [String] {
        after { device, tally, effects in
            device.stored(QueueRow(row), failure: failure, &tally, &effects)
        }
    }

    mutating func connect(by reception: Reception = .usual) -> [String] {
        let now = now
        return after { device, tally, effects in
            device.connected(by: reception, now: now, &tally, &effects)
        }
    }

    mutating func receive(by reception: Reception) -> [String] {
        let now = now
        return after { device, tally, effects in device.receive(by: reception, now: now, &tally, &effects) }
    }

    mutating func fetch() -> [String] {
        let now = now
        return after { device, tally, effects in device.fetch(now: now, &tally, &effects) }
    }

    mutating func disconnect() -> [String] {
        after { device, tally, effects in device.disconnected(&tally, &effects) }
    }

    mutating func acknowledge(_ deliveries: UInt64...) -> [String] {
        let now = now
        return after { device, tally, effects in
            let stranger = device.acknowledged(deliveries, now: now, &tally, &effects)
            #expect(stranger == nil)
        }
    }

    /// Answers a load from the disk; the rows in `missing` are no longer stored.
    mutating func load(_ rows: ClosedRange<Int64>, missing: Set<Int64> = []) -> [String] {
        let asked = rows.map { QueueRow($0) }
        let found = asked.filter { !missing.contains($0.value) }.compactMap { row in
            disk[row].map { QueuedNotification(row: row, notification: $0) }
        }
        let now = now
        return after { device, tally, effects in device.loaded(asked, found, now: now, &tally, &effects) }
    }

    mutating func expire(afterMilliseconds interval: Int64) -> [String] {
        now = now.advanced(byMilliseconds: interval)
        let now = now
        return after { device, tally, effects in device.expire(now: now, &tally, &effects) }
    }

    mutating func apply(_ registration: RegistrationRecord) -> [String] {
        after { device, tally, effects in device.apply(registration, &tally, &effects) }
    }

    /// The sender cancels the notification at a row. Returns nil if there is none.
    mutating func cancel(_ row: Int64, of registration: RegistrationNumber = Samples.first) -> [String]? {
        var isKnown = false
        let effects = after { device, tally, effects in
            isKnown = device.cancel(QueueRow(row), of: registration, &tally, &effects)
        }
        return isKnown ? effects : nil
    }

    mutating func remove() -> [String] {
        after { device, tally, effects in device.removed(&tally, &effects) }
    }

    mutating func restore(_ row: Int64, _ notification: Notification) -> [String] {
        disk[QueueRow(row)] = notification
        self.row = max(self.row, row)
        let rules = rules
        return after { device, tally, effects in
            device.restore(
                QueueEntry(row: QueueRow(row), notification: notification), rules, &tally, &effects)
        }
    }
}
