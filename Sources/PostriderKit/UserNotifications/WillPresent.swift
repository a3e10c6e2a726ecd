import Dispatch
import FoundationEssentials
import PostriderCourier
import PostriderNotifications
import PostriderTransport
import Synchronization

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
    /// It is shown, and stays in the desktop's list: ``banner`` and ``list``.
    public static let alert = NotificationPresentationOptions(rawValue: 4)
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
    var decidesPresentation: Bool {
        state.withLock { $0.decidePresentation != nil || $0.delegate.object != nil }
    }

    /// The agent asks, from the link's thread.
    func asked(_ question: WillPresent) {
        queue.async { [self] in
            let (decide, delegate, mailbox) = state.withLock {
                ($0.decidePresentation, $0.delegate.object, $0.mailbox)
            }
            if let decide { return answer(question, decide(question.subject.notification), mailbox) }
            guard let delegate else { return }
            let notification = question.subject.userNotification(identifier: question.identifier, at: nil)
            Task { [self] in
                let options = await delegate.userNotificationCenter(
                    UserNotificationCenter(self), willPresent: notification)
                answer(question, options, mailbox)
            }
        }
    }

    private func answer(
        _ question: WillPresent, _ options: NotificationPresentationOptions, _ mailbox: Mailbox<LinkCommand>?
    ) {
        let bits = options.contains(.alert) ? options.union([.banner, .list]) : options
        let presentation = Presentation(
            question: question.question, options: PresentationOptions(rawValue: bits.rawValue))
        mailbox?.postEvenIfFull(.presented(presentation))
    }
}
