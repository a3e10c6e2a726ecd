import PostriderAgent
import PostriderNotifications
import Synchronization
import Testing

@testable import PostriderCommands
@testable import postrider
@testable import postrider_agent

@Suite("The start of an agent whose disk has no room")
struct PatientStartTests {
    private final class Told: Sendable {
        let lines = Mutex<[String]>([])
        var log: Log { Log { [self] _, line in lines.withLock { $0.append(line) } } }
    }

    private let told = Told()
    private static let full = StoreError(
        .full, "No room is left for /state/agent.sqlite: free space on its disk.")

    @Test("is tried again until something else stands in its way, and told of once", .bug(id: "A1"))
    func attempts() async throws {
        let attempts = Mutex(0)
        let start = PatientStart(log: told.log, pause: .zero) {
            let attempt = attempts.withLock {
                $0 += 1
                return $0
            }
            throw attempt < 5 ? Self.full : StoreError(.unusable, "It is damaged.")
        }
        let failure = await #expect(throws: StoreError.self) { try await start.agent() }
        #expect(failure?.kind == .unusable && attempts.withLock { $0 } == 5 && !start.hasStarted)
        let lines = told.lines.withLock { $0 }
        #expect(lines.count == 1)
        #expect(lines.first?.hasPrefix("the agent is not started for now, and tries again every ") == true)
        #expect(lines.first?.hasSuffix(": \(Self.full)") == true)
    }

    @Test("is given up at once when somebody ends the agent", .bug(id: "A1"))
    func end() async throws {
        let (waiting, isWaiting) = AsyncStream<Void>.makeStream()
        let start = PatientStart(log: told.log, pause: .seconds(3600), isWaiting: { isWaiting.yield() }) {
            throw Self.full
        }
        for await _ in waiting { break }
        start.giveUp()
        #expect(try await start.agent() == nil)
    }
}
