import Synchronization

/// A quota of one team or app, and how much of it is used. All shards share it, without a lock.
public final class QuotaMeter: Sendable {
    /// The team or the app that the quota limits.
    public let subject: Quota.Subject
    /// The limits, without those that are not set.
    public let limits: [Quota.Limit: Int]
    /// The same, for each push.
    private let rate: Int?
    private let mostPending: Int?
    private let mostDevices: Int?
    private let mostBytes: Int?
    /// The use, which a reload hands on to the next meter of the subject.
    private let usage: QuotaUsage

    /// A meter for the limits of `quota`, which goes on from what `earlier` has counted.
    init(_ subject: Quota.Subject, _ quota: Quota, after earlier: QuotaMeter?) {
        self.subject = subject
        limits = quota.limits
        rate = limits[.pushesPerSecond]
        mostPending = limits[.pending]
        mostDevices = limits[.devices]
        mostBytes = limits[.payloadBytes]
        usage = earlier?.usage ?? QuotaUsage()
    }

    /// Notifications that wait now.
    public var pending: Int { usage.pending.load(ordering: .relaxed) }
    /// Devices that have a valid token now; for a team, one for each of its apps.
    public var devices: Int { usage.devices.load(ordering: .relaxed) }

    /// How often a limit was the reason of a refusal.
    public func refusals(_ limit: Quota.Limit) -> UInt64 { usage.refusals(limit) }

    /// Whether a payload of this size may pass. A refusal is counted.
    func fits(_ payloadBytes: Int) -> Bool {
        mostBytes.map { payloadBytes <= $0 } ?? true || refuse(.payloadBytes)
    }

    /// Whether one more notification may wait. A refusal is counted.
    func hasRoomForPending() -> Bool { mostPending.map { pending < $0 } ?? true || refuse(.pending) }

    /// Whether one more device may have a token. A refusal is counted.
    func hasRoomForDevice() -> Bool { mostDevices.map { devices < $0 } ?? true || refuse(.devices) }

    /// Takes one push: a token bucket, stored as the moment at which it is full again (as in PushAllowance). An atomic
    /// exchange makes it exact over all shards.
    ///
    /// - Parameter now: monotonic nanoseconds.
    /// - Returns: 0, or the nanoseconds until one more push has room.
    func takePush(now: UInt64) -> UInt64 {
        guard let rate else { return 0 }
        let interval = 1_000_000_000 / UInt64(rate)
        let depth = interval * UInt64(rate) * UInt64(Limits.pushBurstSeconds)
        var fullAt = usage.fullAt.load(ordering: .relaxed)
        while true {
            let next = max(fullAt, now) + interval
            guard next <= now + depth else {
                _ = refuse(.pushesPerSecond)
                return next - (now + depth)
            }
            let (exchanged, original) = usage.fullAt.weakCompareExchange(
                expected: fullAt, desired: next, ordering: .relaxed)
            if exchanged { return 0 }
            fullAt = original
        }
    }

    /// Gives a push back that another quota has refused.
    func giveBackPush() {
        guard let rate else { return }
        usage.fullAt.wrappingSubtract(1_000_000_000 / UInt64(rate), ordering: .relaxed)
    }

    func add(pending change: Int) { usage.pending.wrappingAdd(change, ordering: .relaxed) }
    func add(devices change: Int) { usage.devices.wrappingAdd(change, ordering: .relaxed) }

    private func refuse(_ limit: Quota.Limit) -> Bool {
        usage.countRefusal(limit)
        return false
    }
}

/// How much a team or an app uses.
private final class QuotaUsage: Sendable {
    /// When the bucket of pushes is full again, in monotonic nanoseconds.
    let fullAt = Atomic<UInt64>(0)
    let pending = Atomic<Int>(0)
    let devices = Atomic<Int>(0)
    private let refusedPushes = Atomic<UInt64>(0)
    private let refusedPending = Atomic<UInt64>(0)
    private let refusedDevices = Atomic<UInt64>(0)
    private let refusedPayloads = Atomic<UInt64>(0)

    /// How often a limit was the reason of a refusal.
    func refusals(_ limit: Quota.Limit) -> UInt64 {
        switch limit {
        case .pushesPerSecond: refusedPushes.load(ordering: .relaxed)
        case .pending: refusedPending.load(ordering: .relaxed)
        case .devices: refusedDevices.load(ordering: .relaxed)
        case .payloadBytes: refusedPayloads.load(ordering: .relaxed)
        }
    }

    /// Counts a refusal.
    func countRefusal(_ limit: Quota.Limit) {
        switch limit {
        case .pushesPerSecond: refusedPushes.wrappingAdd(1, ordering: .relaxed)
        case .pending: refusedPending.wrappingAdd(1, ordering: .relaxed)
        case .devices: refusedDevices.wrappingAdd(1, ordering: .relaxed)
        case .payloadBytes: refusedPayloads.wrappingAdd(1, ordering: .relaxed)
        }
    }
}
