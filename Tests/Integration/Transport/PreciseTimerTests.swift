import Testing

@testable import PostriderTransport

@Suite("A precise timer", .timeLimit(.minutes(10)))
struct PreciseTimerTests {
    /// Runs a turn that does not wait for long.
    private func turnOnce(_ loop: EventLoop) {
        let nudge = loop.makeTimer {}
        nudge.arm(afterMilliseconds: 1)
        loop.turn()
    }

    @Test("rings once, not before its moment, and again when it is armed again")
    func ringing() throws {
        let loop = try EventLoop()
        var rings: [UInt64] = []
        let timer = try loop.makePreciseTimer { rings.append(EventLoop.monotonicNanoseconds) }
        for delay in [0, 50_000, 1_500_000] as [UInt64] {
            let (moment, count) = (EventLoop.monotonicNanoseconds + delay, rings.count)
            timer.arm(at: moment)
            while rings.count == count { loop.turn() }
            #expect(rings[count] >= moment)
        }
        turnOnce(loop)
        #expect(rings.count == 3)
    }

    @Test("does not ring when its moment is taken back")
    func disarming() throws {
        let loop = try EventLoop()
        var rings = 0
        let timer = try loop.makePreciseTimer { rings += 1 }
        timer.arm(at: 0)
        timer.arm(at: nil)
        turnOnce(loop)
        #expect(rings == 0)
    }
}
