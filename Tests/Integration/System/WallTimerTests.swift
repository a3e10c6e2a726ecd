import Glibc
import Testing

@testable import PostriderSystem
@testable import PostriderTransport

@Suite("A loop's alarm clock", .timeLimit(.minutes(10)))
struct WallTimerTests {
    @Test("rings once, not before its moment, and again when it is set again")
    func ringing() throws {
        let loop = try EventLoop()
        var rings: [Int64] = []
        let timer = try loop.makeWallTimer(
            ring: { rings.append(loop.wallMilliseconds) }, clockChanged: { _ in })
        for delay in [0, 5, -1000] as [Int64] {
            loop.turnOnce()
            let (moment, count) = (loop.wallMilliseconds + delay, rings.count)
            timer.arm(atWallMilliseconds: moment)
            while rings.count == count { loop.turn() }
            #expect(rings[count] >= moment)
        }
        loop.turnOnce()
        #expect(rings.count == 3)
    }

    @Test("does not ring when its moment is taken back")
    func disarming() throws {
        let loop = try EventLoop()
        var rings = 0
        let timer = try loop.makeWallTimer(ring: { rings += 1 }, clockChanged: { _ in })
        timer.arm(atWallMilliseconds: loop.wallMilliseconds - 1)
        timer.arm(atWallMilliseconds: nil)
        loop.turnOnce()
        #expect(rings == 0)
    }

    @Test("tells that the clock was set, and rings at its moment all the same")
    func clockChange() throws {
        let loop = try EventLoop()
        var (rings, changes) = (0, [Int64]())
        let timer = try loop.makeWallTimer(ring: { rings += 1 }, clockChanged: { changes.append($0) })
        timer.arm(atWallMilliseconds: loop.wallMilliseconds - 1)
        // This is the kernel's answer when the clock may have been set.
        timer.take(.failed(SystemError(number: ECANCELED)))
        #expect(changes == [0] && rings == 0)
        while rings == 0 { loop.turn() }
        #expect(rings == 1)
    }
}

extension EventLoop {
    /// Runs a turn that does not wait.
    fileprivate func turnOnce() {
        let timer = makeTimer {}
        timer.arm(afterMilliseconds: 0)
        turn()
    }
}
