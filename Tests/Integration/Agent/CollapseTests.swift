import PostriderCourier
import PostriderNotifications
import Testing

@testable import PostriderAgent

@Suite("Of notifications that collapse, an app")
struct CollapseTests {
    private let rig: DeskRig
    private let topic = RecordedApp.topic

    init() throws { rig = try DeskRig() }

    /// Makes the app known and lets it leave.
    private func absent() {
        rig.desk.left(rig.attached().stream)
        rig.desk.endTurn()
    }

    private func push(_ identities: UInt64..., collapse: String? = "score", topic: String? = nil) {
        for identity in identities {
            rig.arrive(identity, topic: topic ?? self.topic, collapse: collapse, wantsReport: true)
        }
        rig.desk.endTurn()
    }

    private var reported: [String] {
        rig.clock.fireTimers()
        return rig.line.reports.flatMap(\.events).map { "\($0.kind) \($0.identity.low)" }
    }

    @Test("that was away is given the newest, whenever the agent was killed", .bug(id: "A5"))
    func newest() throws {
        absent()
        push(1, 2)
        push(3)
        try rig.kill()
        push(4)
        push(5, collapse: "other")
        push(6, 7, collapse: nil)
        // A copy of an older notification is recognised, and replaces nothing.
        push(3)
        #expect(rig.attached().identities == [4, 5, 6, 7])
    }

    @Test("is given the newest of each topic, and of each registration", .bug(id: "A5"))
    func registrations() {
        let other = RecordedApp()
        rig.desk.register("com.example.two", for: other.stream)
        rig.desk.left(other.stream)
        absent()
        rig.desk.registered(Registered(topic: topic, deviceToken: .sample(1)))
        push(1)
        push(2, topic: "com.example.two")
        // The registration ends, and a new one follows.
        rig.desk.unregistered(topic)
        rig.desk.registered(Registered(topic: topic, deviceToken: .sample(2)))
        push(3)
        push(4)
        #expect(rig.attached().identities == [1, 4])
    }

    @Test("keeps what it has been told, and is not told it again when it fails at it", .bug(id: "A5"))
    func underWay() {
        let app = rig.attached()
        push(1)
        push(2)
        #expect(app.identities == [1, 2])
        rig.desk.left(app.stream, isBroken: true)
        rig.desk.endTurn()
        let next = rig.attached()
        #expect(next.identities == [2])
        push(3)
        #expect(rig.desk.failed(Failed(delivery: 1, reason: "No."), by: next.stream))
        rig.desk.endTurn()
        rig.clock.pass(milliseconds: 600_000)
        rig.clock.fireTimers()
        rig.desk.endTurn()
        #expect(next.identities == [2, 3])
        #expect(rig.desk.handled([2], by: next.stream))
        rig.desk.endTurn()
        #expect(rig.attached().identities.isEmpty)
    }

    @Test("does not find a dead letter tried again behind a newer one", .bug(id: "A5"))
    func deadLetters() throws {
        rig.desk.mostAttempts = 1
        let app = rig.attached()
        func die(_ identity: UInt64, _ delivery: UInt64, collapse: String) {
            push(identity, collapse: collapse)
            #expect(rig.desk.failed(Failed(delivery: delivery, reason: "No."), by: app.stream))
            rig.desk.endTurn()
        }
        die(1, 1, collapse: "score")
        die(2, 2, collapse: "other")
        func dead() throws -> [Int64: UInt64] {
            Dictionary(
                uniqueKeysWithValues: try rig.ground.state.deadLetters.letters().map {
                    ($0.row, $0.parcel.identity.low)
                })
        }
        #expect(try dead().values.sorted() == [1, 2])
        push(3)
        #expect(try dead().values.sorted() == [2])
        // A dead letter that is retried can be replaced like any other notification.
        let row = try #require(try dead().keys.first)
        rig.desk.left(app.stream)
        #expect(try rig.desk.retryDeadLetter(row))
        push(4, collapse: "other")
        #expect(rig.attached().identities == [3, 4])
    }

    @Test("is told of in the relay's trace, unless it was told itself", .bug(id: "A5"))
    func reports() {
        absent()
        push(1, 2)
        push(3)
        #expect(reported == ["replaced 1", "replaced 2"])
        let app = rig.attached()
        push(4)
        #expect(app.identities == [3, 4])
        #expect(rig.desk.handled([1, 2], by: app.stream))
        rig.desk.endTurn()
        #expect(reported.suffix(2) == ["handedOver 3", "handedOver 4"])
        #expect(reported.count == 4)
    }

    @Test("that was away for a day is given the last firing of what repeats each minute", .bug(id: "A5"))
    func repetition() throws {
        let rig = try CenterRig()
        let start = rig.now
        #expect(rig.add("tick", .interval(milliseconds: 60_000, repeats: true)) == .done)
        #expect(rig.add("once", .interval(milliseconds: 60_000, repeats: false)) == .done)
        rig.rig.desk.register(topic, for: rig.app.stream)
        rig.rig.desk.left(rig.app.stream)
        // The code of an app sees two pushes of one collapse identifier as different notifications.
        rig.rig.arrive(1, collapse: "tick")
        rig.pass(until: start.after(86_400))
        try rig.restart()
        #expect(rig.fired == ["once", "tick"] && rig.app.identities == [1])
        #expect(rig.firings.last?.notice.at == start.after(86_400))
        #expect(rig.list(.delivered) == ["once", "tick"])
    }

    @Test("has one alert, of the newest", .bug(id: "A5"))
    func alerts() throws {
        let rig = try CenterRig()
        let presenter = Presenter(
            rig.rig.ground.state, desk: rig.rig.desk, manifests: [], line: nil, scheduler: rig.rig.clock,
            log: .none)
        rig.rig.desk.presenter = presenter
        rig.rig.desk.register(topic, for: rig.app.stream)
        rig.rig.desk.left(rig.app.stream)
        for count: UInt64 in 1...3 {
            let payload = #"{"aps":{"alert":"\#(count)"}}"#
            rig.rig.desk.delivered(
                .sample(count, identity: count, payload: payload, collapse: "score"))
            rig.endTurn()
        }
        #expect(presenter.alerts.map(\.content.body) == ["3"])
        #expect(rig.rig.attached().identities == [3])
    }
}
