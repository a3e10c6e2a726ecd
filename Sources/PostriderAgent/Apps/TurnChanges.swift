import PostriderNotifications

/// The changes to the inbox that the current turn has brought: its end commits them in one transaction.
final class TurnChanges {
    /// What arrived over the link.
    var arrivals: [Inbox.Arrival] = []
    /// The link's numbers of what arrived, to be acknowledged once it is stored.
    var acknowledgements: [UInt64] = []
    /// The rows that apps have handled.
    var handled: [Int64] = []
    /// The topics of `handled`, until that is committed.
    var unsettled: Set<String> = []
    /// The rows that apps could not handle.
    var failures: [Inbox.Failure] = []

    /// Whether nothing is to be stored.
    var isEmpty: Bool { arrivals.isEmpty && handled.isEmpty && failures.isEmpty }

    /// Drops what arrived for an app that does not want it any more.
    func dropArrivals(of app: Int64) { arrivals.removeAll { $0.app == app } }

    /// What arrived is stored, or is dropped because it cannot be: the relay sends it again.
    func forgetArrivals() {
        arrivals.removeAll(keepingCapacity: true)
        acknowledgements.removeAll(keepingCapacity: true)
    }

    /// What apps have told is stored.
    func forgetSettled() {
        handled.removeAll(keepingCapacity: true)
        unsettled.removeAll(keepingCapacity: true)
        failures.removeAll(keepingCapacity: true)
    }
}
