import PostriderCourier
import PostriderNotifications
import Testing

@testable import PostriderAgent

@Suite("The desk")
struct AppRouterTests {
    private let rig: DeskRig
    private let topic = RecordedApp.topic

    init() throws { rig = try DeskRig() }

    private func attached(user: UInt32 = 1000) -> RecordedApp { rig.attached(user: user) }

    @Test("acknowledges what is safe, then hands it over in order")
    func order() {
        let app = attached()
        rig.arrive(1, 2)
        #expect(rig.line.acknowledged.isEmpty && app.delivered.isEmpty)
        rig.desk.endTurn()
        #expect(rig.line.acknowledged == [1, 2])
        #expect(app.identities == [1, 2])
        #expect(app.delivered.map(\.delivery) == [1, 2])
    }

    @Test("acknowledges a second copy, and hands over the first only, also after a kill")
    func copies() throws {
        let app = attached()
        rig.arrive(1)
        rig.desk.endTurn()
        rig.arrive(1)
        rig.desk.endTurn()
        #expect(app.identities == [1] && rig.line.acknowledged == [1, 2])
        #expect(rig.desk.handled([1], by: app.stream))
        rig.desk.endTurn()
        try rig.kill()
        let next = attached()
        rig.arrive(1)
        rig.desk.endTurn()
        #expect(next.delivered.isEmpty && rig.line.acknowledged == [1])
    }

    @Test("keeps what no app is there for, and hands it over when one comes")
    func absent() throws {
        let first = attached()
        rig.desk.left(first.stream)
        rig.arrive(1, 2)
        rig.desk.endTurn()
        #expect(rig.line.acknowledged == [1, 2])
        try rig.kill()
        #expect(attached().identities == [1, 2])
    }

    @Test("hands over again what an app left unhandled, and nothing else")
    func redelivery() {
        let first = attached()
        rig.arrive(1, 2, 3)
        rig.desk.endTurn()
        #expect(rig.desk.handled([2], by: first.stream))
        rig.desk.left(first.stream)
        rig.desk.endTurn()
        #expect(attached().identities == [1, 3])
    }

    @Test("has a window of deliveries under way to an app, no more")
    func window() {
        let app = attached()
        for identity in 1...100 as ClosedRange<UInt64> { rig.arrive(identity) }
        rig.desk.endTurn()
        #expect(app.identities == Array(1...64))
        #expect(rig.desk.handled([2], by: app.stream))
        rig.desk.endTurn()
        #expect(app.delivered.count == 64)
        #expect(rig.desk.handled([1, 3], by: app.stream))
        rig.desk.endTurn()
        #expect(app.identities == Array(1...67))
    }

    @Test("takes no word of deliveries that are not under way")
    func strangers() {
        let app = attached()
        rig.arrive(1)
        rig.desk.endTurn()
        #expect(!rig.desk.handled([2], by: app.stream))
        #expect(rig.desk.handled([1], by: app.stream))
        #expect(!rig.desk.handled([1], by: app.stream))
    }

    @Test("gives a topic's notifications to its newest stream, and back to an older one that is still there")
    func newest() {
        let (older, newer) = (attached(), RecordedApp())
        rig.arrive(1)
        rig.desk.endTurn()
        rig.desk.register(topic, for: newer.stream)
        rig.arrive(2)
        rig.desk.endTurn()
        #expect(older.identities == [1] && newer.identities == [1, 2])
        rig.desk.left(newer.stream)
        rig.desk.endTurn()
        #expect(older.identities == [1, 2])
    }

    @Test("does not acknowledge on a link that is gone")
    func cutLink() {
        let app = attached()
        rig.arrive(1)
        rig.desk.linkEnded()
        rig.desk.endTurn()
        #expect(rig.line.acknowledged.isEmpty && app.identities == [1])
    }
}
