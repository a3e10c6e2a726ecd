import PostriderCourier
import PostriderNotifications
import PostriderStorage
import PostriderTransport

// What the router is told by handlers only.
extension AppRouter {
    /// A handler asks to be started again later for a delivery. This attempt does not count.
    ///
    /// - Parameter times: how often it has asked for that.
    func postponed(_ delivery: UInt64, times: Int, text: String, by stream: AppStream) {
        if times <= Limits.reportedAttempts { report(.postponed, of: delivery, on: stream, text: text) }
        for handover in stream.settle([delivery], at: scheduler.now) ?? [] {
            redelivery.pause(handover.row, of: handover.topic, attempts: times)
            dueTopics.insert(handover.topic)
        }
    }

    /// Reports to the relay what became of a delivery, if the relay asked for reports.
    func report(_ kind: Report.Kind, of delivery: UInt64, on stream: AppStream, text: String = "") {
        guard let push = stream.handover(of: delivery)?.reported else { return }
        reporter.note(kind, of: push, text: text)
    }

    /// How often a delivery's notification has failed.
    func attempts(at delivery: UInt64, of stream: AppStream) -> Int {
        guard let row = stream.handover(of: delivery)?.row else { return 0 }
        do throws(StoreError) {
            return try state.deadLetters.attempts(at: row)
        } catch {
            trouble.note(error)
            return 0
        }
    }
}
