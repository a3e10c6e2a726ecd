import PostriderNotifications
import Synchronization

/// Whether an application wants notifications, its device token, and the tasks that wait for the token. The
/// application changes it on any thread, and the link on its own.
final class TokenRegistration: Sendable {
    private struct State {
        /// Whether notifications are wanted, and whether the link has not been told yet.
        var isWanted = false
        var isWishPosted = false
        var deviceToken: String?
        /// The tasks that wait for the token, by number.
        var waiting: [UInt64: CheckedContinuation<String, any Error>] = [:]
        var lastNumber: UInt64 = 0
        var isStopped = false

        mutating func takeWaiting() -> [CheckedContinuation<String, any Error>] {
            defer { waiting = [:] }
            return Array(waiting.values)
        }
    }

    private let state = Mutex(State())

    /// The device token as 64 hexadecimal digits; nil if there is none.
    var deviceToken: String? { state.withLock { $0.deviceToken } }

    // MARK: Calls of the application, from any thread

    /// Sets whether notifications are wanted. Of several changes that the link has not seen, the last counts.
    ///
    /// - Returns: whether the link has to be told.
    func wish(_ isWanted: Bool) -> Bool {
        state.withLock { state in
            defer { state.isWishPosted = true }
            state.isWanted = isWanted
            if !isWanted { state.deviceToken = nil }
            return !state.isWishPosted
        }
    }

    /// Waits for the token.
    ///
    /// - Throws: ``ApplicationError``, or `CancellationError`.
    func untilRegistered() async throws -> String {
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in wait(number, continuation) }
        } onCancel: {
            let waiting = state.withLock { $0.waiting.removeValue(forKey: number) }
            waiting?.resume(throwing: CancellationError())
        }
    }

    private func wait(_ number: UInt64, _ continuation: CheckedContinuation<String, any Error>) {
        let answer: Result<String, any Error>? = state.withLock { state in
            if state.isStopped { return .failure(ApplicationError.stopped) }
            if let deviceToken = state.deviceToken { return .success(deviceToken) }
            if Task.isCancelled { return .failure(CancellationError()) }
            state.waiting[number] = continuation
            return nil
        }
        if let answer { continuation.resume(with: answer) }
    }

    /// Lets no task wait any more.
    func stop() {
        let waiting = state.withLock { state in
            state.isStopped = true
            return state.takeWaiting()
        }
        for continuation in waiting { continuation.resume(throwing: ApplicationError.stopped) }
    }

    // MARK: Calls of the link

    /// Returns whether notifications are wanted now.
    func takeWish() -> Bool {
        state.withLock { state in
            state.isWishPosted = false
            return state.isWanted
        }
    }

    /// The agent has sent the device token.
    ///
    /// - Returns: what is to be posted; nil if the token is known.
    func registered(_ deviceToken: String) -> DeviceTokenDidChange? {
        let (waiting, isNews) = state.withLock { state in
            defer { state.deviceToken = deviceToken }
            return (state.takeWaiting(), state.deviceToken != deviceToken)
        }
        for continuation in waiting { continuation.resume(returning: deviceToken) }
        return isNews ? DeviceTokenDidChange(deviceToken: deviceToken) : nil
    }

    /// The application has no device token, or none any more.
    ///
    /// - Returns: what is to be posted.
    func failed(_ reason: String) -> RegistrationDidFail {
        let waiting = state.withLock { state in
            state.deviceToken = nil
            return state.takeWaiting()
        }
        for continuation in waiting { continuation.resume(throwing: ApplicationError.refused(reason)) }
        return RegistrationDidFail(reason: reason)
    }

    /// The agent has confirmed an unregistration. A token may have arrived between the request and this.
    func unregistered() {
        state.withLock { if !$0.isWanted { $0.deviceToken = nil } }
    }
}
