import PostriderNotifications
import Synchronization
import Testing

@testable import PostriderAgent

@Suite("What the agent logs")
struct RepeatedLineTests {
    /// Keeps the lines of a log.
    private final class Lines: Sendable {
        let all = Mutex<[Log.Line]>([])
        var log: Log { Log { [self] line in all.withLock { $0.append(line) } } }
    }

    @Test("of notifications that a full inbox drops is one line and their number", .bug(id: "A13"))
    func dropped() throws {
        let lines = Lines()
        let fixture = try RouterFixture(log: lines.log)
        let app = fixture.attached()
        fixture.router.left(app.stream)
        for number in 1...UInt64(Limits.inboxPerTopic) { fixture.arrive(number) }
        fixture.router.endTurn()
        #expect(lines.all.withLock { $0 }.isEmpty)
        for number in 1...500 {
            fixture.arrive(UInt64(Limits.inboxPerTopic + number))
            fixture.router.endTurn()
        }
        var filter = RepeatFilter()
        let told = lines.all.withLock { $0 }.flatMap { filter.take($0, now: 0) } + filter.takeAll()
        let sentence = "1 notification of com.example.one dropped: its inbox is full (1000)"
        #expect(
            told.map(\.text) == [
                sentence, "\(sentence) (499 more like this within 10 seconds, from 1 source)",
            ])
    }

    @Test("of refused apps is one line for all that one user tries", .bug(id: "A13"))
    func refused() throws {
        let lines = Lines()
        let fixture = try RouterFixture(declarations: [RecordedApp.topic: 1000], log: lines.log)
        let app = RecordedApp(user: 1001)
        for _ in 1...100 { fixture.registrations.register(RecordedApp.topic, for: app.stream) }
        var filter = RepeatFilter()
        let told = lines.all.withLock { $0 }.flatMap { filter.take($0, now: 0) }
        #expect(told.count == 1 && told.first?.source == "1001")
    }
}
