import PostriderNotifications

/// How a device ends here: it is removed, or has another home.
extension Device {
    /// The device is removed: all of its pending notifications are dropped.
    package mutating func removed(_ tally: inout Tally, _ effects: inout [HomeEffect]) {
        link = nil
        for row in backlog.queue.rows(where: { _ in true }) {
            backlog.drop(
                row, .removed, answering: .rejected(.badDeviceToken), &registrations, &tally, &effects)
        }
        for number in registrations.keys { charge(number, to: nil, besides: 0) }
    }

    /// Another node of the cluster is the device's home from now on: what is on the disk is pending there. Everything
    /// that was accepted here has been answered.
    package mutating func movedAway(_ tally: inout Tally, _ effects: inout [HomeEffect]) {
        disconnected(&tally, &effects)
        tally.moved += UInt64(pendingCount)
        tally.pending -= UInt64(pendingCount)
        for number in registrations.keys { charge(number, to: nil, besides: 0) }
    }
}
