import PostriderCourier
import PostriderNotifications
import PostriderSystem
import PostriderTransport
import Testing

@testable import PostriderAgent

@Suite("The handlers of topics")
struct HandlerProgramsTests {
    private static let topic = RecordedApp.topic

    private func rig(_ handler: AppManifest.Handler = AppManifest.Handler()) throws -> DeskRig {
        let rig = try DeskRig(manifests: [.handled(by: handler)])
        rig.turn()
        return rig
    }

    private func inbox(_ rig: DeskRig) throws -> Int {
        guard let record = rig.desk.state.apps[Self.topic] else { return 0 }
        return try rig.desk.state.inbox.count(of: record.number)
    }

    private func identities(_ rig: DeskRig) -> [UInt64] {
        rig.recordedHandlers.runs.map(\.job.identity.low)
    }

    private func reports(_ rig: DeskRig) -> [String] {
        rig.line.reports.flatMap(\.events).map { "\($0.kind) \($0.text)" }
    }

    @Test("are registered by the agent itself")
    func registration() throws {
        let rig = try rig()
        #expect(rig.desk.state.apps.wanted == [Self.topic: .production])
        #expect(rig.line.asked == ["register \(Self.topic)"])
        #expect(rig.handlers.state(of: Self.topic) == "handler")
        let development = try self.rig(AppManifest.Handler(environment: .development))
        #expect(development.desk.state.apps.wanted == [Self.topic: .development])
    }

    @Test("run one at a time, in order, and are done with exit code 0")
    func order() throws {
        let rig = try rig()
        rig.arrive(1, 2, 3)
        for number: UInt64 in 1...3 {
            rig.turn()
            #expect(identities(rig) == Array(1...number))
            #expect(rig.handlers.state(of: Self.topic) == "handler runs")
            rig.recordedHandlers.runs[Int(number) - 1].end(.exited(0))
        }
        rig.turn()
        #expect(try inbox(rig) == 0)
        #expect(rig.handlers.state(of: Self.topic) == "handler")
    }

    @Test("run side by side as the manifest says")
    func parallel() throws {
        let rig = try rig(AppManifest.Handler(parallelism: 3))
        rig.arrive(1, 2, 3, 4, 5)
        rig.turn()
        #expect(identities(rig) == [1, 2, 3])
        rig.recordedHandlers.runs[1].end(.exited(0))
        rig.turn()
        #expect(identities(rig) == [1, 2, 3, 4])
    }

