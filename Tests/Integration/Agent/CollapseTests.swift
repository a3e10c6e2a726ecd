import PostriderCourier
import PostriderNotifications
import Testing

@testable import PostriderAgent

@Suite("Of notifications that collapse, an app")
struct CollapseTests {
    private let fixture: RouterFixture
    private let topic = RecordedApp.topic

    init() throws { fixture = try RouterFixture() }

    /// Makes the app known and lets it leave.
    private func absent() {
        fixture.router.left(fixture.attached().stream)
        fixture.router.endTurn()
    }

    private func push(_ identities: UInt64..., collapse: String? = "score", topic: String? = nil) {
        for identity in identities {
            fixture.arrive(identity, topic: topic ?? self.topic, collapse: collapse, wantsReport: true)
        }
        fixture.router.endTurn()
    }

    private var reported: [String] {
        fixture.clock.fireTimers()
        return fixture.link.reports.flatMap(\.events).map { "\($0.kind) \($0.identity.low)" }
    }

    @Test("that was away is given the newest, whenever the agent was killed", .bug(id: "A5"))
    func newest() throws {
        absent()
        push(1, 2)
        push(3)
        try fixture.kill()
        push(4)
        push(5, collapse: "other")
        push(6, 7, collapse: nil)
        // A copy of an older notification is recognised, and replaces nothing.
        push(3)
        #expect(fixture.attached().identities == [4, 5, 6, 7])
    }

    @Test("is given the newest of each topic, and of each registration", .bug(id: "A5"))
    func registrations() {
        let other = RecordedApp()
        fixture.registrations.register("com.example.two", for: other.stream)
        fixture.router.left(other.stream)
        absent()
        fixture.registrations.registered(Registered(topic: topic, deviceToken: .sample(1)))
        push(1)
        push(2, topic: "com.example.two")
        // The registration ends, and a new one follows.
        fixture.registrations.unregistered(topic)
        fixture.registrations.registered(Registered(topic: topic, deviceToken: .sample(2)))
        push(3)
        push(4)
        #expect(fixture.attached().identities == [1, 4])
    }

    @Test("keeps what it has been told, and is not told it again when it fails at it", .bug(id: "A5"))
    func underWay() {
        let app = fixture.attached()
        push(1)
        push(2)
        #expect(app.identities == [1, 2])
        fixture.router.left(app.stream, isBroken: true)
        fixture.router.endTurn()
        let next = fixture.attached()
        #expect(next.identities == [2])
        push(3)
        #expect(fixture.deliveries.failed(Failed(delivery: 1, reason: "No."), by: next.stream))
        fixture.router.endTurn()
        fixture.clock.pass(milliseconds: 600_000)
        fixture.clock.fireTimers()
        fixture.router.endTurn()
        #expect(next.identities == [2, 3])
        #expect(fixture.deliveries.handled([2], by: next.stream))
        fixture.router.endTurn()
        #expect(fixture.attached().identities.isEmpty)
    }

    @Test("does not find a dead letter tried again behind a newer one", .bug(id: "A5"))
    func deadLetters() throws {
        fixture.deliveries.mostAttempts = 1
        let app = fixture.attached()
        func die(_ identity: UInt64, _ delivery: UInt64, collapse: String) {
            push(identity, collapse: collapse)
            #expect(fixture.deliveries.failed(Failed(delivery: delivery, reason: "No."), by: app.stream))
            fixture.router.endTurn()
        }
        die(1, 1, collapse: "score")
        die(2, 2, collapse: "other")
        func dead() throws -> [Int64: UInt64] {
            Dictionary(
                uniqueKeysWithValues: try fixture.files.state.deadLetters.entries().map {
                    ($0.row, $0.parcel.identity.low)
                })
        }
        #expect(try dead().values.sorted() == [1, 2])
        push(3)
        #expect(try dead().values.sorted() == [2])
        // A dead letter that is retried can be replaced like any other notification.
        let row = try #require(try dead().keys.first)
        fixture.router.left(app.stream)
        #expect(try fixture.deliveries.retryDeadLetter(row))
        push(4, collapse: "other")
        #expect(fixture.attached().identities == [3, 4])
    }

    @Test("is told of in the relay's trace, unless it was told itself", .bug(id: "A5"))
    func reports() {
        absent()
        push(1, 2)
        push(3)
        #expect(reported == ["replaced 1", "replaced 2"])
        let app = fixture.attached()
        push(4)
        #expect(app.identities == [3, 4])
        #expect(fixture.deliveries.handled([1, 2], by: app.stream))
        fixture.router.endTurn()
        #expect(reported.suffix(2) == ["handedOver 3", "handedOver 4"])
        #expect(reported.count == 4)
    }

    @Test("that was away for a day is given the last firing of what repeats each minute", .bug(id: "A5"))
    func repetition() throws {
        let fixture = try CenterFixture()
        let start = fixture.now
        #expect(fixture.add("tick", .interval(milliseconds: 60_000, repeats: true)) == .done)
        #expect(fixture.add("once", .interval(milliseconds: 60_000, repeats: false)) == .done)
        fixture.fixture.registrations.register(topic, for: fixture.app.stream)
        fixture.fixture.router.left(fixture.app.stream)
        // The code of an app sees two pushes of one collapse identifier as different notifications.
        fixture.fixture.arrive(1, collapse: "tick")
        fixture.pass(until: start.after(86_400))
        try fixture.restart()
        #expect(fixture.fired == ["once", "tick"] && fixture.app.identities == [1])
        #expect(fixture.firings.last?.notice.at == start.after(86_400))
        #expect(fixture.list(.delivered) == ["once", "tick"])
    }

    @Test("has one alert, of the newest", .bug(id: "A5"))
    func alerts() throws {
        let fixture = try CenterFixture()
        let presenter = fixture.fixture.presenter
        fixture.fixture.registrations.register(topic, for: fixture.app.stream)
        fixture.fixture.router.left(fixture.app.stream)
        for count: UInt64 in 1...3 {
            let payload = #"{"aps":{"alert":"\#(count)"}}"#
            fixture.fixture.deliveries.delivered(
                .sample(count, identity: count, payload: payload, collapse: "score"))
            fixture.endTurn()
        }
        #expect(presenter.alerts.map(\.content.body) == ["3"])
        #expect(fixture.fixture.attached().identities == [3])
    }
}
