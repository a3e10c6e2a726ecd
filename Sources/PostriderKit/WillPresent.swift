import Courier
import Foundation
import Notifications
import Synchronization
import Transport

/// How an alert is presented. Numbers as Apple's `UNNotificationPresentationOptions`.
public struct NotificationPresentationOptions: OptionSet, Hashable, Sendable {
    /// The bits.
    public let rawValue: UInt32
    /// Options from bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The number on the app's icon.
    public static let badge = NotificationPresentationOptions(rawValue: 1)
    /// The sound.
    public static let sound = NotificationPresentationOptions(rawValue: 2)
    /// It stays in the desktop's list.
    public static let list = NotificationPresentationOptions(rawValue: 8)
    /// It is shown.
    public static let banner = NotificationPresentationOptions(rawValue: 16)
}

extension UserNotificationCenter {
    /// Has the application decide how its alerts are presented while it runs, in the manner of
    /// `userNotificationCenter(_:willPresent:)`: nothing is not at all. It is asked where observers are called, and has
    /// three seconds; after that, and where it does not decide, an alert is presented with all that it has.
    ///
    /// - Parameter decide: nil: it does not decide any more.
    /// - Throws: ``ApplicationError``.
    public func willPresent(
        _ decide: (@Sendable (ResponseDidArrive.Subject) -> NotificationPresentationOptions)?
    ) throws(ApplicationError) {
        try application.decidePresentation(decide)
    }
}

extension Application {
    func decidePresentation(
        _ decide: (@Sendable (ResponseDidArrive.Subject) -> NotificationPresentationOptions)?
    ) throws(ApplicationError) {
        let mailbox = try startedMailbox()
        state.withLock { $0.decidePresentation = decide }
        mailbox.postEvenIfFull(.presentationWish)
    }

    /// Whether the application decides, for the link.
    var decidesPresentation: Bool { state.withLock { $0.decidePresentation != nil } }

    /// The agent asks, from the link's thread.
    func asked(_ question: WillPresent) {
        queue.async { [self] in
            let (decide, mailbox) = state.withLock { ($0.decidePresentation, $0.mailbox) }
            guard let decide, let mailbox else { return }
            let options = PresentationOptions(rawValue: decide(question.subject.notification).rawValue)
            mailbox.postEvenIfFull(.presented(Presentation(question: question.question, options: options)))
        }
    }
}
