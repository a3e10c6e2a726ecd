import PostriderNotifications
import PostriderTransport
import Synchronization

// What observers are at work on, and what came of it. On the application's queue, but for the ends of handlings, which
// come from anywhere.
extension Application {
    /// Posts something that somebody waits for until every observer has finished.
    ///
    /// - Parameter payload: the bytes of a push.
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
        state.withLock { state in
            state.handlings[number] = handling
            state.posted = handling
        }
        let posted = DispatchedNotification(
            notification, sender: self, payload: payload, handling: handling)
        let observers = Handling.$current.withValue(handling) { dispatcher.deliver(posted) }
        state.withLock { $0.posted = nil }
        if observers == 0, dispatcher.hasHadAsynchronousObserver(of: posted.name) {
            // What an app has stopped to iterate over is not handled by nobody's observing it.
            handling.share()?.finish(.notTaken)
        }
        handling.posted(to: observers)
    }

    /// What the agent is told of a notification; nil: nothing, so that it is handed over again the next time.
    func answer(to outcome: Handling.Outcome, of identity: NotificationIdentity) -> LinkCommand? {
        state.withLock { state in
            let wasGivenBack = state.givenBack.remove(identity) != nil
            let letter: LinkCommand? =
                switch outcome {
                case .unobserved where wasGivenBack: .failed(identity, reason: LinkCommand.nobody)
                default: LinkCommand(outcome, of: identity)
                }
            if case .failed = letter {
                if state.givenBack.count >= Limits.givenBackPerApp { state.givenBack.removeFirst() }
                state.givenBack.insert(identity)
            }
            return letter
        }
    }

    /// What observers have not begun goes back to the agent.
    func withdraw() {
        for handling in state.withLock({ Array($0.handlings.values) }) { handling.withdraw() }
    }

    /// Nothing is posted from now on. The link ends when observers have finished what they are at work on.
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
    /// Why a notification is given back that nobody handles any more.
    fileprivate static let nobody = "No part of the app observes this any more."

    /// What the agent is told of a notification; nil: nothing.
    init?(_ outcome: Handling.Outcome, of identity: NotificationIdentity) {
        switch outcome {
        case .handled, .unobserved: self = .observed(identity)
        case .failed(let reason):
            // The agent keeps no more, and takes no message that is very long.
            let kept = String(decoding: reason.utf8.prefix(Limits.reasonBytes), as: UTF8.self)
            self = .failed(identity, reason: kept)
        case .notTaken: self = .failed(identity, reason: Self.nobody)
        case .withdrawn: return nil
        }
    }
}
