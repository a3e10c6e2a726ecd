import PostriderTransport
import Testing

@testable import PostriderLoad

@Suite("A load run", .timeLimit(.minutes(10)))
struct LoadRunTests {
    /// Sends 100 pushes to 5 devices at a fixed rate, so that no push waits for a missing one.
    ///
    /// - Parameter milliseconds: the wait for missing pushes; long enough for a busy machine.
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
        // The seconds contain every push once, in its phase.
        func sum(_ name: String, _ rate: (LoadResult.Second) -> Double) -> Double {
            result.timeline.filter { $0.phase == name }.reduce(0) { $0 + rate($1) * ($1.seconds ?? 0) }
        }
        #expect(sum("push", \.accepted).rounded() == 100)
        #expect((sum("push", \.delivered) + sum("drain", \.delivered)).rounded() == 100)
        #expect(sum("connect", \.connections).rounded() == Double(result.phases[0].connections))
    }

    @Test("knows a run in which nothing was accepted from one that pushed nothing")
    func nothing() async throws {
        let accepted = try await run { _ in .none }
        let pushing = LoadScenario.push.plan(.init())
        #expect(accepted.futility(of: pushing) == nil)
        var idle = accepted
        for index in idle.phases.indices { (idle.phases[index].sent, idle.phases[index].accepted) = (0, 0) }
        #expect(idle.futility(of: LoadScenario.idle.plan(.init())) == nil)
        #expect(idle.futility(of: pushing)?.contains("Nothing was pushed: no device") == true)
        var ended = accepted
        for index in ended.phases.indices { ended.phases[index].accepted = 0 }
        (ended.phases[0].sent, ended.phases[0].unanswered) = (7, 2)
        ended.phases[1].sent = 0
        ended.phases[0].refused = ["BadTopic": 1, "BadDeviceToken": 4]
        #expect(
            ended.futility(of: pushing)
                == "Nothing was accepted: 5 of 7 pushes were refused, most of them with: BadDeviceToken; "
                + "2 had no answer.")
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

    /// Makes a plan with five devices, one provider and these steps.
    private func plan(_ actions: [LoadPlan.Action]) -> LoadPlan {
        var plan = LoadPlan(
            name: "test", steps: actions.map { LoadPlan.Step($0, phase: "run") }, mainPhase: "run")
        plan.fleet.devices = 5
        plan.fleet.providers = 1
        return plan
    }

    private func traffic(
        _ pace: LoadPlan.Traffic.Pace, count: Int? = nil, isStored: Bool = true
    ) -> LoadPlan.Traffic {
        var traffic = LoadPlan.Traffic()
        (traffic.pace, traffic.count, traffic.isStored) = (pace, count, isStored)
        return traffic
    }

    @Test("pushes to devices that come after the pushes were to begin")
    func early() async throws {
        let steps: [LoadPlan.Action] = [
            .start(traffic(.inFlight(4), count: 50)), .connect(percent: 100), .drain(milliseconds: 60_000),
        ]
        let result = try await FaultyServer.run { try await LoadRun(plan(steps), on: $0).run() }
        let phase = try #require(result.phases.first)
        #expect(phase.sent == 50 && phase.accepted == 50 && phase.delivered == 50)
        #expect(result.verdict.isClean)
    }

    @Test("drains when as many pushes as were to be made are made, though nothing is under way meanwhile")
    func counted() async throws {
        let steps: [LoadPlan.Action] = [
            .connect(percent: 100), .start(traffic(.perSecond(20), count: 10)), .drain(milliseconds: 60_000),
        ]
        let result = try await FaultyServer.run { try await LoadRun(plan(steps), on: $0).run() }
        #expect(result.phases.first?.delivered == 10)
    }

    @Test("counts what was due and had not left when the pushes were told to end")
    func backlog() async throws {
        let steps: [LoadPlan.Action] = [
            .connect(percent: 100), .push(traffic(.perSecond(5_000_000)), milliseconds: 200),
        ]
        let result = try await FaultyServer.run { try await LoadRun(plan(steps), on: $0).run() }
        #expect(try #require(LoadMetrics(result)["backlog"]?.value) > 0)
    }

    @Test("does not wait for what was now or never, and its device cut")
    func fleeting() async throws {
        let pushes = traffic(.inFlight(2), count: 50, isStored: false)
        let steps: [LoadPlan.Action] = [
            .connect(percent: 100), .start(pushes), .hold(milliseconds: 1000), .storm(percent: 100),
            .drain(milliseconds: 60_000),
        ]
        let result = try await FaultyServer.run({ $0 < 2 ? .lose : .none }) {
            try await LoadRun(plan(steps), on: $0).run()
        }
        // Two pushes may be under way, and the first two are lost: later pushes take their places.
        let phase = try #require(result.phases.first)
        #expect(phase.sent == 50 && phase.accepted == 50 && phase.delivered <= 48)
        #expect(result.verdict.lost == 0)
        #expect(phase.accepted == phase.delivered + UInt64(result.verdict.excused ?? 0))
    }

    /// Returns the sentence with which a run fails.
    /// - Parameter patience: milliseconds; more if the failure comes after a handshake, on a busy machine.
    private func failure(
        _ steps: [LoadPlan.Action], terms: FaultyServer.Terms = .init(), patience: Int = 500,
        _ change: (inout LoadTarget) throws -> Void = { _ in }
    ) async throws -> String {
        try await FaultyServer.run(terms: terms) { target in
            var target = target
            try change(&target)
            let run = LoadRun(plan(steps), on: target)
            (run.answerMilliseconds, run.patienceMilliseconds) = (500, patience)
            let failure = await #expect(throws: LoadFailure.self) { try await run.run() }
            return failure?.description ?? ""
        }
    }

    @Test(
        "allows a copy over the link after one that was cut, and none after a goodbye",
        arguments: [(false, 0, 2), (true, 2, 0)])
    func copies(isOrderly: Bool, doubled: UInt64, repeated: UInt64) async throws {
        let steps: [LoadPlan.Action] = [
            .connect(percent: 100), .push(traffic(.inFlight(4), count: 20), milliseconds: nil),
            .drain(milliseconds: 60_000), .disconnect(percent: 100, isOrderly: isOrderly),
            .connect(percent: 100), .hold(milliseconds: 2000),
        ]
        let result = try await FaultyServer.run({ $0 % 10 == 0 ? .again : .none }) {
            try await LoadRun(plan(steps), on: $0).run()
        }
        #expect(result.verdict.doubled == doubled && result.verdict.repeated == repeated)
    }

    @Test("finds each broadcast that did not come to a device, or came to it twice")
    func broadcasts() async throws {
        let steps: [LoadPlan.Action] = [
            .connect(percent: 100), .broadcast(count: 20, perSecond: 1000, payloadBytes: 100),
        ]
        let start = ContinuousClock.now
        let result = try await FaultyServer.run({ $0 < 2 ? .lose : $0 < 5 ? .double : .none }) {
            let run = LoadRun(plan(steps), on: $0)
            run.answerMilliseconds = 15_000
            return try await run.run()
        }
        // The time of a vain wait does not belong to the phase.
        let whole = Double((ContinuousClock.now - start).components.seconds + 1)
        #expect(try #require(result.phases.first).seconds <= whole - 15)
        #expect(result.verdict.lost == 2 && result.verdict.doubled == 3 && result.verdict.strayed == 0)
        #expect(result.phases.first?.broadcasts == 20 && result.phases.first?.broadcastsDelivered == 98)
    }

    @Test("ends with a sentence where the pushes get nowhere")
    func stalled() async throws {
        let steps: [LoadPlan.Action] = [
            .hold(milliseconds: 3000), .push(traffic(.inFlight(4), count: 50), milliseconds: nil),
        ]
        let sentence = try await failure(steps)
        #expect(sentence.contains("no push was sent, answered or delivered"), "\(sentence)")
    }

    @Test("ends with a sentence where the server was gone in the end")
    func gone() async throws {
        let steps: [LoadPlan.Action] = [
            .connect(percent: 100), .push(traffic(.inFlight(1)), milliseconds: 2000),
        ]
        let sentence = try await failure(steps, terms: .init(answers: 1), patience: 60_000)
        #expect(sentence.contains("no connection to the provider port"), "\(sentence)")
    }

    @Test("ends with a sentence where the provider port says nothing")
    func silence() async throws {
        let loop = try EventLoop()
        let listener = try loop.listen(SocketAddress("127.0.0.1:0")) { _ in nil }
        let sentence = try await failure([.push(traffic(.inFlight(4)), milliseconds: 100)]) {
            $0.provider = .address(listener.address)
        }
        #expect(sentence.contains("no connection to the provider port"), "\(sentence)")
    }

    @Test("ends with a sentence as soon as it is clear that no device can connect")
    func refused() async throws {
        let steps: [LoadPlan.Action] = [.hold(milliseconds: 1000), .connect(percent: 100)]
        let sentence = try await failure(steps, patience: 60_000) {
            $0.devices?.address = try SocketAddress("127.0.0.1:1")
        }
        #expect(sentence.contains("Devices cannot connect to 127.0.0.1:1: refused"), "\(sentence)")
    }

    @Test(
        "takes a welcome that no device can keep to for a mistake of the server, and says which",
        arguments: [
            (0, 64, "A keepalive of 0 seconds"), (60, 0, "A window of 0"), (60, 65, "A window of 65"),
        ])
    func welcome(keepalive: UInt32, window: UInt32, words: String) async throws {
        let sentence = try await failure(
            [.connect(percent: 100)], terms: .init(keepalive: keepalive, window: window), patience: 10_000)
        #expect(sentence.contains("0 of 5 devices are connected"), "\(sentence)")
        #expect(sentence.contains("mostly: the peer broke the protocol: \(words)"), "\(sentence)")
        #expect(!sentence.contains(".."), "\(sentence)")
    }

    @Test("has a device that is not enrolled for now try again")
    func enrolments() async throws {
        let result = try await FaultyServer.run(terms: .init(refusals: 2)) {
            try await LoadRun(plan([.connect(percent: 100)]), on: $0).run()
        }
        let phase = try #require(result.phases.first)
        #expect(phase.enrolments == 5)
        #expect(phase.failures == ["enrolment: unavailable": 2] && phase.lostLinks.isEmpty)
    }

    @Test("tells a provider's connection that the server ended from one that never was")
    func providers() async throws {
        let steps: [LoadPlan.Action] = [
            .connect(percent: 100), .push(traffic(.inFlight(1), count: 20), milliseconds: nil),
        ]
        let result = try await FaultyServer.run({ $0 == 9 ? .hangUp : .none }) {
            try await LoadRun(plan(steps), on: $0).run()
        }
        let phase = try #require(result.phases.first)
        #expect(phase.lostLinks.values.reduce(0, +) == 1 && phase.failures.isEmpty, "\(phase)")
        #expect(phase.sent == 20 && result.verdict.isClean)
        // A provider does not know whether a push without an answer was accepted: it may have arrived.
        let arrivals = UInt64(try #require(result.verdict.unansweredArrivals))
        #expect(phase.accepted + arrivals == phase.delivered && arrivals <= phase.unanswered)
    }

    @Test("keeps what was left behind in a phase that comes again")
    func returning() async throws {
        var plan = plan([.connect(percent: 100), .push(traffic(.perSecond(5_000_000)), milliseconds: 200)])
        plan.steps += [.init(.hold(milliseconds: 10), phase: "pause"), .init(.stop, phase: "run")]
        let result = try await FaultyServer.run { try await LoadRun(plan, on: $0).run() }
        #expect(try #require(LoadMetrics(result)["backlog"]?.value) > 0)
    }

    @Test("takes nothing, and says nothing, once a device has said goodbye")
    func goodbye() async throws {
        let result = try await run(waiting: 2000, leaving: true) { $0 % 50 == 0 ? .linger : .none }
        #expect(result.verdict.lost == 2)
        #expect(result.verdict.doubled == 0)
    }
}
