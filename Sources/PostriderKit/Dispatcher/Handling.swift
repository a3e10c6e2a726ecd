import Synchronization

/// What an app made of a notification, as iOS's `fetchCompletionHandler` is told. Numbers as Apple's
/// `UIBackgroundFetchResult`.
public enum BackgroundFetchResult: UInt, CaseIterable, Sendable {
    /// The app has handled it, and there was something new.
    case newData = 0
    /// The app has handled it, and there was nothing new.
    case noData = 1
    /// The app could not handle it: the agent hands it over again.
    case failed = 2

    /// How a share in the handling ends with this result.
    var end: Handling.End { self == .failed ? .failed("The app said that it failed.") : .handled }
}

/// The handling of one notification by all its observers: it is over when the post and every asynchronous observer
/// have finished. Then, once, somebody is told what came of it.
///
/// An asynchronous observer takes a share while the notification is posted, begins it when the notification's turn
/// comes, and finishes it.
final class Handling: Sendable {
    /// What came of the handling.
    enum Outcome: Equatable {
        /// Every observer that began has handled it, and at least one did.
        case handled
        /// An observer has failed; the reason is one sentence.
        case failed(String)
        /// Asynchronous observers were going to have it, and all ended before their turn.
        case notTaken
        /// Nobody observes it.
        case unobserved
        /// The application was stopped before an observer had handled it.
        case withdrawn
    }

    /// How a share ends.
    enum End: Equatable {
        /// The observer has handled it.
        case handled
        /// The observer has failed; the reason is one sentence.
        case failed(String)
        /// The observer ended in the middle of handling it.
        case interrupted
        /// The observer ended before its turn.
        case notTaken
    }

    /// One asynchronous observer's part.
    struct Share {
        fileprivate let handling: Handling
        fileprivate let index: Int

        /// The notification's turn has come; false if it was withdrawn meanwhile, and is not to be handled any more.
        func begin() -> Bool { handling.begin(index) }

        /// The observer has finished. Only the first call counts.
        func finish(_ end: End) { handling.finish(index, end) }
    }

    private enum Phase { case waiting, working, finished }

    private struct State {
        /// The phases of the shares; the first is the post's own.
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

    /// What is being handled in the present task, or on the present thread.
    @TaskLocal static var current: Handling?

    private static let interruption = "The app stopped observing while it handled this."

    private let state = Mutex(State())
    private let whenOver: @Sendable (Outcome) -> Void

    /// - Parameter whenOver: told what came of it, once, by whoever finishes last.
    init(whenOver: @escaping @Sendable (Outcome) -> Void) { self.whenOver = whenOver }

    /// Takes a share for an asynchronous observer; nil if the handling is over.
    func share() -> Share? {
        state.withLock { state in
            guard state.openCount > 0, !state.isWithdrawn else { return nil }
            state.phases.append(.waiting)
            state.openCount += 1
            return Share(handling: self, index: state.phases.count - 1)
        }
    }

    /// An observer says that it failed, however its share ends.
    func fail(_ reason: String) { state.withLock { $0.failure = $0.failure ?? reason } }

    /// The post has returned, after so many observers were called, those with a share included.
    func posted(to observers: Int) {
        change { state in
            if observers > state.phases.count - 1 { state.isHandled = true }
            guard state.phases[0] != .finished else { return }
            state.phases[0] = .finished
            state.openCount -= 1
        }
    }

    /// The application is stopped: observers whose turn has not come do not have it any more.
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

    /// Changes the state, and says what came of the handling if that was the last change.
    private func change(_ body: (inout State) -> Void) {
        let outcome: Outcome? = state.withLock { state in
            let wasOpen = state.openCount > 0
            body(&state)
            return wasOpen && state.openCount == 0 ? state.outcome : nil
        }
        if let outcome { whenOver(outcome) }
    }
}
