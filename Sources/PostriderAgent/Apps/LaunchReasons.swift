import PostriderCourier
import PostriderNotifications
import PostriderStorage

/// Finds the reason for which an app is started: what waits first for it.
struct LaunchReasons {
    let state: AgentState
    let redelivery: RedeliveryQueue
    let trouble: StateTrouble

    /// The first message that waits for an app; `itself` if none does.
    func reason(for topic: String) -> LaunchReason {
        guard let record = state.apps[topic] else { return .itself }
        var reason = LaunchReason.itself
        do throws(StoreError) {
            try state.inbox.forEachPending(of: record.number, after: 0) { row, parcel in
                guard !redelivery.holds(row) else { return true }
                reason = parcel.launch
                return false
            }
        } catch {
            trouble.note(error)
        }
        return reason
    }
}
