import Foundation
import Testing

@testable import PostriderTransport

@Suite("A loop that polls busily") struct BusyPollingTests {
    @Test("serves sockets and timers as one that sleeps")
    func work() throws {
        let pair = try Pair(server: .echo())
        pair.loop.busyPollingMicroseconds = 10_000
        for round in 1...50 as ClosedRange<UInt8> {
            pair.client.send([round])
            pair.loop.turn { pair.client.input.last == round }
        }
        #expect(pair.client.input == Array(1...50))
        var fired: [Int] = []
        let timers = [3, 1, 2].map { milliseconds in
            let timer = pair.loop.makeTimer { fired.append(milliseconds) }
            timer.arm(afterMilliseconds: milliseconds)
            return timer
        }
        pair.loop.turn { fired.count == timers.count }
        #expect(fired == [1, 2, 3])
    }

    @Test("sleeps when nothing has come for as long as it looks")
    func sleep() throws {
        let pair = try Pair(server: .echo())
        pair.loop.busyPollingMicroseconds = 100
        pair.client.send([1])
        pair.loop.turn { pair.client.input == [1] }
        var hasFired = false
        let timer = pair.loop.makeTimer { hasFired = true }
        timer.arm(afterMilliseconds: 50)
        let before = try Self.sleeps()
        pair.loop.turn { hasFired }
        #expect(try Self.sleeps() > before)
    }

    /// Returns how often this thread has gone to sleep by itself.
    private static func sleeps() throws -> Int {
        let status = try String(contentsOfFile: "/proc/thread-self/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix("voluntary_ctxt_switches:") }
        return try #require(line?.split(separator: "\t").last.flatMap { Int($0) })
    }
}
