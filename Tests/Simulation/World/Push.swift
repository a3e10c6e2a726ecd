import PostriderNotifications
import PostriderRelay

/// One push as its provider sees it, with all its attempts.
struct Push {
    /// A deliberate fault of the request.
    enum Fault { case none, method, forgedToken, environment, topic, payload, hugeBody, reset }

    let number: Int
    let device: Int
    /// The device's identity when its token was given to the provider.
    let incarnation: DeviceIdentity
    let topic: String
    let token: String
    let fault: Fault
    let priority: String
    /// The expiration; nil if the push has none, so that the relay's own limit applies.
    let expiresAt: Moment?
    let isNowOrNever: Bool
    let collapse: String?
    /// The number of the event with the first attempt.
    let sentAt: Int
    /// The connection of the first attempt.
    let connection: Int
    /// The number of attempts.
    var attempts = 0
    /// The number of attempts without an answer so far.
    var open = 0
    /// Whether the result of an attempt is unknown.
    var isLost = false
    /// 200 if any attempt had this answer, else the last answer.
    var status: Int?
    /// The number of the event with the first 200.
    var acceptedAt: Int?
    /// The number of the event with the last answer.
    var answeredAt: Int?

    /// Its `apns-id`. One push in five comes from a provider library that uses one value for all its pushes.
    var identity: NotificationIdentity {
        hasSharedIdentity
            ? NotificationIdentity(high: 0xC, low: 0) : NotificationIdentity(high: 0xA, low: UInt64(number))
    }

    /// Whether other pushes have the same `apns-id`.
    var hasSharedIdentity: Bool { number % 5 == 3 }

    var payload: [UInt8] {
        let padding = String(repeating: "x", count: number % 7 * 100)
        return Array(#"{"aps":{"alert":"\#(number)"},"pad":"\#(padding)"}"#.utf8)
    }

    /// Whether the push is stored until it is delivered or replaced, because it has no expiration.
    var isKept: Bool { !isNowOrNever && expiresAt == nil }
}

/// All pushes of a run.
struct Pushes {
    private(set) var all: [Push] = []
    /// The numbers of the pushes in each slot.
    private var slots: [Slot: [Int]] = [:]
    private let storages: [APNsCompatibility.StorageDepth]

    /// A slot: the pushes of one app that replace one another. They have one collapse identifier, or, if the
    /// identifier is nil, the relay stores only the app's latest push.
    private struct Slot: Hashable {
        let token: String
        let collapse: String?
    }

    /// Creates an empty list for relays with these depths of storage.
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

    /// The slot that the push can share with others; nil if there is none.
    private func slot(of push: Push, _ storage: APNsCompatibility.StorageDepth) -> Slot? {
        guard push.fault == .none else { return nil }
        switch storage {
        case .queue: return push.collapse.map { Slot(token: push.token, collapse: $0) }
        case .latest: return push.isNowOrNever ? nil : Slot(token: push.token, collapse: nil)
        }
    }

    /// Whether a condition holds for another push that may be in its slot at any of the relays.
    func hasRival(of push: Push, where condition: (Push) -> Bool) -> Bool {
        storages.contains { hasRival(of: push, $0, where: condition) }
    }

    /// Whether a condition holds for another push that replaces it at every relay.
    func hasSureRival(of push: Push, where condition: (Push) -> Bool) -> Bool {
        storages.allSatisfy { hasRival(of: push, $0, where: condition) }
    }

    private func hasRival(
        of push: Push, _ storage: APNsCompatibility.StorageDepth, where condition: (Push) -> Bool
    ) -> Bool {
        guard let slot = slot(of: push, storage), let numbers = slots[slot] else { return false }
        return numbers.contains { $0 != push.number && condition(all[$0]) }
    }

    /// Whether the push can be replaced at all.
    func hasSlot(_ push: Push) -> Bool { storages.contains { slot(of: push, $0) != nil } }

    /// The number of pushes without a fault to a token.
    func count(to token: String) -> Int { all.count { $0.token == token && $0.fault == .none } }
}

/// Returns the number of a push from its payload, because its `apns-id` need not be unique.
func pushNumber(in payload: [UInt8]) -> Int? {
    let digits = payload.drop { !(0x30...0x39 ~= $0) }.prefix { 0x30...0x39 ~= $0 }
    return Int(String(decoding: digits, as: UTF8.self))
}
