import PostriderNotifications
import PostriderTransport
import Synchronization

// Which notifications the observers are handling, and with which outcome. This runs on the application's queue,
// except for the ends of handlings, which may be reported on any thread.
extension Application {
    /// Posts a notification whose handling the agent waits for.
    ///
    /// - Parameter payload: the bytes of a push; nil for other notifications.
    func deliver(
        _ notification: some TypedNotification, payload: [UInt8]? = nil,
        whenOver: @escaping @Sendable (Handling.Outcome) -> Void
    ) {
        let number = state.withLock { state in
            state.lastTicket += 1
            return state.lastTicket
        }
        let handling = Handling { [weak self] outcome in
            whenOver(outcome)
            self?.closed(number)
        }
        // What is in the list when the application is stopped is withdrawn; nothing comes into it after that.
        let isStopped = state.withLock { state in
            guard !state.isStopped else { return true }
            state.handlings[number] = handling
            state.posted = handling
            return false
        }
        guard !isStopped else { return whenOver(.withdrawn) }
        let posted = DispatchedNotification(
            notification, sender: self, payload: payload, handling: handling)
        let observers = Handling.$current.withValue(handling) { dispatcher.deliver(posted) }
        state.withLock { $0.posted = nil }
        if observers == 0, dispatcher.hasHadAsynchronousObserver(of: posted.name) {
            // If all loops over the notification have ended, it counts as not taken; an absent observer does not make
            // it handled.
            handling.share()?.finish(.notTaken)
        }
        handling.posted(to: observers)
    }

    /// The message to the agent about a notification; nil for none, in which case the agent hands it over again the
    /// next time.
    func answer(to outcome: Handling.Outcome, of identity: NotificationIdentity) -> LinkCommand? {
        state.withLock { state in
            let wasGivenBack = state.givenBack.remove(identity) != nil
            let message: LinkCommand? =
                switch outcome {
                case .unobserved where wasGivenBack: .failed(identity, reason: LinkCommand.nobody)
                default: LinkCommand(outcome, of: identity)
                }
            if case .failed = message {
                if state.givenBack.count >= Limits.givenBackPerApp { state.givenBack.removeFirst() }
                state.givenBack.insert(identity)
            }
            return message
        }
    }

    /// Returns the notifications that no observer has begun to handle to the agent.
    func withdraw() {
        for handling in state.withLock({ Array($0.handlings.values) }) { handling.withdraw() }
    }

    /// Posts nothing from now on. The link ends when observers have finished what they are handling.
    func leave() {
        withdraw()
        state.withLock { $0.isLeaving = true }
        dispatcher.ended(self)
        endLinkIfIdle()
    }

    private func closed(_ number: UInt64) {
        let handling = state.withLock { $0.handlings.removeValue(forKey: number) }
        withExtendedLifetime(handling) {}
        endLinkIfIdle()
    }

    private func endLinkIfIdle() {
        let mailbox = state.withLock { state in
            guard state.isLeaving, state.handlings.isEmpty, !state.isLinkEnding else {
                return nil as Mailbox<LinkCommand>?
            }
            state.isLinkEnding = true
            return state.mailbox
        }
        mailbox?.postEvenIfFull(.stop)
    }
}

extension LinkCommand {
    /// The reason for returning a notification that no observer handles any more.
    fileprivate static let nobody = "No part of the app observes this any more."

    /// The message to the agent about a notification; nil for none.
    init?(_ outcome: Handling.Outcome, of identity: NotificationIdentity) {
        switch outcome {
        case .handled, .unobserved: self = .observed(identity)
        case .failed(let reason):
            // The agent keeps no more of a reason, and refuses very long messages.
            let kept = String(decoding: reason.utf8.prefix(Limits.reasonBytes), as: UTF8.self)
            self = .failed(identity, reason: kept)
        case .notTaken: self = .failed(identity, reason: Self.nobody)
        case .withdrawn: return nil
        }
    }
}
