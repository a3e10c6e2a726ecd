import Glibc
import Testing

@testable import PostriderSystem
@testable import PostriderTransport

@Suite("A thread")
struct ThreadTests {
    private struct Observed: Equatable {
        var slice: UInt64?
        var niceness: Int32
    }

    /// Runs an action on a new thread and returns what the thread then finds about itself.
    private func onThread(after action: @escaping @Sendable () -> Void) async throws -> Observed {
        try await withCheckedThrowingContinuation { continuation in
            do {
                _ = try Thread.spawn(name: "test") {
                    action()
                    let niceness = getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0)
                    continuation.resume(returning: Observed(slice: Thread.slice, niceness: niceness))
                }
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }

    @Test(
        "that takes short slices has slices of 0.1 ms",
        .enabled(if: Thread.slice != nil, "Linux has this from 6.12 on"))
    func shortSlices() async throws {
        let before = try await onThread {}
        let after = try await onThread { Thread.takeShortSlices() }
        #expect(before.slice.map { $0 > 100_000 } == true)
        #expect(after == Observed(slice: 100_000, niceness: before.niceness))
    }

    @Test("that stepped back stays back when it takes short slices")
    func staysBack() async throws {
        let after = try await onThread {
            Thread.stepBack()
            Thread.takeShortSlices()
        }
        #expect(after.niceness == 10)
    }
}
