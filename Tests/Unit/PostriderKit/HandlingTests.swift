import Synchronization
import Testing

@testable import PostriderKit

@Suite("A notification that is withdrawn")
struct HandlingTests {
    private final class Outcomes: Sendable {
        private let outcomes = Mutex<[Handling.Outcome]>([])
        var all: [Handling.Outcome] { outcomes.withLock { $0 } }
        func note(_ outcome: Handling.Outcome) { outcomes.withLock { $0.append(outcome) } }
    }

    @Test("while it is posted reaches no loop any more, and counts as handled by nobody")
    func whilePosted() async {
        let outcomes = Outcomes()
        let handling = Handling { outcomes.note($0) }
        let feed = NotificationFeed<String>(limit: 1)
        handling.withdraw()
        feed.offer("withdrawn", handling)
        handling.posted(to: 1)
        #expect(outcomes.all == [.withdrawn])
        feed.offer("other", nil)
        #expect(await feed.next() == "other")
        feed.end()
        #expect(await feed.next() == nil)
    }

    @Test("behind one that a loop handles is skipped, and the one is handled")
    func waiting() async {
        let outcomes = Outcomes()
        let handlings = (0..<2).map { _ in Handling { outcomes.note($0) } }
        let feed = NotificationFeed<Int>(limit: 1)
        for (index, handling) in handlings.enumerated() {
            feed.offer(index, handling)
            handling.posted(to: 1)
        }
        #expect(await feed.next() == 0)
        for handling in handlings { handling.withdraw() }
        #expect(outcomes.all == [.withdrawn])
        feed.settle(.handled)
        #expect(outcomes.all == [.withdrawn, .handled])
        feed.end()
        #expect(await feed.next() == nil)
    }
}
