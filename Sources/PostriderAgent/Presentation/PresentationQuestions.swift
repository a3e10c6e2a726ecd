import PostriderCourier
import PostriderNotifications
import PostriderTransport

/// The questions to apps how an alert is to be presented: which stream may answer, and until when.
final class PresentationQuestions {
    private let scheduler: any Scheduler
    private let timeIsUp: (UInt64) -> Void
    private var open: [UInt64: (stream: ObjectIdentifier, timer: any LoopTimer)] = [:]

    /// - Parameter timeIsUp: gets a question that was not answered in time, or could not be asked.
    init(_ scheduler: any Scheduler, timeIsUp: @escaping (UInt64) -> Void) {
        self.scheduler = scheduler
        self.timeIsUp = timeIsUp
    }

    /// Asks the app on a stream how an alert is to be presented.
    func ask(_ question: UInt64, about alert: Alert, on stream: AppStream?) {
        guard let stream, stream.isListening, open.count < Limits.openQuestions else {
            return timeIsUp(question)
        }
        let timer = scheduler.makeTimer { [unowned self] in
            open[question] = nil
            timeIsUp(question)
        }
        open[question] = (ObjectIdentifier(stream), timer)
        timer.arm(afterMilliseconds: Limits.decisionMilliseconds)
        let message = WillPresent(
            question: question, topic: alert.key.topic, subject: alert.subject,
            identifier: alert.key.identifier)
        stream.tell(.willPresent(message))
    }

    /// An app has answered. Returns false if it was not asked.
    func close(_ question: UInt64, by stream: AppStream) -> Bool {
        guard open[question]?.stream == ObjectIdentifier(stream) else { return false }
        open[question] = nil
        return true
    }
}
