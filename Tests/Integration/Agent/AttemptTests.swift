import PostriderCourier
import PostriderNotifications
import Testing

@testable import PostriderAgent

@Suite("What an app fails at")
struct AttemptTests {
    private let fixture: RouterFixture
    private let topic = RecordedApp.topic

    init() throws { fixture = try RouterFixture() }

    private func dead() throws -> [DeadLetters.Entry] { try fixture.files.state.deadLetters.entries() }

    private func fail(_ app: RecordedApp, _ identity: UInt64, reason: String = "No.") throws {
        let deliver = try #require(app.delivered.last { $0.identity.low == identity })
        #expect(fixture.deliveries.failed(Failed(delivery: deliver.delivery, reason: reason), by: app.stream))
        fixture.router.endTurn()
    }

    private func pass(milliseconds: UInt64) {
        fixture.clock.now += milliseconds * 1_000_000
        fixture.deliveries.redelivery.releaseDue()
        fixture.router.endTurn()
    }

    @Test("is handed over again after a while, longer each time, and is then a dead letter")
    func attempts() throws {
        let app = fixture.attached()
        fixture.arrive(1, 2)
        fixture.router.endTurn()
        var wait: UInt64 = 1000
        for attempt in 1..<Limits.deliveryAttempts.usual {
            try fail(app, 1)
            pass(milliseconds: wait - 1)
            #expect(app.identities.count { $0 == 1 } == attempt)
            pass(milliseconds: 1)
            #expect(app.identities.count { $0 == 1 } == attempt + 1)
            wait *= 2
        }
        #expect(try dead().isEmpty)
        try fail(app, 1, reason: "Never.")
        pass(milliseconds: 1_000_000)
        #expect(app.identities.count { $0 == 1 } == Limits.deliveryAttempts.usual)
        #expect(app.identities.count { $0 == 2 } == 1)
        let letter = try #require(try dead().first)
        #expect(letter.reason == "Never." && letter.parcel.identity.low == 1)
    }

    @Test("is counted where a kill of the agent cannot reach it")
    func durability() throws {
        for _ in 1...Limits.deliveryAttempts.usual {
            let app = fixture.attached()
            if try dead().isEmpty, app.identities.isEmpty { fixture.arrive(1) }
            fixture.router.endTurn()
            try fail(app, 1)
            try fixture.kill()
        }
        #expect(try dead().count == 1)
        #expect(fixture.attached().identities.isEmpty)
    }

    @Test(
        "is the oldest delivery under way when the app's connection breaks, and nothing when it goes in order"
    )
    func breaking() throws {
        for (isBroken, expected) in [(false, 0), (true, 1)] {
            let app = fixture.attached()
            fixture.arrive(1, 2)
            fixture.router.endTurn()
            fixture.router.left(app.stream, isBroken: isBroken)
            fixture.router.endTurn()
            let number = try #require(fixture.files.state.apps[topic]).number
            let attempts = try fixture.files.state.inbox.attempts(of: number).sorted { $0.key < $1.key }
            #expect(attempts.map(\.value) == [expected, 0])
        }
    }

    @Test("is tried again at the owner's word in its old place, or dropped")
    func owner() throws {
        fixture.deliveries.mostAttempts = 1
        let app = fixture.attached()
        fixture.arrive(1, 2)
        fixture.router.endTurn()
        try fail(app, 1)
        let row = try #require(try dead().first).row
        #expect(try !fixture.deliveries.retryDeadLetter(row + 1000))
        #expect(try fixture.deliveries.retryDeadLetter(row))
        fixture.router.endTurn()
        #expect(app.identities == [1, 2, 1])
        try fail(app, 1)
        #expect(try fixture.files.state.deadLetters.drop(row))
        #expect(try !fixture.files.state.deadLetters.drop(row))
        fixture.arrive(1)
        fixture.router.endTurn()
        #expect(app.identities == [1, 2, 1])
    }

    @Test("stands in one line of the log, whatever the app says of it")
    func log() throws {
        let journal = Journal<String>()
        let fixture = try RouterFixture(log: Log { _, text in journal.note(text) })
        let app = fixture.attached()
        fixture.arrive(1)
        fixture.router.endTurn()
        let failure = Failed(delivery: 1, reason: "No.\nerror: all is lost\u{1B}[2J")
        #expect(fixture.deliveries.failed(failure, by: app.stream))
        fixture.router.endTurn()
        let line = try #require(journal.events.first { $0.contains("No.") })
        #expect(!line.contains { $0.isNewline } && !line.unicodeScalars.contains("\u{1B}"))
    }

    @Test("is forgotten where another process of the app has handled it")
    func handledElsewhere() throws {
        let (app, other) = (fixture.attached(), fixture.attached())
        fixture.arrive(1)
        fixture.router.endTurn()
        fixture.router.left(other.stream)
        fixture.router.endTurn()
        let next = fixture.attached()
        #expect(app.identities == [1] && next.identities == [1])
        #expect(fixture.deliveries.handled([1], by: next.stream))
        try fail(app, 1)
        #expect(fixture.deliveries.redelivery.isEmpty)
    }

    @Test("is kept up to a bound, the newest")
    func bound() throws {
        fixture.deliveries.mostAttempts = 1
        let app = fixture.attached()
        for identity in 1...UInt64(Limits.deadLettersPerTopic) + 2 {
            fixture.arrive(identity)
            fixture.router.endTurn()
            fixture.clock.wallMilliseconds += 1
            try fail(app, identity)
        }
        let letters = try dead().map(\.parcel.identity.low)
        #expect(letters == Array(3...UInt64(Limits.deadLettersPerTopic) + 2))
    }
}
