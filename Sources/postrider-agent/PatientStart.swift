import PostriderAgent
import PostriderCommands
import PostriderNotifications
import Synchronization

/// Starts an agent, and tries again while its disk is full or fails, because nobody would start a device's agent
/// later.
final class PatientStart: Sendable {
    private let attempts: Task<Agent, any Error>
    private let started = Atomic(false)

    /// The pause between two attempts.
    static let pause = Duration.seconds(5)

    /// - Parameter isWaiting: called before each pause.
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
        case .busy, .unusable, .conflict, .unreachable, .fenced, .misplaced, .usedUp: false
        }
    }

    /// Whether the agent runs.
    var hasStarted: Bool { started.load(ordering: .acquiring) }

    /// Returns the agent when it runs; nil if starting was given up.
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
