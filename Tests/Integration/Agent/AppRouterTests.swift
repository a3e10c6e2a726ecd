import PostriderCourier
import PostriderNotifications
import PostriderStorage
import Testing

@testable import PostriderAgent

@Suite("The router")
struct AppRouterTests {
    private let fixture: RouterFixture
    private let topic = RecordedApp.topic

    init() throws { fixture = try RouterFixture() }

    private func attached(user: UInt32 = 1000) -> RecordedApp { fixture.attached(user: user) }

    @Test("hands what arrives to an app that listens as it came, and reads it from the disk only for another")
    func inHand() throws {
        let (app, database) = (fixture.attached(), fixture.files.state.trusted.file.database)
        fixture.arrive(1)
        fixture.router.endTurn()
        // Whatever is stored from now on cannot be read.
        try database.execute(
            "CREATE TEMP TRIGGER damage AFTER INSERT ON inbox BEGIN UPDATE inbox SET message = x'00'; END")
        fixture.arrive(2, 3)
        fixture.router.endTurn()
        #expect(app.identities == [1, 2, 3] && fixture.link.acknowledged == [1, 2, 3])
        let next = fixture.attached()
        #expect(next.delivered.isEmpty)
    }

    @Test("acknowledges what is safe, then hands it over in order")
    func order() {
        let app = attached()
        fixture.arrive(1, 2)
        #expect(fixture.link.acknowledged.isEmpty && app.delivered.isEmpty)
        fixture.router.endTurn()
        #expect(fixture.link.acknowledged == [1, 2])
        #expect(app.identities == [1, 2])
        #expect(app.delivered.map(\.delivery) == [1, 2])
    }

    @Test("acknowledges a second copy, and hands over the first only, also after a kill")
    func copies() throws {
        let app = attached()
        fixture.arrive(1)
        fixture.router.endTurn()
        fixture.arrive(1)
        fixture.router.endTurn()
        #expect(app.identities == [1] && fixture.link.acknowledged == [1, 2])
        #expect(fixture.deliveries.handled([1], by: app.stream))
        fixture.router.endTurn()
        try fixture.kill()
        let next = attached()
        fixture.arrive(1)
        fixture.router.endTurn()
        #expect(next.delivered.isEmpty && fixture.link.acknowledged == [1])
    }

    @Test("keeps what no app is there for, and hands it over when one comes")
    func absent() throws {
        let first = attached()
        fixture.router.left(first.stream)
        fixture.arrive(1, 2)
        fixture.router.endTurn()
        #expect(fixture.link.acknowledged == [1, 2])
        try fixture.kill()
        #expect(attached().identities == [1, 2])
    }

    @Test("hands over again what an app left unhandled, and nothing else")
    func redelivery() {
        let first = attached()
        fixture.arrive(1, 2, 3)
        fixture.router.endTurn()
        #expect(fixture.deliveries.handled([2], by: first.stream))
        fixture.router.left(first.stream)
        fixture.router.endTurn()
        #expect(attached().identities == [1, 3])
    }

    @Test("has a window of deliveries under way to an app, no more")
    func window() {
        let app = attached()
        for identity in 1...100 as ClosedRange<UInt64> { fixture.arrive(identity) }
        fixture.router.endTurn()
        #expect(app.identities == Array(1...64))
        #expect(fixture.deliveries.handled([2], by: app.stream))
        fixture.router.endTurn()
        #expect(app.delivered.count == 64)
        #expect(fixture.deliveries.handled([1, 3], by: app.stream))
        fixture.router.endTurn()
        #expect(app.identities == Array(1...67))
    }

    @Test("takes no word of deliveries that are not under way")
    func strangers() {
        let app = attached()
        fixture.arrive(1)
        fixture.router.endTurn()
        #expect(!fixture.deliveries.handled([2], by: app.stream))
        #expect(fixture.deliveries.handled([1], by: app.stream))
        #expect(!fixture.deliveries.handled([1], by: app.stream))
    }

    @Test("gives a topic's notifications to its newest stream, and back to an older one that is still there")
    func newest() {
        let (older, newer) = (attached(), RecordedApp())
        fixture.arrive(1)
        fixture.router.endTurn()
        fixture.registrations.register(topic, for: newer.stream)
        fixture.arrive(2)
        fixture.router.endTurn()
        #expect(older.identities == [1] && newer.identities == [1, 2])
        fixture.router.left(newer.stream)
        fixture.router.endTurn()
        #expect(older.identities == [1, 2])
    }

    @Test("does not acknowledge on a link that is gone")
    func cutLink() {
        let app = attached()
        fixture.arrive(1)
        fixture.router.receive(.ended)
        fixture.router.endTurn()
        #expect(fixture.link.acknowledged.isEmpty && app.identities == [1])
    }
}
