import PostriderCourier
import PostriderNotifications

/// What a shard tells the trace besides what its devices' events say.
extension Shard {
    /// Sends a notification over a device's connection, where there is one.
    func send(_ queued: QueuedNotification, as delivery: UInt64, to entry: DeviceEntry) {
        let isTraced = trace.traces(queued.row)
        let push = isTraced ? UInt64(queued.row.value) : 0
        guard let session = entry.session,
            session.deliver(queued.notification, as: delivery, reportedAs: push), isTraced
        else { return }
        entry.unreported.earn()
        trace.note(
            .sent, queued.row, detail: TraceEvent.connection(session.number, ofShard: index), at: now)
    }

    /// A device tells what became of notifications: for the trace, as far as it was sent any.
    func reported(_ report: Report, by session: DeviceSession) {
        guard let entry = session.ownSeat else { return }
        for event in report.events where entry.unreported.spend() {
            trace.note(event, by: entry.identity, at: now)
        }
    }
}
