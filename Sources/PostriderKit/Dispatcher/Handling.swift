import Synchronization

/// The result of handling a notification, as in iOS's `fetchCompletionHandler`. The raw values are those of Apple's
/// `UIBackgroundFetchResult`.
public enum BackgroundFetchResult: UInt, CaseIterable, Sendable {
    /// The app has handled the notification and found new data.
    case newData = 0
    /// The app has handled the notification and found no new data.
    case noData = 1
    /// The app could not handle the notification; the agent hands it over again.
    case failed = 2

    /// How an observer's share ends with this result.
    var end: Handling.End { self == .failed ? .failed("The app said that it failed.") : .handled }
}

/// The handling of one notification by all of its observers. It ends when the post and every asynchronous observer
/// have finished, and then its outcome is reported once.
///
/// Each asynchronous observer gets a ``Share`` while the notification is posted. It begins its share when it starts to
/// handle the notification, and finishes it afterwards.
final class Handling: Sendable {
    /// The outcome of a handling.
    enum Outcome: Equatable {
        /// Every observer that began has handled the notification, and at least one did.
        case handled
        /// An observer has failed. The reason is one sentence.
        case failed(String)
        /// Asynchronous observers had a share, and all of them ended before their turn.
        case notTaken
        /// No observer observes the notification.
        case unobserved
        /// The application was stopped before an observer had handled the notification.
        case withdrawn
    }

    /// How a share ends.
    enum End: Equatable {
        /// The observer has handled the notification.
        case handled
        /// The observer has failed. The reason is one sentence.
        case failed(String)
        /// The observer ended in the middle of handling the notification.
        case interrupted
        /// The observer ended before its turn.
        case notTaken
    }

    /// One asynchronous observer's share in a handling.
    struct Share {
        fileprivate let handling: Handling
        fileprivate let index: Int

        /// Begins the share when the notification's turn has come. Returns false if the notification was withdrawn
        /// and must not be handled.
        func begin() -> Bool { handling.begin(index) }

        /// Ends the share. Only the first call counts.
        func finish(_ end: End) { handling.finish(index, end) }
    }

    private enum Phase { case waiting, working, finished }

    private struct State {
        /// The phases of the shares. The first is the post itself.
        var phases: [Phase] = [.working]
        var openCount = 1
        var isHandled = false
        var isInterrupted = false
        var isNotTaken = false
        var failure: String?
        var isWithdrawn = false

        var outcome: Outcome {
            if let failure { return .failed(failure) }
            if isInterrupted { return isWithdrawn ? .withdrawn : .failed(Handling.interruption) }
            if isHandled { return .handled }
            if isNotTaken { return isWithdrawn ? .withdrawn : .notTaken }
            return .unobserved
        }

        mutating func finish(_ index: Int, _ end: End) {
            guard phases[index] != .finished else { return }
            phases[index] = .finished
            openCount -= 1
            switch end {
            case .handled: isHandled = true
            case .failed(let reason): failure = failure ?? reason
            case .interrupted: isInterrupted = true
            case .notTaken: isNotTaken = true
            }
        }
    }

    /// The handling in which the current task or thread takes part.
    @TaskLocal static var current: Handling?

    private static let interruption = "The app stopped observing while it handled this."

    private let state = Mutex(State())
    private let whenOver: @Sendable (Outcome) -> Void

    /// - Parameter whenOver: called once with the outcome, on the thread that finishes last.
    init(whenOver: @escaping @Sendable (Outcome) -> Void) { self.whenOver = whenOver }

    /// Adds a share for an asynchronous observer; nil if the handling is over, or the notification was withdrawn and
    /// the observer must not get it.
    func share() -> Share? {
        state.withLock { state in
            guard state.openCount > 0 else { return nil }
            guard !state.isWithdrawn else {
                // The observer counts as one that ended before its turn.
                state.phases.append(.finished)
                state.isNotTaken = true
                return nil
            }
            state.phases.append(.waiting)
            state.openCount += 1
            return Share(handling: self, index: state.phases.count - 1)
        }
    }

    /// Records that an observer has failed, however its share ends.
    func fail(_ reason: String) { state.withLock { $0.failure = $0.failure ?? reason } }

    /// The post has returned. `observers` counts all observers that were called, including those with a share.
    func posted(to observers: Int) {
        change { state in
            if observers > state.phases.count - 1 { state.isHandled = true }
            guard state.phases[0] != .finished else { return }
            state.phases[0] = .finished
            state.openCount -= 1
        }
    }

    /// Withdraws the notification because the application is stopped: observers whose turn has not come do not get
    /// it.
    func withdraw() {
        change { state in
            state.isWithdrawn = true
            for index in state.phases.indices where state.phases[index] == .waiting {
                state.finish(index, .notTaken)
            }
        }
    }

    private func begin(_ index: Int) -> Bool {
        state.withLock { state in
            guard state.phases[index] == .waiting else { return false }
            state.phases[index] = .working
            return true
        }
    }

    private func finish(_ index: Int, _ end: End) { change { $0.finish(index, end) } }

    /// Changes the state, and reports the outcome if that ends the handling.
    private func change(_ body: (inout State) -> Void) {
        let outcome: Outcome? = state.withLock { state in
            let wasOpen = state.openCount > 0
            body(&state)
            return wasOpen && state.openCount == 0 ? state.outcome : nil
        }
        if let outcome { whenOver(outcome) }
    }
}
