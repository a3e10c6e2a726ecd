import PostriderNotifications
import Testing

@testable import PostriderCallbacks

@Suite("The queue of callbacks")
struct CallbackQueueTests {
    private static let second: UInt64 = 1_000_000_000

    /// A queue that expectations can change.
    private final class Queue {
        private var queue = CallbackQueue()
        var count: Int { queue.count }
        var nextDeadline: UInt64? { queue.nextDeadline }
        func add(_ message: CallbackMessage) -> Bool { queue.add(message) }
        func takeDue(now: UInt64) -> [CallbackQueue.Attempt] { queue.takeDue(now: now) }
        func ended(
            _ number: UInt64, _ outcome: CallbackQueue.Outcome, now: UInt64
        ) -> (verdict: CallbackQueue.Verdict, message: CallbackMessage)? {
            queue.ended(number, outcome, now: now)
        }
    }

    private func message(_ number: Int, to host: String = "a.example") throws -> CallbackMessage {
        let url = try #require(CallbackURL("https://\(host)/"))
        return CallbackMessage(id: "\(number)", url: url, body: [])
    }

    @Test("begins what is owed in its order, and forgets what a receiver has taken")
    func order() throws {
        let queue = Queue()
        for number in 0..<3 {
            let message = try message(number)
            #expect(queue.add(message))
        }
        let attempts = queue.takeDue(now: 0)
        #expect(attempts.map(\.message.id) == ["0", "1", "2"])
        for attempt in attempts {
            let ended = queue.ended(attempt.number, .answered(204), now: 0)
            #expect(ended?.verdict == .sent && ended?.message.id == attempt.message.id)
        }
        #expect(queue.count == 0 && queue.takeDue(now: .max).isEmpty && queue.nextDeadline == nil)
        #expect(queue.ended(attempts[0].number, .failed, now: 0) == nil, "it is not under way any more")
    }

    @Test(
        "tries again at growing intervals, and gives up in the end",
        arguments: [.failed, .answered(500), .answered(302), .answered(404)] as [CallbackQueue.Outcome])
    func retries(_ outcome: CallbackQueue.Outcome) throws {
        let queue = Queue()
        let message = try message(1)
        #expect(queue.add(message))
        var now: UInt64 = 0
        for delay in Limits.callbackDelaySeconds {
            let attempt = try #require(queue.takeDue(now: now).first)
            #expect(queue.ended(attempt.number, outcome, now: now)?.verdict == .postponed)
            #expect(queue.nextDeadline == now + delay * Self.second)
            #expect(queue.takeDue(now: now + delay * Self.second - 1).isEmpty)
            now += delay * Self.second
        }
        let last = try #require(queue.takeDue(now: now).first)
        #expect(queue.ended(last.number, outcome, now: now)?.verdict == .abandoned)
        #expect(queue.count == 0)
    }

    @Test("does not try again where the receiver says that it is gone")
    func gone() throws {
        let queue = Queue()
        let message = try message(1)
        #expect(queue.add(message))
        let attempt = try #require(queue.takeDue(now: 0).first)
        #expect(queue.ended(attempt.number, .answered(410), now: 0)?.verdict == .abandoned)
        #expect(queue.count == 0)
    }

    @Test("has few requests under way, and fewer to each receiver, so that a slow one is not in the way")
    func bounds() throws {
        let queue = Queue()
        for number in 0..<1000 {
            let message = try message(number, to: "slow.example")
            #expect(queue.add(message))
        }
        #expect(queue.takeDue(now: 0).count == Limits.callbacksUnderWay.each)
        let message = try message(1000, to: "quick.example")
        #expect(queue.add(message))
        #expect(queue.takeDue(now: 0).map(\.message.id) == ["1000"])
        for host in 1...10 {
            for number in 0..<10 {
                let message = try self.message(number, to: "h\(host).example")
                #expect(queue.add(message))
            }
        }
        let rest = queue.takeDue(now: 0)
        #expect(rest.count == Limits.callbacksUnderWay.all - Limits.callbacksUnderWay.each - 1)
        #expect(Set(rest.prefix(10).map(\.message.url.origin)).count == 10, "each receiver in turn")
    }

    @Test("has room for so many, and for fewer of each receiver")
    func room() throws {
        let queue = Queue()
        var taken = 0
        for host in ["a.example", "b.example", "c.example"] {
            let message = try message(0, to: host)
            for _ in 0..<Limits.callbacksOwed.each + 1 where queue.add(message) { taken += 1 }
        }
        #expect(taken == Limits.callbacksOwed.all && queue.count == taken)
    }
}
