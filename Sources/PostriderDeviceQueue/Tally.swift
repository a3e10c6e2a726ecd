package import PostriderMetrics
import PostriderNotifications

/// What became of every notification that a shard's devices accepted. The counters balance at every moment:
/// `accepted = delivered + pending + expired + replaced + discarded + dropped + moved`.
package struct Tally: Sendable, Equatable {
    /// Why an accepted notification was dropped although nobody wanted that. The trace's files contain these numbers:
    /// new ones are added at the end.
    package enum Drop: Int, CaseIterable, Sendable {
        /// The app had ``Limits/pendingPerRegistration`` others pending.
        case overflow
        /// The app unregistered.
        case unregistered
        /// The store could not make it durable, so the provider was told 503.
        case unstorable
        /// The store no longer had the row when it was to be sent.
        case unreadable
        /// The operator removed the device.
        case removed
        /// Its sender cancelled it (`DELETE` of a message of Web Push).
        case cancelled
    }

    /// Notifications that a device's home accepted.
    package var accepted: UInt64 = 0
    /// Acknowledged by the device.
    package var delivered: UInt64 = 0
    /// Not delivered before their expiration.
    package var expired: UInt64 = 0
    /// Replaced by a newer one in the same slot, or merged with the same one, sent again.
    package var replaced: UInt64 = 0
    /// Pending again, because the newer one that had replaced them could not be stored. ``replaced`` does not count
    /// them any more.
    package var recalled: UInt64 = 0
    /// Not to be stored, and the device was not connected or disconnected before it acknowledged.
    package var discarded: UInt64 = 0
    /// Pending when another node of the cluster took their device over, which counts them as accepted and pending.
    package var moved: UInt64 = 0
    /// Dropped, by cause.
    private var drops = [UInt64](repeating: 0, count: Drop.allCases.count)
    /// Waiting for their device.
    package var pending: UInt64 = 0
    /// Time from acceptance to the device's acknowledgement of all that were delivered, in milliseconds at best.
    package private(set) var deliveries = Histogram(.waiting)

    /// Nothing was accepted.
    package init() {}

    /// Records the delivery of a notification that was accepted at `acceptedAt`. The clock may have been set in
    /// between.
    mutating func noteDelivery(_ acceptedAt: Moment, _ now: Moment) {
        deliveries.record(nanoseconds: UInt64(max(0, now.milliseconds - acceptedAt.milliseconds)) * 1_000_000)
    }

    /// How many were dropped for this cause.
    package subscript(_ drop: Drop) -> UInt64 {
        get { drops[drop.rawValue] }
        set { drops[drop.rawValue] = newValue }
    }

    /// How many were dropped in all.
    var dropped: UInt64 { drops.reduce(0, +) }

    /// Whether every accepted notification is accounted for.
    package var isBalanced: Bool {
        accepted == delivered + pending + expired + replaced + discarded + dropped + moved
    }

    /// Adds another shard's counters.
    package static func += (left: inout Tally, right: Tally) {
        left.accepted += right.accepted
        left.delivered += right.delivered
        left.expired += right.expired
        left.replaced += right.replaced
        left.recalled += right.recalled
        left.discarded += right.discarded
        left.moved += right.moved
        left.pending += right.pending
        left.deliveries += right.deliveries
        for drop in Drop.allCases { left[drop] += right[drop] }
    }
}

extension Tally: CustomStringConvertible {
    /// Both sides of the balance, as text.
    package var description: String {
        "\(accepted) accepted, \(delivered) delivered, \(pending) pending, \(expired) expired, "
            + "\(replaced) replaced, \(discarded) discarded, \(dropped) dropped"
            + (moved == 0 ? "" : ", \(moved) moved")
    }
}
