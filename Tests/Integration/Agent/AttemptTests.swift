import PostriderCourier
import PostriderNotifications
import Testing

@testable import PostriderAgent

@Suite("What an app fails at")
struct AttemptTests {
    private let rig: DeskRig
    private let topic = RecordedApp.topic

    init() throws { rig = try DeskRig() }

    private func dead() throws -> [DeadLetters.Letter] { try rig.ground.state.deadLetters.letters() }

    private func fail(_ app: RecordedApp, _ identity: UInt64, reason: String = "No.") throws {
        let deliver = try #require(app.delivered.last { $0.identity.low == identity })
        #expect(rig.desk.failed(Failed(delivery: deliver.delivery, reason: reason), by: app.stream))
        rig.desk.endTurn()
    }

    private func pass(milliseconds: UInt64) {
        rig.clock.now += milliseconds * 1_000_000
        rig.desk.sickbay.letGo()
        rig.desk.endTurn()
    }

    @Test("is handed over again after a while, longer each time, and is then a dead letter")
    func attempts() throws {
        let app = rig.attached()
        rig.arrive(1, 2)
        rig.desk.endTurn()
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
            let app = rig.attached()
            if try dead().isEmpty, app.identities.isEmpty { rig.arrive(1) }
            rig.desk.endTurn()
            try fail(app, 1)
            try rig.kill()
        }
        #expect(try dead().count == 1)
        #expect(rig.attached().identities.isEmpty)
    }

    @Test(
        "is the oldest delivery under way when the app's connection breaks, and nothing when it goes in order"
    )
    func breaking() throws {
        for (isBroken, expected) in [(false, 0), (true, 1)] {
            let app = rig.attached()
            rig.arrive(1, 2)
            rig.desk.endTurn()
            rig.desk.left(app.stream, isBroken: isBroken)
            rig.desk.endTurn()
            let number = try #require(rig.ground.state.apps[topic]).number
            let attempts = try rig.ground.state.inbox.attempts(of: number).sorted { $0.key < $1.key }
            #expect(attempts.map(\.value) == [expected, 0])
        }
    }

    @Test("is tried again at the owner's word in its old place, or dropped")
    func owner() throws {
        rig.desk.mostAttempts = 1
        let app = rig.attached()
        rig.arrive(1, 2)
        rig.desk.endTurn()
        try fail(app, 1)
        let row = try #require(try dead().first).row
        #expect(try !rig.desk.retryDeadLetter(row + 1000))
        #expect(try rig.desk.retryDeadLetter(row))
        rig.desk.endTurn()
        #expect(app.identities == [1, 2, 1])
        try fail(app, 1)
        #expect(try rig.ground.state.deadLetters.drop(row))
        #expect(try !rig.ground.state.deadLetters.drop(row))
        rig.arrive(1)
        rig.desk.endTurn()
        #expect(app.identities == [1, 2, 1])
    }

    @Test("stands in one line of the log, whatever the app says of it")
    func log() throws {
        let journal = Journal<String>()
        let desk = AppRouter(
            rig.ground.state, declarations: [:], scheduler: rig.clock,
            log: Log { _, text in journal.note(text) })
        let app = RecordedApp()
        desk.register(topic, for: app.stream)
        desk.delivered(.sample(1, identity: 1))
        desk.endTurn()
        #expect(desk.failed(Failed(delivery: 1, reason: "No.\nerror: all is lost\u{1B}[2J"), by: app.stream))
        desk.endTurn()
        let line = try #require(journal.events.first { $0.contains("No.") })
        #expect(!line.contains { $0.isNewline } && !line.unicodeScalars.contains("\u{1B}"))
    }

    @Test("is forgotten where another process of the app has handled it")
    func handledElsewhere() throws {
        let (app, other) = (rig.attached(), rig.attached())
        rig.arrive(1)
        rig.desk.endTurn()
        rig.desk.left(other.stream)
        rig.desk.endTurn()
        let next = rig.attached()
        #expect(app.identities == [1] && next.identities == [1])
        #expect(rig.desk.handled([1], by: next.stream))
        try fail(app, 1)
        #expect(rig.desk.sickbay.isEmpty)
    }

    @Test("is kept up to a bound, the newest")
    func bound() throws {
        rig.desk.mostAttempts = 1
        let app = rig.attached()
        for identity in 1...UInt64(Limits.deadLettersPerTopic) + 2 {
            rig.arrive(identity)
            rig.desk.endTurn()
            rig.clock.wallMilliseconds += 1
            try fail(app, identity)
        }
        let letters = try dead().map(\.parcel.identity.low)
        #expect(letters == Array(3...UInt64(Limits.deadLettersPerTopic) + 2))
    }
}
