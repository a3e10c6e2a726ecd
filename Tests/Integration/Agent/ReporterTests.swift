import PostriderCourier
import PostriderNotifications
import Testing

@testable import PostriderAgent

@Suite("What the agent reports")
struct ReporterTests {
    private let fixture: RouterFixture

    init() throws { fixture = try RouterFixture() }

    private func deliver(_ identity: UInt64, wantsReport: Bool = true) -> Deliver {
        .sample(identity, identity: identity, wantsReport: wantsReport)
    }

    private func named(_ identity: UInt64) -> ReportedPush {
        ReportedPush(identity: deliver(identity).identity, push: 0)
    }

    private var reported: [String] {
        fixture.link.reports.flatMap(\.events).map { "\($0.kind) \($0.identity.low)" }
    }

    @Test("is what apps have taken, where the relay asks for it, some of it at a time")
    func handedOver() {
        let app = fixture.attached()
        for identity: UInt64 in 1...3 {
            fixture.deliveries.delivered(deliver(identity, wantsReport: identity != 2))
        }
        fixture.router.endTurn()
        #expect(app.delivered.allSatisfy { !$0.wantsReport }, "an app is not asked")
        #expect(fixture.deliveries.handled([1, 2, 3], by: app.stream))
        fixture.router.endTurn()
        #expect(fixture.link.reports.isEmpty)
        fixture.clock.fireTimers()
        #expect(fixture.link.reports.count == 1 && reported == ["handedOver 1", "handedOver 3"])
        #expect(fixture.link.reports[0].events[0].moment.milliseconds == fixture.clock.wallMilliseconds)
    }

    @Test("is asked for also of what was kept over a kill of the agent")
    func kept() throws {
        fixture.router.left(fixture.attached().stream)
        fixture.deliveries.delivered(deliver(1))
        fixture.router.endTurn()
        try fixture.kill()
        let app = fixture.attached()
        #expect(fixture.deliveries.handled([1], by: app.stream))
        tell()
        #expect(reported == ["handedOver 1"])
    }

