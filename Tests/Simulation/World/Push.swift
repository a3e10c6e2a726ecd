import PostriderNotifications
import PostriderRelay

/// One push as its provider sees it, over all its attempts.
struct Push {
    /// What is wrong with it, on purpose.
    enum Fault { case none, method, forgedToken, environment, topic, payload, hugeBody, reset }

    let number: Int
    let device: Int
    /// Who the device was when its token was given to the provider.
    let incarnation: DeviceIdentity
    let topic: String
    let token: String
    let fault: Fault
    let priority: String
    /// Nil: as long as the relay keeps anything.
    let expiresAt: Moment?
    let isNowOrNever: Bool
    let collapse: String?
    /// The number of the event with which it was sent first.
    let sentAt: Int
    /// The connection over which it was sent first.
    let connection: Int
    /// How often it was sent.
    var attempts = 0
    /// How many attempts wait for their answer.
    var open = 0
    /// Whether nobody knows what became of an attempt.
    var isLost = false
    /// 200 if any attempt was answered so, else the last answer.
    var status: Int?
    /// The number of the event with which the first 200 came.
    var acceptedAt: Int?
    /// The number of the event with which the last answer came.
    var answeredAt: Int?

    /// Its `apns-id`. One push of five is by a provider library that has one for all of its pushes.
    var identity: NotificationIdentity {
        hasSharedIdentity
            ? NotificationIdentity(high: 0xC, low: 0) : NotificationIdentity(high: 0xA, low: UInt64(number))
    }

    /// Whether other pushes have its `apns-id`, too.
    var hasSharedIdentity: Bool { number % 5 == 3 }

    var payload: [UInt8] {
        let padding = String(repeating: "x", count: number % 7 * 100)
        return Array(#"{"aps":{"alert":"\#(number)"},"pad":"\#(padding)"}"#.utf8)
    }

    /// Whether it was kept somewhere until its one or last moment, unless something became of it before.
    var isKept: Bool { !isNowOrNever && expiresAt == nil }
}

/// All pushes of a run.
struct Pushes {
    private(set) var all: [Push] = []
    /// The numbers of those that share a slot.
    private var slots: [Slot: [Int]] = [:]
    private let storages: [APNsCompatibility.StorageDepth]

    /// What an app's notifications share: the identifier that makes one of them; nil: that they can wait, where only
    /// the latest does.
    private struct Slot: Hashable {
        let token: String
        let collapse: String?
    }

    /// All pushes to relays of which each keeps so much for an absent device.
    init(_ storages: [APNsCompatibility.StorageDepth]) { self.storages = storages }

    subscript(number: Int) -> Push {
        get { all[number] }
        _modify { yield &all[number] }
    }

    var indices: Range<Int> { all.indices }

    mutating func append(_ push: Push) {
        for storage in storages {
            if let slot = slot(of: push, storage) { slots[slot, default: []].append(push.number) }
        }
        all.append(push)
    }

    /// The slot that it can share with others; nil: none.
    private func slot(of push: Push, _ storage: APNsCompatibility.StorageDepth) -> Slot? {
        guard push.fault == .none else { return nil }
        switch storage {
        case .queue: return push.collapse.map { Slot(token: push.token, collapse: $0) }
        case .latest: return push.isNowOrNever ? nil : Slot(token: push.token, collapse: nil)
        }
    }

    /// Whether any other that a relay can have put in its slot fulfils a condition.
    func hasRival(of push: Push, where condition: (Push) -> Bool) -> Bool {
        storages.contains { hasRival(of: push, $0, where: condition) }
    }

    /// The same of those that take its slot from it whichever relay it is.
    func hasSureRival(of push: Push, where condition: (Push) -> Bool) -> Bool {
        storages.allSatisfy { hasRival(of: push, $0, where: condition) }
    }

    private func hasRival(
        of push: Push, _ storage: APNsCompatibility.StorageDepth, where condition: (Push) -> Bool
    ) -> Bool {
        guard let slot = slot(of: push, storage), let numbers = slots[slot] else { return false }
        return numbers.contains { $0 != push.number && condition(all[$0]) }
    }

    /// Whether it can be replaced at all.
    func hasSlot(_ push: Push) -> Bool { storages.contains { slot(of: push, $0) != nil } }

    /// How many pushes without a fault were made to a token.
    func count(to token: String) -> Int { all.count { $0.token == token && $0.fault == .none } }
}

/// The number of a push by its payload: its `apns-id` does not tell it.
func pushNumber(in payload: [UInt8]) -> Int? {
    let digits = payload.drop { !(0x30...0x39 ~= $0) }.prefix { 0x30...0x39 ~= $0 }
    return Int(String(decoding: digits, as: UTF8.self))
}
