import Load
import Testing

@Suite("A load run", .timeLimit(.minutes(10)))
struct LoadRunTests {
    /// 100 pushes to 5 devices, open loop, so that nobody waits for what does not come.
    ///
    /// - Parameter milliseconds: how long it is waited for; long enough for a busy machine.
    private func run(
        waiting milliseconds: Int = 60_000, leaving: Bool = false,
        _ fault: @escaping @Sendable (Int) -> FaultyServer.Fault
    ) async throws -> LoadResult {
        var settings = LoadScenario.Settings()
        settings.devices = 5
        settings.count = 100
        settings.perSecond = 5000
        settings.warmUpMilliseconds = 0
        var plan = LoadScenario.push.plan(settings)
        plan.steps.removeLast()
        if leaving { plan.steps.append(.init(.disconnect(percent: 100, isOrderly: true))) }
        plan.steps.append(.init(.drain(milliseconds: milliseconds), phase: "drain"))
        return try await FaultyServer.run(fault) { target in try await LoadRun(plan, on: target).run() }
    }

    @Test("finds nothing wrong where nothing is")
    func clean() async throws {
        let result = try await run { _ in .none }
        #expect(result.verdict.isClean)
        let push = try #require(result.phases.first { $0.name == "push" })
        #expect(push.sent == 100 && push.accepted == 100 && push.delivered == 100)
        #expect(push.acceptance?.count == 100 && push.delivery?.count == 100)
    }

    @Test("finds each push that was lost, and names it")
    func lost() async throws {
        let result = try await run(waiting: 2000) { $0 == 10 || $0 == 20 || $0 == 99 ? .lose : .none }
        #expect(result.verdict.lost == 3)
        #expect(result.verdict.lostIdentities.count == 3)
        #expect(result.verdict.doubled == 0)
        #expect(LoadMetrics(result)["lost"]?.value == 3)
    }

    @Test("finds each push that came twice")
    func doubled() async throws {
        let result = try await run { $0 % 50 == 0 ? .double : .none }
        #expect(result.verdict.doubled == 2)
        #expect(result.verdict.lost == 0)
    }

    @Test("finds each push that came to the wrong device: it strayed, and is lost where it belongs")
    func strayed() async throws {
        let result = try await run(waiting: 2000) { $0 == 7 ? .misdeliver : .none }
        #expect(result.verdict.strayed == 1)
        #expect(result.verdict.lost == 1)
    }

    @Test("finds each payload that was changed")
    func altered() async throws {
        let result = try await run { $0 < 4 ? .alter : .none }
        #expect(result.verdict.altered == 4)
        #expect(!result.verdict.isClean)
    }

    @Test("takes nothing, and says nothing, once a device has said goodbye")
    func goodbye() async throws {
        let result = try await run(waiting: 2000, leaving: true) { $0 % 50 == 0 ? .linger : .none }
        #expect(result.verdict.lost == 2)
        #expect(result.verdict.doubled == 0)
    }
}
