import PostriderCourier
import PostriderNotifications
import PostriderSystem
import PostriderTransport
import Testing

@testable import PostriderAgent

@Suite("The handlers of topics")
struct HandlerProgramsTests {
    private static let topic = RecordedApp.topic

    private func fixture(_ handler: AppManifest.Handler = AppManifest.Handler()) throws -> RouterFixture {
        let fixture = try RouterFixture(manifests: [.handled(by: handler)])
        fixture.turn()
        return fixture
    }

    private func inbox(_ fixture: RouterFixture) throws -> Int {
        guard let record = fixture.state.apps[Self.topic] else { return 0 }
        return try fixture.state.inbox.count(of: record.number)
    }

    private func identities(_ fixture: RouterFixture) -> [UInt64] {
        fixture.recordedHandlers.runs.map(\.job.identity.low)
    }

    private func reports(_ fixture: RouterFixture) -> [String] {
        fixture.link.reports.flatMap(\.events).map { "\($0.kind) \($0.text)" }
    }

    @Test("are registered by the agent itself")
    func registration() throws {
        let fixture = try fixture()
        #expect(fixture.state.apps.wanted == [Self.topic: .production])
        #expect(fixture.link.asked == ["register \(Self.topic)"])
        #expect(fixture.handlers.state(of: Self.topic) == "handler")
        let development = try self.fixture(AppManifest.Handler(environment: .development))
        #expect(development.state.apps.wanted == [Self.topic: .development])
    }

    @Test("run one at a time, in order, and are done with exit code 0")
    func order() throws {
        let fixture = try fixture()
        fixture.arrive(1, 2, 3)
        for number: UInt64 in 1...3 {
            fixture.turn()
            #expect(identities(fixture) == Array(1...number))
            #expect(fixture.handlers.state(of: Self.topic) == "handler runs")
            fixture.recordedHandlers.runs[Int(number) - 1].end(.exited(0))
        }
        fixture.turn()
        #expect(try inbox(fixture) == 0)
        #expect(fixture.handlers.state(of: Self.topic) == "handler")
    }

    @Test("run side by side as the manifest says")
    func parallel() throws {
        let fixture = try fixture(AppManifest.Handler(parallelism: 3))
        fixture.arrive(1, 2, 3, 4, 5)
        fixture.turn()
        #expect(identities(fixture) == [1, 2, 3])
        fixture.recordedHandlers.runs[1].end(.exited(0))
        fixture.turn()
        #expect(identities(fixture) == [1, 2, 3, 4])
    }