    @Test("names each push by the relay's number, and says which were merged", .bug(id: "R6"))
    func namesakes() throws {
        let app = fixture.attached()
        func arrive(_ push: UInt64, _ payload: String) {
            fixture.deliveries.delivered(
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
        fixture.router.endTurn()
        #expect(fixture.deliveries.handled([1, 2], by: app.stream))
        tell()
        let events = fixture.link.reports.flatMap(\.events).map {
            "\($0.kind) \($0.identity.low) \($0.push) \($0.other)"
        }
        #expect(events == ["merged 5 103 102", "handedOver 5 101 0", "handedOver 5 102 0"])
        let identities = app.delivered.map(\.identity)
        #expect(Set(identities).count == 2 && identities.first == NotificationIdentity(high: 7, low: 5))
        #expect(app.delivered.map(\.apnsIdentity.low) == [5, 5])
    }

    @Test("is nothing of what an app fails at, and nothing at all where the owner does not want it")
    func nothing() {
        let app = fixture.attached()
        fixture.deliveries.delivered(deliver(1))
        fixture.router.endTurn()
        #expect(fixture.deliveries.failed(Failed(delivery: 1, reason: "No."), by: app.stream))
        fixture.reporter.isOn = false
        fixture.reporter.note(.shown, of: named(2))
        fixture.clock.fireTimers()
        #expect(fixture.link.reports.isEmpty)
    }

    @Test("waits for the link, bounded, and goes out in messages of a bounded size")
    func link() {
        fixture.link.isUp = false
        let count = UInt64(Limits.reportsWaiting) + 3
        for identity in 1...count { fixture.reporter.note(.begun, of: named(identity)) }
        fixture.clock.fireTimers()
        #expect(fixture.link.reports.isEmpty)
        fixture.link.isUp = true
        fixture.reporter.linkIsUp()
        #expect(reported == (4...count).map { "begun \($0)" })
        #expect(fixture.link.reports.allSatisfy { $0.events.count <= Limits.reportEvents })
        fixture.reporter.linkIsUp()
        #expect(reported.count == Limits.reportsWaiting)
    }

    @Test("says steps again on the next link if the last one may have lost them, and no older ones")
    func lostLink() {
        fixture.reporter.note(.begun, of: named(1), text: "well")
        fixture.clock.fireTimers()
        fixture.clock.pass(milliseconds: Int64(Limits.reportRepeatMilliseconds) + 1)
        fixture.reporter.note(.begun, of: named(2))
        fixture.clock.fireTimers()
        fixture.router.receive(.ended)
        fixture.reporter.linkIsUp()
        #expect(reported == ["begun 1", "begun 2", "begun 2"])
        let events = fixture.link.reports.flatMap(\.events)
        #expect(events[1] == events[2] && events[0].text == "well")
    }

    /// Commits what was noted, and sends it.
    private func tell() {
        fixture.router.endTurn()
        fixture.clock.fireTimers()
    }

    private func nextLink() {
        fixture.router.receive(.ended)
        fixture.reporter.linkIsUp()
    }

    @Test("sends on each next link the ends that no relay has confirmed, however short the links are")
    func confirmation() {
        fixture.link.confirms = true
        for identity in 1...200 as ClosedRange<UInt64> {
            fixture.reporter.note(.done, of: named(identity))
        }
        tell()
        for _ in 1...20 { nextLink() }
        #expect(reported.count == 21 * 200 && fixture.link.confirmations == 21)
        fixture.reporter.note(.done, of: named(201))
        tell()
        #expect(fixture.link.confirmations == 21)
        fixture.reporter.confirmed()
        #expect(fixture.link.confirmations == 22 && reported.last == "done 201")
        nextLink()
        #expect(reported.suffix(2) == ["done 201", "done 201"])
        fixture.reporter.confirmed()
        nextLink()
        #expect(reported.count == 21 * 200 + 2)
    }

    @Test("has the ends of pushes still after the agent was killed, until a relay has confirmed them")
    func killed() throws {
        let app = fixture.attached()
        for identity in 1...3 as ClosedRange<UInt64> { fixture.deliveries.delivered(deliver(identity)) }
        fixture.router.endTurn()
        #expect(fixture.deliveries.handled([1, 2], by: app.stream))
        fixture.router.endTurn()
        try fixture.kill()
        #expect(reported.isEmpty)
        fixture.link.confirms = true
        fixture.reporter.linkIsUp()
        #expect(reported == ["handedOver 1", "handedOver 2"])
        fixture.reporter.confirmed()
        // The confirmed ones are removed from the disk a while later, or with the next commit.
        fixture.clock.fireTimers()
        fixture.router.endTurn()
        try fixture.kill()
        fixture.reporter.linkIsUp()
        #expect(reported == ["handedOver 1", "handedOver 2"])
        #expect(try fixture.files.state.reports.entries(after: 0, atMost: 9).isEmpty)
    }

    @Test("sends many ends some at a time, each part after the relay has confirmed the one before")
    func parts() {
        fixture.link.confirms = true
        let count = UInt64(Limits.reportsUnconfirmed) + 9
        for identity in 1...count { fixture.reporter.note(.gaveUp, of: named(identity), text: "No.") }
        tell()
        #expect(reported.count == Limits.reportsUnconfirmed)
        fixture.reporter.confirmed()
        #expect(reported == (1...count).map { "gaveUp \($0)" })
        #expect(fixture.link.reports.flatMap(\.events).allSatisfy { $0.text == "No." })
    }

    @Test("keeps a bounded number of ends, and none of an identity that the device has no longer")
    func bounds() throws {
        fixture.link.isUp = false
        for part in 0..<5 as Range<UInt64> {
            for identity in 1...1024 as ClosedRange<UInt64> {
                fixture.reporter.note(.done, of: named(part * 1024 + identity))
            }
            fixture.router.endTurn()
        }
        let kept = try fixture.files.state.reports.entries(after: 0, atMost: 10_000)
        #expect(kept.count == Limits.reportsKept && kept.last?.event.identity.low == 5 * 1024)
        let device = try #require(DeviceIdentity(bytes: Array(repeating: 1, count: DeviceIdentity.byteCount)))
        try fixture.files.state.setDevice(
            EnrollResponse(deviceIdentity: device, deviceSecret: Array(repeating: 1, count: 32)))
        #expect(try fixture.files.state.reports.entries(after: 0, atMost: 1).isEmpty)
    }

    @Test("leaves out the steps of an ended push that the relay may not have")
    func superseded() {
        let reporter = fixture.reporter
        for identity in 1...3 as ClosedRange<UInt64> { reporter.note(.begun, of: named(identity)) }
        fixture.clock.fireTimers()
        reporter.note(.done, of: named(1))
        fixture.router.endTurn()
        fixture.router.receive(.ended)
        reporter.note(.failed, of: named(2))
        reporter.note(.gaveUp, of: named(2))
        fixture.router.endTurn()
        reporter.linkIsUp()
        #expect(reported.suffix(3) == ["begun 3", "done 1", "gaveUp 2"] && reported.count == 6)
    }
}
