import PostriderCommands
import PostriderSystem
import PostriderTransport
import Synchronization

/// What happens to `postrider dev --nodes`: the user asks for the end, or one of its programs has ended.
final class DevEvents: Sendable {
    enum Event: Sendable, Equatable {
        case asked
        case ended(String, ProcessEnding)
    }

    /// All events, in their order. One task may read them.
    let all: AsyncStream<Event>
    private let continuation: AsyncStream<Event>.Continuation
    private let first = Mutex<Event?>(nil)

    init() { (all, continuation) = AsyncStream.makeStream() }

    func add(_ event: Event) {
        first.withLock { if $0 == nil { $0 = event } }
        continuation.yield(event)
    }

    /// Adds an event for each signal that asks for the end.
    func follow(_ requests: AsyncStream<Termination.Request>) {
        Task { [self] in
            for await request in requests where request == .end { add(.asked) }
        }
    }

    /// Waits until a condition holds, and looks at it ten times a second.
    ///
    /// - Throws: ``CommandFailure`` if something happens before, or if it takes too long.
    func wait(
        for what: String, seconds: Int, until condition: () async throws -> Bool
    ) async throws {
        for _ in 0..<10 * seconds {
            switch first.withLock({ $0 }) {
            case .asked?: throw CommandFailure("Ended before \(what).")
            case .ended(let name, let ending)?:
                throw CommandFailure("\(name) \(ending) before \(what); what it said stands above.")
            case nil: break
            }
            if try await condition() { return }
            try await Task.sleep(for: .milliseconds(100))
        }
        throw CommandFailure(
            "It takes longer than \(seconds) s until \(what): see what stands above, and whether this "
                + "machine is busy.")
    }
}