    @Test("that fail are started again later, while others go on, and end as dead letters")
    func failure() throws {
        let fixture = try fixture()
        fixture.deliveries.mostAttempts = 3
        fixture.arrive(1, wantsReport: true)
        fixture.turn()
        fixture.recordedHandlers.runs[0].end(.exited(3), "no\nroom\n")
        fixture.arrive(2)
        fixture.turn()
        #expect(identities(fixture) == [1, 2])
        fixture.recordedHandlers.runs[1].end(.exited(0))
        for attempt in 2...3 {
            fixture.clock.pass(milliseconds: 600_000)
            fixture.turn()
            let run = try #require(fixture.recordedHandlers.runs.last)
            #expect(run.job.variables["POSTRIDER_ATTEMPT"] == "\(attempt)")
            run.end(.killed(11))
            fixture.turn()
        }
        #expect(identities(fixture) == [1, 2, 1, 1])
        let letter = try #require(try fixture.state.deadLetters.entries().first)
        #expect(letter.attempts == 3 && letter.reason == "The handler was ended by signal 11")
        #expect(
            reports(fixture) == [
                "begun ", "failed The handler ended with exit code 3: no | room",
                "failed The handler was ended by signal 11", "gaveUp The handler was ended by signal 11",
            ])
    }

    @Test("that are postponed are started again later, as often as they like")
    func postponed() throws {
        let fixture = try fixture()
        fixture.deliveries.mostAttempts = 2
        fixture.arrive(1, wantsReport: true)
        for _ in 1...20 {
            fixture.turn()
            let run = try #require(fixture.recordedHandlers.runs.last)
            #expect(run.job.variables["POSTRIDER_ATTEMPT"] == "1")
            run.end(.exited(75), "busy")
            fixture.turn()
            fixture.clock.pass(milliseconds: 600_000)
        }
        fixture.turn()
        #expect(identities(fixture).count == 21)
        fixture.recordedHandlers.runs[20].end(.exited(0), "at last")
        fixture.turn()
        #expect(try inbox(fixture) == 0)
        #expect(
            reports(fixture) == ["begun "] + repeatElement("postponed busy", count: 3) + ["done at last"])
    }

    @Test("that cannot be started have failed")
    func noProgram() throws {
        let fixture = try fixture()
        fixture.deliveries.mostAttempts = 1
        fixture.recordedHandlers.mistake = "The program /x is not there."
        fixture.arrive(1)
        fixture.turn()
        fixture.turn()
        let reason = try fixture.state.deadLetters.entries().first?.reason
        #expect(reason == "The handler does not run: The program /x is not there.")
        fixture.recordedHandlers.mistake = nil
        fixture.arrive(2)
        fixture.turn()
        #expect(identities(fixture) == [2])
    }

    @Test("are started again by the next agent for what was not handled")
    func kill() throws {
        let fixture = try fixture()
        fixture.arrive(1, 2)
        fixture.turn()
        fixture.recordedHandlers.runs[0].end(.exited(0))
        fixture.router.endTurn()
        try fixture.kill()
        fixture.turn()
        #expect(identities(fixture) == [1, 2])
    }

    @Test("are ended with the agent, which counts as nothing")
    func stop() throws {
        let fixture = try fixture()
        fixture.arrive(1, 2)
        fixture.turn()
        var hasStopped = false
        fixture.handlers.stop { hasStopped = true }
        #expect(fixture.recordedHandlers.runs[0].orders == ["terminate"] && !hasStopped)
        fixture.clock.pass(milliseconds: 3001)
        fixture.turn()
        #expect(fixture.recordedHandlers.runs[0].orders == ["terminate", "kill"])
        fixture.recordedHandlers.runs[0].end(.killed(9))
        fixture.turn()
        #expect(hasStopped && identities(fixture) == [1])
        #expect(try inbox(fixture) == 2)
    }

    @Test("that are units go on when the agent ends")
    func units() throws {
        let fixture = try fixture(AppManifest.Handler(unit: "wake"))
        fixture.arrive(1)
        fixture.turn()
        var hasStopped = false
        fixture.handlers.stop { hasStopped = true }
        #expect(fixture.recordedHandlers.runs[0].orders.isEmpty && hasStopped)
        #expect(try inbox(fixture) == 1)
    }

    @Test("have their topics for themselves")
    func strangers() throws {
        let fixture = try fixture()
        let app = RecordedApp()
        fixture.registrations.register(Self.topic, for: app.stream)
        guard case .refused(let refused)? = app.told.last else {
            Issue.record("the app is not refused")
            return
        }
        #expect(refused.reason.contains("has a handler"))
        fixture.arrive(1)
        fixture.turn()
        #expect(identities(fixture) == [1] && app.delivered.isEmpty)
    }

    @Test("come and go with their manifests")
    func reload() throws {
        let fixture = try fixture()
        fixture.arrive(1)
        fixture.turn()
        let other = AppManifest.handled("com.example.two")
        #expect(fixture.handlers.declare([other]) == (["com.example.two"], [Self.topic]))
        #expect(fixture.recordedHandlers.runs[0].orders == ["terminate"])
        #expect(fixture.handlers.names == ["com.example.two"])
        #expect(fixture.streams.attachments[Self.topic] == nil)
        fixture.recordedHandlers.runs[0].end(.killed(15))
        #expect(fixture.handlers.declare([other]) == ([], []))
        #expect(try inbox(fixture) == 1)
    }

    private static let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    @Test("are told what came, field by field")
    func variables() throws {
        let fixture = try fixture()
        let payload =
            #"{"aps":{"alert":{"title":"T$(x)","body":"a\u0000\n'b"},"badge":3,"category":"c"},"x":1}"#
        fixture.deliveries.delivered(
            Deliver(
                delivery: 1, identity: NotificationIdentity(high: 7, low: 5), topic: Self.topic,
                payload: Array(payload.utf8), priority: .considerate,
                expiration: .at(Moment(milliseconds: 9_000_000)), collapseIdentifier: "k",
                pushType: "alert", acceptedAt: Moment(milliseconds: 5_999),
                traceContext: TraceContext(parent: Self.parent, state: "a=1")))
        fixture.turn()
        let job = try #require(fixture.recordedHandlers.runs.first).job
        #expect(job.input == Array(payload.utf8))
        var variables = job.variables
        #expect(
            variables.removeValue(forKey: "POSTRIDER_RECEIVED_AT")
                == "\(fixture.clock.wallMilliseconds / 1000)")
        #expect(
            variables == [
                "POSTRIDER_APNS_ID": "\(NotificationIdentity(high: 7, low: 5))",
                "POSTRIDER_PUSH_TYPE": "alert", "POSTRIDER_PRIORITY": "5", "POSTRIDER_COLLAPSE_ID": "k",
                "POSTRIDER_EXPIRATION": "9000", "POSTRIDER_ACCEPTED_AT": "5",
                "POSTRIDER_TITLE": "T$(x)", "POSTRIDER_BODY": "a\u{FFFD}\n'b", "POSTRIDER_BADGE": "3",
                "POSTRIDER_CATEGORY": "c", "POSTRIDER_ATTEMPT": "1",
                "POSTRIDER_TRACEPARENT": Self.parent, "POSTRIDER_TRACESTATE": "a=1",
            ])
    }
}

extension RouterFixture {
    /// Ends the turn, and fires the timers without delay that follow it.
    fileprivate func turn() {
        router.endTurn()
        handlerClock.fireTimers()
        router.endTurn()
        clock.fireTimers()
        router.endTurn()
        handlerClock.fireTimers()
        router.endTurn()
    }
}
