import Synchronization

/// A count-down latch: one task waits until a number of threads have counted down.
final class CountDownLatch: Sendable {
    private let state: Mutex<(left: Int, waiting: CheckedContinuation<Void, Never>?)>

    init(from count: Int) { state = Mutex((count, nil)) }

    /// Counts down by one.
    func countDown() {
        let waiting = state.withLock { state in
            state.left -= 1
            precondition(state.left >= 0, "each counts down once")
            guard state.left == 0 else { return nil as CheckedContinuation<Void, Never>? }
            defer { state.waiting = nil }
            return state.waiting
        }
        waiting?.resume()
    }

    /// Returns when the count is zero. One task may wait.
    func reachesZero() async {
        await withCheckedContinuation { continuation in
            let isReached = state.withLock { state in
                guard state.left > 0 else { return true }
                precondition(state.waiting == nil, "one task waits")
                state.waiting = continuation
                return false
            }
            if isReached { continuation.resume() }
        }
    }
}
