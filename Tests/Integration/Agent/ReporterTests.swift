import PostriderCourier
import PostriderNotifications
import Testing

@testable import PostriderAgent

@Suite("What the agent reports")
struct ReporterTests {
    private let rig: DeskRig

    init() throws { rig = try DeskRig() }

    private func deliver(_ identity: UInt64, wantsReport: Bool = true) -> Deliver {
        .sample(identity, identity: identity, wantsReport: wantsReport)
    }

    private func named(_ identity: UInt64) -> ReportedPush {
        ReportedPush(identity: deliver(identity).identity, push: 0)
    }

    private var reported: [String] {
        rig.line.reports.flatMap(\.events).map { "\($0.kind) \($0.identity.low)" }
    }

    @Test("is what apps have taken, where the relay asks for it, some of it at a time")
    func handedOver() {
        let app = rig.attached()
        for identity: UInt64 in 1...3 { rig.desk.delivered(deliver(identity, wantsReport: identity != 2)) }
        rig.desk.endTurn()
        #expect(app.delivered.allSatisfy { !$0.wantsReport }, "an app is not asked")
        #expect(rig.desk.handled([1, 2, 3], by: app.stream))
        rig.desk.endTurn()
        #expect(rig.line.reports.isEmpty)
        rig.clock.fireTimers()
        #expect(rig.line.reports.count == 1 && reported == ["handedOver 1", "handedOver 3"])
        #expect(rig.line.reports[0].events[0].moment.milliseconds == rig.clock.wallMilliseconds)
    }

    @Test("is asked for also of what was kept over a kill of the agent")
    func kept() throws {
        rig.desk.left(rig.attached().stream)
        rig.desk.delivered(deliver(1))
        rig.desk.endTurn()
        try rig.kill()
        let app = rig.attached()
        #expect(rig.desk.handled([1], by: app.stream))
        rig.clock.fireTimers()
        #expect(reported == ["handedOver 1"])
    }

    @Test("names each push by the relay's number, and says which were merged", .bug(id: "R6"))
    func namesakes() throws {
        let app = rig.attached()
        func arrive(_ push: UInt64, _ payload: String) {
            rig.desk.delivered(
                Deliver(
                    delivery: push, identity: NotificationIdentity(high: 7, low: 5), topic: "com.example.one",
                    payload: Array(payload.utf8), priority: .immediate, expiration: .nowOrNever,
                    collapseIdentifier: nil, pushType: "alert", acceptedAt: Moment(milliseconds: 1),
                    wantsReport: true, push: push))
        }
        func alert(_ text: String) -> String { #"{"aps":{"alert":"\#(text)"}}"# }
        arrive(101, alert("one"))
        arrive(102, alert("two"))
        // The provider has sent this twice.
        arrive(103, alert("two"))
        // The relay has sent this twice.
        arrive(102, alert("two"))
        rig.desk.endTurn()
        #expect(rig.desk.handled([1, 2], by: app.stream))
        rig.clock.fireTimers()
        let events = rig.line.reports.flatMap(\.events).map {
            "\($0.kind) \($0.identity.low) \($0.push) \($0.other)"
        }
        #expect(events == ["merged 5 103 102", "handedOver 5 101 0", "handedOver 5 102 0"])
        let identities = app.delivered.map(\.identity)
        #expect(Set(identities).count == 2 && identities.first == NotificationIdentity(high: 7, low: 5))
        #expect(app.delivered.map(\.apnsIdentity.low) == [5, 5])
    }

    @Test("is nothing of what an app fails at, and nothing at all where the owner does not want it")
    func nothing() {
        let app = rig.attached()
        rig.desk.delivered(deliver(1))
        rig.desk.endTurn()
        #expect(rig.desk.failed(Failed(delivery: 1, reason: "No."), by: app.stream))
        rig.desk.reporter.isOn = false
        rig.desk.reporter.note(.shown, of: named(2))
        rig.clock.fireTimers()
        #expect(rig.line.reports.isEmpty)
    }

    @Test("waits for the link, bounded, and goes out in messages of a bounded size")
    func link() {
        rig.line.isUp = false
        let count = UInt64(Limits.reportsWaiting) + 3
        for identity in 1...count { rig.desk.reporter.note(.shown, of: named(identity)) }
        rig.clock.fireTimers()
        #expect(rig.line.reports.isEmpty)
        rig.line.isUp = true
        rig.desk.reporter.linkIsUp()
        #expect(reported == (4...count).map { "shown \($0)" })
        #expect(rig.line.reports.allSatisfy { $0.events.count <= Limits.reportEvents })
        rig.desk.reporter.linkIsUp()
        #expect(reported.count == Limits.reportsWaiting)
    }

    @Test("says again on the next link what the last one may have lost, and nothing older")
    func lostLink() {
        rig.desk.reporter.note(.done, of: named(1), text: "well")
        rig.clock.fireTimers()
        rig.clock.pass(milliseconds: Int64(Limits.reportRepeatMilliseconds) + 1)
        rig.desk.reporter.note(.done, of: named(2))
        rig.clock.fireTimers()
        rig.desk.linkEnded()
        rig.desk.reporter.linkIsUp()
        #expect(reported == ["done 1", "done 2", "done 2"])
        let events = rig.line.reports.flatMap(\.events)
        #expect(events[1] == events[2] && events[0].text == "well")
    }
}
