import PostriderCourier
import PostriderNotifications
import PostriderSeededRandom
import RelayFixtures
import Testing

@testable import PostriderDeviceQueue

/// A simulation from a seed: one device with a provider, an app and a disk that commits late and sometimes fails. It
/// records what both ends know of every push.
struct DeviceWorld {
    /// One push, as its provider and the device see it.
    struct Push {
        let notification: Notification
        var answers: [PushResult] = []
        var isStored = false
        var isAcknowledged = false
        var isRestored = false
        var firstSend: Int?
    }

    enum Work {
        case store(QueueRow)
        case settle(QueueRow)
        case load([QueueRow])
    }

    private var random: SplitMix64
    var device = Device(Samples.record)
    let rules: DeviceRules
    private var tally = Tally()
    /// Quotas that refuse nothing: they count what waits.
    private var quotas = QuotaSet(["topic=* pending=1000000 devices=1000"].compactMap(Quota.init))
    var now = Samples.now
    var registrations: [RegistrationRecord] = []
    /// The pushes by number, which is also the row.
    var pushes: [Int64: Push] = [:]
    private var lastRow: Int64 = 0
    var disk: [QueueRow: Notification] = [:]
    private var work: [Work] = []
    private var inFlight: [UInt64: QueueRow] = [:]
    private var sends = 0
    private(set) var events = 0
    /// The numbers of pushes whose end the trace has not been told.
    private var untold: Set<Int64> = []

    init(seed: UInt64) {
        random = SplitMix64(seed: seed)
        rules = DeviceRules(storage: seed.isMultiple(of: 2) ? .latest : .queue)
        for number in 1...2 as ClosedRange<UInt32> {
            let topic = Samples.named("app.\(number)")
            let record = Samples.registration(RegistrationNumber(number), of: topic)
            registrations.append(record)
            apply(record)
        }
    }

    // MARK: Events