    @Test("that fail are started again later, while others go on, and end as dead letters")
    func failure() throws {
        let rig = try rig()
        rig.desk.mostAttempts = 3
        rig.arrive(1, wantsReport: true)
        rig.turn()
        rig.recordedHandlers.runs[0].end(.exited(3), "no\nroom\n")
        rig.arrive(2)
        rig.turn()
        #expect(identities(rig) == [1, 2])
        rig.recordedHandlers.runs[1].end(.exited(0))
        for attempt in 2...3 {
            rig.clock.pass(milliseconds: 600_000)
            rig.turn()
            let run = try #require(rig.recordedHandlers.runs.last)
            #expect(run.job.variables["POSTRIDER_ATTEMPT"] == "\(attempt)")
            run.end(.killed(11))
            rig.turn()
        }
        #expect(identities(rig) == [1, 2, 1, 1])
        let letter = try #require(try rig.desk.state.deadLetters.letters().first)
        #expect(letter.attempts == 3 && letter.reason == "The handler was ended by signal 11")
        #expect(
            reports(rig) == [
                "begun ", "failed The handler ended with exit code 3: no | room",
                "failed The handler was ended by signal 11", "gaveUp The handler was ended by signal 11",
            ])
    }

    @Test("that are postponed are started again later, as often as they like")
    func postponed() throws {
        let rig = try rig()
        rig.desk.mostAttempts = 2
        rig.arrive(1, wantsReport: true)
        for _ in 1...20 {
            rig.turn()
            let run = try #require(rig.recordedHandlers.runs.last)
            #expect(run.job.variables["POSTRIDER_ATTEMPT"] == "1")
            run.end(.exited(75), "busy")
            rig.turn()
            rig.clock.pass(milliseconds: 600_000)
        }
        rig.turn()
        #expect(identities(rig).count == 21)
        rig.recordedHandlers.runs[20].end(.exited(0), "at last")
        rig.turn()
        #expect(try inbox(rig) == 0)
        #expect(
            reports(rig) == ["begun "] + repeatElement("postponed busy", count: 3) + ["done at last"])
    }

    @Test("that cannot be started have failed")
    func noProgram() throws {
        let rig = try rig()
        rig.desk.mostAttempts = 1
        rig.recordedHandlers.mistake = "The program /x is not there."
        rig.arrive(1)
        rig.turn()
        rig.turn()
        let reason = try rig.desk.state.deadLetters.letters().first?.reason
        #expect(reason == "The handler does not run: The program /x is not there.")
        rig.recordedHandlers.mistake = nil
        rig.arrive(2)
        rig.turn()
        #expect(identities(rig) == [2])
    }

    @Test("are started again by the next agent for what was not handled")
    func kill() throws {
        let rig = try rig()
        rig.arrive(1, 2)
        rig.turn()
        rig.recordedHandlers.runs[0].end(.exited(0))
        rig.desk.endTurn()
        try rig.kill()
        rig.turn()
        #expect(identities(rig) == [1, 2])
    }

    @Test("are ended with the agent, which counts as nothing")
    func stop() throws {
        let rig = try rig()
        rig.arrive(1, 2)
        rig.turn()
        var hasStopped = false
        rig.handlers.stop { hasStopped = true }
        #expect(rig.recordedHandlers.runs[0].orders == ["terminate"] && !hasStopped)
        rig.clock.pass(milliseconds: 3001)
        rig.turn()
        #expect(rig.recordedHandlers.runs[0].orders == ["terminate", "kill"])
        rig.recordedHandlers.runs[0].end(.killed(9))
        rig.turn()
        #expect(hasStopped && identities(rig) == [1])
        #expect(try inbox(rig) == 2)
    }

    @Test("that are units go on when the agent ends")
    func units() throws {
        let rig = try rig(AppManifest.Handler(unit: "wake"))
        rig.arrive(1)
        rig.turn()
        var hasStopped = false
        rig.handlers.stop { hasStopped = true }
        #expect(rig.recordedHandlers.runs[0].orders.isEmpty && hasStopped)
        #expect(try inbox(rig) == 1)
    }

    @Test("have their topics for themselves")
    func strangers() throws {
        let rig = try rig()
        let app = RecordedApp()
        rig.desk.register(Self.topic, for: app.stream)
        guard case .refused(let refused)? = app.told.last else {
            Issue.record("the app is not refused")
            return
        }
        #expect(refused.reason.contains("has a handler"))
        rig.arrive(1)
        rig.turn()
        #expect(identities(rig) == [1] && app.delivered.isEmpty)
    }

    @Test("come and go with their manifests")
    func reload() throws {
        let rig = try rig()
        rig.arrive(1)
        rig.turn()
        let other = AppManifest.handled("com.example.two")
        #expect(rig.handlers.declare([other]) == (["com.example.two"], [Self.topic]))
        #expect(rig.recordedHandlers.runs[0].orders == ["terminate"])
        #expect(rig.handlers.names == ["com.example.two"])
        #expect(rig.desk.attachments[Self.topic] == nil)
        rig.recordedHandlers.runs[0].end(.killed(15))
        #expect(rig.handlers.declare([other]) == ([], []))
        #expect(try inbox(rig) == 1)
    }

    @Test("are told what came, field by field")
    func variables() throws {
        let rig = try rig()
        let payload =
            #"{"aps":{"alert":{"title":"T$(x)","body":"a\u0000\n'b"},"badge":3,"category":"c"},"x":1}"#
        rig.desk.delivered(
            Deliver(
                delivery: 1, identity: NotificationIdentity(high: 7, low: 5), topic: Self.topic,
                payload: Array(payload.utf8), priority: .considerate,
                expiration: .at(Moment(milliseconds: 9_000_000)), collapseIdentifier: "k",
                pushType: "alert", acceptedAt: Moment(milliseconds: 5_999)))
        rig.turn()
        let job = try #require(rig.recordedHandlers.runs.first).job
        #expect(job.input == Array(payload.utf8))
        var variables = job.variables
        #expect(
            variables.removeValue(forKey: "POSTRIDER_RECEIVED_AT") == "\(rig.clock.wallMilliseconds / 1000)")
        #expect(
            variables == [
                "POSTRIDER_APNS_ID": "\(NotificationIdentity(high: 7, low: 5))",
                "POSTRIDER_PUSH_TYPE": "alert", "POSTRIDER_PRIORITY": "5", "POSTRIDER_COLLAPSE_ID": "k",
                "POSTRIDER_EXPIRATION": "9000", "POSTRIDER_ACCEPTED_AT": "5",
                "POSTRIDER_TITLE": "T$(x)", "POSTRIDER_BODY": "a\u{FFFD}\n'b", "POSTRIDER_BADGE": "3",
                "POSTRIDER_CATEGORY": "c", "POSTRIDER_ATTEMPT": "1",
            ])
    }
}

extension DeskRig {
    /// Ends the turn, and fires the timers without delay that follow it.
    fileprivate func turn() {
        desk.endTurn()
        handlerClock.fireTimers()
        desk.endTurn()
        clock.fireTimers()
        desk.endTurn()
        handlerClock.fireTimers()
        desk.endTurn()
    }
}
