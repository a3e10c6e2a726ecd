import PostriderNotifications
import Synchronization

/// Which notifications the observers of an application are handling, and with which outcome. Notifications are posted
/// on the application's queue; their handlings may end on any thread.
final class HandlingTable: Sendable {
    private struct State {
        /// The handlings that the agent waits for, by number.
        var handlings: [UInt64: Handling] = [:]
        var lastNumber: UInt64 = 0
        /// The handling whose notification is being posted.
        var posted: Handling?
        /// Notifications that failed or were returned to the agent. Observers that are gone do not count for them.
        var givenBack: Set<NotificationIdentity> = []
        var isStopped = false
        /// Whether nothing is posted any more, and whether ``whenIdle`` was called.
        var isLeaving = false
        var isIdle = false
    }

    private let state = Mutex(State())
    private let whenIdle: @Sendable () -> Void

    /// - Parameter whenIdle: called once after ``leave()``, when no observer handles anything any more.
    init(whenIdle: @escaping @Sendable () -> Void) { self.whenIdle = whenIdle }

    /// The handling in which the caller takes part, or whose notification is being posted.
    var current: Handling? { Handling.current ?? state.withLock { $0.posted } }

    /// Posts a notification whose handling the agent waits for.
    ///
    /// - Parameters:
    ///   - whenOver: called once with the outcome.
    ///   - post: gives the notification to the observers; returns their number, and whether loops have observed
    ///     notifications of this name.
    func deliver(
        whenOver: @escaping @Sendable (Handling.Outcome) -> Void,
        _ post: (Handling) -> (observers: Int, hadLoops: Bool)
    ) {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        let handling = Handling { [weak self] outcome in
            whenOver(outcome)
            self?.closed(number)
        }
        // What is in the table when the application is stopped is withdrawn; nothing comes into it after that.
        let isStopped = state.withLock { state in
            guard !state.isStopped else { return true }
            state.handlings[number] = handling
            state.posted = handling
            return false
        }
        guard !isStopped else { return whenOver(.withdrawn) }
        let (observers, hadLoops) = Handling.$current.withValue(handling) { post(handling) }
        state.withLock { $0.posted = nil }
        if observers == 0, hadLoops {
            // If all loops over the notification have ended, it counts as not taken; an absent observer does not make
            // it handled.
            handling.share()?.finish(.notTaken)
        }
        handling.posted(to: observers)
    }

    /// Returns the message to the agent about a notification; nil for none, in which case the agent hands it over
    /// again the next time.
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

    /// Returns the notifications that no observer has begun to handle to the agent, and takes no others.
    func stop() {
        let handlings = state.withLock { state in
            state.isStopped = true
            return Array(state.handlings.values)
        }
        for handling in handlings { handling.withdraw() }
    }

    /// Nothing is posted from now on.
    func leave() {
        state.withLock { $0.isLeaving = true }
        tellIfIdle()
    }

    private func closed(_ number: UInt64) {
        let handling = state.withLock { $0.handlings.removeValue(forKey: number) }
        withExtendedLifetime(handling) {}
        tellIfIdle()
    }

    private func tellIfIdle() {
        let isIdle = state.withLock { state in
            guard state.isLeaving, state.handlings.isEmpty, !state.isIdle else { return false }
            state.isIdle = true
            return true
        }
        if isIdle { whenIdle() }
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
