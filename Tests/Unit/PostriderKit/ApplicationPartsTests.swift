import PostriderCourier
import PostriderNotifications
import Synchronization
import Testing

@testable import PostriderKit

@Suite("The parts of an application")
struct ApplicationPartsTests {
    private static let token = String(repeating: "ab", count: 32)

    @Test("A device token that is known is no news, and the link is told once of several wishes")
    func registration() async throws {
        let registration = TokenRegistration()
        #expect(registration.wish(true))
        #expect(!registration.wish(false))
        #expect(!registration.takeWish())
        #expect(registration.wish(true))
        #expect(registration.registered(Self.token)?.deviceToken == Self.token)
        #expect(registration.registered(Self.token) == nil)
        #expect(try await registration.untilRegistered() == Self.token)
        #expect(registration.failed("No.").reason == "No.")
        #expect(registration.deviceToken == nil)
    }

    @Test("Nobody waits for the device token of an application that was stopped")
    func stoppedRegistration() async {
        let registration = TokenRegistration()
        let waiting = Task { try await registration.untilRegistered() }
        registration.stop()
        await #expect(throws: ApplicationError.stopped) { try await waiting.value }
        await #expect(throws: ApplicationError.stopped) { try await registration.untilRegistered() }
    }

    @Test("A call is sent once on each stream until it is answered, and fails if its task was cancelled")
    func calls() async throws {
        let calls = CenterCalls(of: "com.example.one")
        let results = Mutex<[Int]>([])
        #expect(
            try calls.make(.categories) { result in
                results.withLock { $0.append((try? result.get().count) ?? -1) }
            })
        #expect(try !calls.make(.categories) { _ in })
        let first = calls.take(onNewStream: false)
        #expect(first.count == 2)
        #expect(calls.take(onNewStream: false).isEmpty)
        #expect(calls.take(onNewStream: true).map(\.call) == first.map(\.call))
        calls.answered(CenterAnswer(call: first[0].call, content: .done))
        #expect(results.withLock { $0 } == [1])
        #expect(calls.take(onNewStream: true).map(\.call) == [first[1].call])

        let cancelled = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await calls.make(.categories) {}
        }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        #expect(calls.take(onNewStream: true).map(\.call) == [first[1].call])
    }

    @Test("All calls fail after the end")
    func endedCalls() throws {
        let calls = CenterCalls(of: "com.example.one")
        let failures = Atomic(0)
        _ = try calls.make(.categories) { if case .failure = $0 { failures.add(1, ordering: .relaxed) } }
        calls.end(.stopped)
        #expect(failures.load(ordering: .relaxed) == 1)
        #expect(throws: ApplicationError.stopped) { try calls.make(.categories) { _ in } }
    }

    @Test("A channel that the application wants again outlives the answer to its older wish")
    func channels() throws {
        let wishes = RequestedSubscriptions()
        let channel = try #require(ChannelIdentity("AAAAAAAAAAAAAAAAAAAAAA=="))
        #expect(try wishes.set(channel, isWanted: false))
        #expect(try !wishes.set(channel, isWanted: true))
        #expect(wishes.take() == [channel: true])
        #expect(wishes.ended(Unsubscribed(channel: channel, reason: "")) == nil)
        #expect(wishes.ended(Unsubscribed(channel: channel, reason: "It was removed.")) != nil)
        #expect(wishes.take().isEmpty)
    }

    @Test("A person is told once that the agent is away, and observers when it is back")
    func agent() {
        let reports = DeviceReports()
        reports.agentIsTried()
        #expect(reports.agentConnection == .connecting)
        #expect(reports.agentAnswered() == nil)
        let (news, isComplaint) = reports.agentUnreachable("It is away.", isFault: true)
        #expect(news?.reason == "It is away." && isComplaint)
        let again = reports.agentUnreachable("It is away.", isFault: true)
        #expect(again.news == nil && !again.isComplaint)
        #expect(reports.agentAnswered() == AgentConnectionDidChange(reason: nil))
    }
}
