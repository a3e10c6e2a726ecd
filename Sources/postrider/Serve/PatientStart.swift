import PostriderAgent
import PostriderNotifications
import Synchronization

/// Starts an agent, again and again while its disk has no room or fails: a device has nobody who would start it later.
final class PatientStart: Sendable {
    private let attempts: Task<Agent, any Error>
    private let started = Atomic(false)

    /// Between two attempts. Little is lost by waiting for so long.
    static let pause = Duration.seconds(5)

    /// - Parameter isWaiting: is told before each pause.
    init(
        log: Log, pause: Duration = PatientStart.pause, isWaiting: @escaping @Sendable () -> Void = {},
        _ start: @escaping @Sendable () async throws -> Agent
    ) {
        attempts = Task {
            var hasFailed = false
            while true {
                do {
                    let agent = try await start()
                    if hasFailed { log.notice("the agent's state can be opened again") }
                    return agent
                } catch let error as StoreError where Self.mayPass(error) {
                    if !hasFailed {
                        log.error(
                            "the agent is not started for now, and tries again every \(pause): \(error)")
                    }
                    hasFailed = true
                    isWaiting()
                    try await Task.sleep(for: pause)
                }
            }
        }
    }

    private static func mayPass(_ error: StoreError) -> Bool {
        switch error.kind {
        case .full, .inputOutput: true
        case .busy, .unusable, .conflict: false
        }
    }

    /// Whether the agent runs.
    var hasStarted: Bool { started.load(ordering: .acquiring) }

    /// The agent, once it runs; nil if it was not to be started any more.
    func agent() async throws -> Agent? {
        do {
            let agent = try await attempts.value
            started.store(true, ordering: .releasing)
            return agent
        } catch is CancellationError {
            return nil
        }
    }

    /// Gives up, unless the agent runs already.
    func giveUp() { attempts.cancel() }
}
