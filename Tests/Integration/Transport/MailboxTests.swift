import Glibc
import PostriderSystem
import Testing

@testable import PostriderTransport

@Suite struct MailboxTests {
    /// Returns how often the bell was rung since the last call.
    private func rings(_ mailbox: Mailbox<Int>) -> UInt64 {
        var count: UInt64 = 0
        return unsafe read(mailbox.bellNumber, &count, 8) == 8 ? count : 0
    }

    @Test("The bell rings only when the box was empty")
    func bell() throws {
        let mailbox = try Mailbox<Int>(capacity: 10)
        #expect(rings(mailbox) == 0)
        #expect(mailbox.post(1))
        #expect(mailbox.post(2))
        var more = [3, 4]
        #expect(mailbox.post(contentsOf: &more))
        #expect(rings(mailbox) == 1)
        var taken: [Int] = []
        mailbox.take(into: &taken)
        #expect(taken == [1, 2, 3, 4])
        #expect(mailbox.post(5))
        #expect(rings(mailbox) == 1)
        taken = []
        mailbox.take(into: &taken)
        more = [6, 7]
        #expect(mailbox.post(contentsOf: &more))
        #expect(rings(mailbox) == 1)
        var nothing: [Int] = []
        #expect(mailbox.post(contentsOf: &nothing))
        #expect(rings(mailbox) == 0)
    }

    @Test("A full box refuses, and leaves with the sender what it has no room for")
    func capacity() throws {
        let mailbox = try Mailbox<Int>(capacity: 3)
        var batch = [1, 2, 3, 4, 5]
        #expect(!mailbox.post(contentsOf: &batch))
        #expect(batch == [4, 5])
        #expect(!mailbox.post(6))
        var taken: [Int] = []
        mailbox.take(into: &taken)
        #expect(taken == [1, 2, 3])
        #expect(mailbox.post(contentsOf: &batch))
    }

    @Test("A full box takes a letter that must arrive, and refuses others until there is room again")
    func mustArrive() throws {
        let mailbox = try Mailbox<Int>(capacity: 1)
        #expect(mailbox.post(1))
        mailbox.postEvenIfFull(2)
        var batch = [3]
        #expect(!mailbox.post(contentsOf: &batch))
        #expect(batch == [3])
        #expect(rings(mailbox) == 1)
        var taken: [Int] = []
        mailbox.take(into: &taken)
        #expect(taken == [1, 2])
        mailbox.postEvenIfFull(4)
        #expect(rings(mailbox) == 1)
    }

    @Test("A loop receives every letter of several threads, each thread's in order")
    func threads() throws {
        let loop = try EventLoop()
        let mailbox = try Mailbox<(Int, Int)>(capacity: 64)
        var received: [[Int]] = [[], [], []]
        try loop.attach(mailbox) { letters in
            for (sender, letter) in letters { received[sender].append(letter) }
        }
        for sender in 0..<3 {
            _ = try Thread.spawn(name: "sender-\(sender)") {
                for letter in 0..<1000 {
                    while !mailbox.post((sender, letter)) { sched_yield() }
                }
            }
        }
        loop.turn { received.allSatisfy { $0.count == 1000 } }
        #expect(received.allSatisfy { $0 == Array(0..<1000) })
    }

    @Test("Letters that were posted before the box was attached are received")
    func attachedLate() throws {
        let loop = try EventLoop()
        let mailbox = try Mailbox<Int>(capacity: 4)
        #expect(mailbox.post(1))
        var received: [Int] = []
        try loop.attach(mailbox) { received += $0 }
        loop.turn { !received.isEmpty }
        #expect(received == [1])
    }
}