    mutating func step() {
        let now = now
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<34: offer()
        case 34..<64: workOff(failing: random.chance(1, in: 12))
        case 64..<84 where !inFlight.isEmpty: acknowledge()
        case 84..<88: connect()
        case 88..<92:
            inFlight = [:]
            after { $0.disconnected(&$1, &$2) }
        case 92..<94: askFor()
        case 94..<98:
            self.now = now.advanced(byMilliseconds: Int64.random(in: 0..<800, using: &random))
            let later = self.now
            after { $0.expire(now: later, &$1, &$2) }
        case 98 where random.chance(1, in: 3): reregister()
        case 99 where random.chance(1, in: 3): restart()
        default: break
        }
    }

    /// Ends the simulation: the disk works, and the device stays connected until it has everything.
    mutating func finish() {
        while !work.isEmpty { workOff(failing: false) }
        connect(by: .usual)
        while !inFlight.isEmpty || !work.isEmpty {
            while !work.isEmpty { workOff(failing: false) }
            if !inFlight.isEmpty { acknowledge() }
        }
        #expect(device.pendingCount == 0 && tally.pending == 0)
        #expect(device.backlog.addresses.isEmpty && device.backlog.replaced.isEmpty)
        #expect(disk.isEmpty, "nothing is left on the disk")
    }

    private mutating func connect(by reception: Reception? = nil) {
        let now = now
        let reception = reception ?? randomReception()
        inFlight = [:]
        after { $0.connected(by: reception, now: now, &$1, &$2) }
    }

    /// The device asks for held-back notifications, or changes its reception.
    private mutating func askFor() {
        let now = now
        guard random.chance(1, in: 2) else { return after { $0.fetch(now: now, &$1, &$2) } }
        let reception = randomReception()
        after { $0.receive(by: reception, now: now, &$1, &$2) }
    }

    private mutating func randomReception() -> Reception {
        let topics = registrations.map(\.topic.text)
        return Reception(
            savesPower: random.chance(1, in: 2), opportunistic: random.chance(1, in: 4) ? [topics[0]] : [],
            ignored: random.chance(1, in: 4) ? [topics[1]] : [])
    }

    private mutating func offer() {
        lastRow += 1
        let (row, now, registration) = (QueueRow(lastRow), now, random.pick(registrations))
        let notification = Samples.notification(
            random.chance(1, in: 8)
                ? UInt64.random(in: 1...UInt64(lastRow), using: &random) : UInt64(lastRow),
            to: registration.number,
            topic: registration.topic,
            priority: random.pick(Priority.allCases),
            expiration: random.chance(1, in: 5)
                ? .nowOrNever
                : .at(now.advanced(byMilliseconds: Int64.random(in: 0..<20_000, using: &random))),
            collapse: random.chance(1, in: 3) ? "c\(Int.random(in: 0..<3, using: &random))" : nil
        )
        pushes[lastRow] = Push(notification: notification)
        after { [rules] device, tally, effects in
            let address = Samples.replyAddress(Int(row.value))
            device.offer(notification, at: row, for: address, now: now, rules, &tally, &effects)
        }
    }

    private mutating func acknowledge() {
        let some = inFlight.keys.sorted().shuffled(using: &random).prefix(
            Int.random(in: 1...5, using: &random))
        for delivery in some {
            if let row = inFlight.removeValue(forKey: delivery) { pushes[row.value]?.isAcknowledged = true }
        }
        let now = now
        after {
            let stranger = $0.acknowledged(Array(some), now: now, &$1, &$2)
            #expect(stranger == nil)
        }
    }

    /// The ledger commits a few commands as one transaction.
    private mutating func workOff(failing: Bool) {
        let batch = work.prefix(Int.random(in: 1...6, using: &random))
        work.removeFirst(batch.count)
        var stored: [QueueRow] = []
        for letter in batch {
            switch letter {
            case .store(let row): stored.append(row)
            case .settle(let row):
                stored.removeAll { $0 == row }
                // The next transaction makes the settlements of a failed one.
                if failing { work.insert(.settle(row), at: 0) } else { disk[row] = nil }
            case .load: break
            }
        }
        for row in stored {
            if !failing {
                disk[row] = pushes[row.value]?.notification
                pushes[row.value]?.isStored = true
            }
            after { $0.stored(row, failure: failing ? .serviceUnavailable : nil, &$1, &$2) }
        }
        for case .load(let rows) in batch {
            let found = rows.compactMap { row in
                disk[row].map { QueuedNotification(row: row, notification: $0) }
            }
            let now = now
            after { $0.loaded(rows, found, now: now, &$1, &$2) }
        }
    }

    private mutating func reregister() {
        let index = Int.random(in: registrations.indices, using: &random)
        let old = registrations[index]
        let ended = Samples.registration(old.number, of: old.topic, unregisteredAt: now)
        apply(ended)
        registrations[index] = Samples.registration(
            device.registrations.nextNumber(in: .production), of: old.topic)
        apply(registrations[index])
    }

    /// Applies a registration as its home does, which then counts it for its quotas.
    private mutating func apply(_ record: RegistrationRecord) {
        after { [quotas] device, tally, effects in
            device.apply(record, &tally, &effects)
            device.charge(record.number, to: quotas.quotas(of: record.topic, nil), besides: 0)
        }
    }

    /// The relay is killed and restarts: uncommitted changes and the providers' connections are lost.
    private mutating func restart() {
        work = []
        inFlight = [:]
        let known = device.registrations
        (device, tally) = (Device(Samples.record), Tally())
        quotas = QuotaSet(["topic=* pending=1000000 devices=1000"].compactMap(Quota.init))
        untold = []
        for number in pushes.keys where pushes[number]?.answers.isEmpty == true { pushes[number] = nil }
        for (number, registration) in known {
            let record = Samples.registration(
                number, of: registration.topic, unregisteredAt: registration.unregisteredAt)
            apply(record)
        }
        for (row, notification) in disk.sorted(by: { $0.key < $1.key }) {
            // The provider of the replaced push has no answer, and the push that replaced it is not stored.
            if pushes[row.value] == nil {
                pushes[row.value] = Push(notification: notification, isRestored: true)
            }
            untold.insert(row.value)
            after { [rules] in $0.restore(QueueEntry(row: row, notification: notification), rules, &$1, &$2) }
        }
    }

    // MARK: What is to be seen at once

    private mutating func after(_ event: (inout Device, inout Tally, inout [HomeEffect]) -> Void) {
        events += 1
        var effects: [HomeEffect] = []
        event(&device, &tally, &effects)
        for effect in effects { note(effect) }
        #expect(tally.isBalanced)
        #expect(tally.pending == UInt64(device.pendingCount))
        #expect(quotas.all.reduce(0) { $0 + $1.pending } == device.pendingCount)
        #expect(
            quotas.all.reduce(0) { $0 + $1.devices }
                == device.registrations.count { $0.value.unregisteredAt == nil })
        let pending = Set(device.backlog.queue.rows { _ in true }.map(\.value))
        #expect(untold == pending, "the trace tells of every push's end, once")
        #expect(rules.storage == .queue || device.keepsLatestOnly)
        #expect(device.link.map { $0.window.outstandingCount <= Limits.deliveryWindow } ?? true)
    }

    private mutating func note(_ effect: HomeEffect) {
        switch effect {
        case .answer(let address, let verdict):
            let number = Int64(address.stream)
            pushes[number]?.answers.append(verdict)
            #expect(pushes[number]?.answers.count == 1, "push \(number) is answered once")
            if verdict == .accepted { #expect(isKept(number), "push \(number) is not safe") }
        case .take(let queued, let delivery):
            work.append(.store(queued.row))
            if let delivery { noteSent(queued, delivery) }
        case .send(let queued, let delivery): noteSent(queued, delivery)
        case .settle(let row): work.append(.settle(row))
        case .load(let rows): work.append(.load(rows))
        case .noteAccepted(let queued): #expect(untold.insert(queued.row.value).inserted)
        case .note(.recalled, let row, _): #expect(untold.insert(row.value).inserted)
        case .note(let kind, let row, _):
            let isUntold = kind.isEnding ? untold.remove(row.value) != nil : untold.contains(row.value)
            #expect(isUntold, "\(kind) is told of push \(row.value), which has come to its end before")
        }
    }

    private mutating func noteSent(_ queued: QueuedNotification, _ delivery: UInt64) {
        let row = queued.row
        guard device.link?.rows[delivery] == row,
            pushes[row.value]?.notification === queued.notification, untold.contains(row.value)
        else {
            Issue.record("delivery \(delivery) is nobody's")
            return
        }
        #expect(inFlight.updateValue(row, forKey: delivery) == nil)
        #expect(device.registrations[queued.notification.registration]?.filter != .ignored)
        noteFirstSend(row.value)
    }

    /// Checks that first sends follow the order of acceptance for each app and priority, except for a push that was
    /// replaced and restored.
    private mutating func noteFirstSend(_ number: Int64) {
        guard let push = pushes[number], push.firstSend == nil else { return }
        sends += 1
        pushes[number]?.firstSend = sends
        let slot = push.notification.slot(rules.storage)
        let isOvertaken = pushes.contains {
            let other = $0.value.notification
            return $0.key > number && $0.value.firstSend != nil
                && other.registration == push.notification.registration
                && other.priority == push.notification.priority
                && (other.expiration == .nowOrNever) == (push.notification.expiration == .nowOrNever)
        }
        let wasReplaced = pushes.contains {
            $0.key > number && $0.value.notification.slot(rules.storage) == slot
        }
        #expect(!isOvertaken || wasReplaced || push.isRestored, "push \(number) is sent after a later one")
    }
}
