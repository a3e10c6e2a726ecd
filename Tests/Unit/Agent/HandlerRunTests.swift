import PostriderSystem
import PostriderTransport
import Testing

@testable import PostriderAgent

@Suite("A run of a handler")
struct HandlerRunTests {
    private static let verdicts: [(ProcessEnding, HandlerRun.Verdict)] = [
        (.exited(0), .done), (.exited(75), .postponed), (.exited(1), .failed("ended with exit code 1")),
        (.exited(255), .failed("ended with exit code 255")), (.killed(9), .failed("was ended by signal 9")),
        (.unknown, .failed("ended")),
    ]

    @Test("is judged by its exit code", arguments: verdicts)
    func exitCode(_ ending: ProcessEnding, _ verdict: HandlerRun.Verdict) {
        var run = HandlerRun(seconds: 7)
        #expect(run.handle(.started) == [.arm(milliseconds: 7000)])
        #expect(run.handle(.ended(ending)) == [.settle(verdict)])
    }

    @Test("that takes too long is asked to end, then ended, and has failed")
    func late() {
        var run = HandlerRun(seconds: 7)
        _ = run.handle(.started)
        #expect(run.handle(.timeIsUp) == [.terminate, .arm(milliseconds: 3000)])
        #expect(run.handle(.timeIsUp) == [.kill])
        #expect(run.handle(.timeIsUp) == [])
        #expect(
            run.handle(.ended(.killed(9))) == [.settle(.failed("was not done after 7 s, and was ended"))])
    }

    @Test("that says its verdict when its time is up is believed", arguments: [Int32(0), 75])
    func lastWord(_ code: Int32) {
        var run = HandlerRun(seconds: 7)
        _ = run.handle(.started)
        _ = run.handle(.timeIsUp)
        #expect(run.handle(.ended(.exited(code))) == [.settle(code == 0 ? .done : .postponed)])
    }

    @Test("that the agent ends counts as nothing, unless it is done", arguments: verdicts)
    func stop(_ ending: ProcessEnding, _ verdict: HandlerRun.Verdict) {
        var run = HandlerRun(seconds: 7)
        _ = run.handle(.started)
        #expect(run.handle(.stop) == [.terminate, .arm(milliseconds: 3000)])
        #expect(run.handle(.stop) == [])
        #expect(run.handle(.timeIsUp) == [.kill])
        let expected = [.done, .postponed].contains(verdict) ? verdict : .interrupted
        #expect(run.handle(.ended(ending)) == [.settle(expected)])
    }

    @Test("waits for its turn, in order")
    func queue() {
        var queue = HandlerQueue<Int>()
        for number in 1...5 { queue.add(number) }
        #expect(queue.next(atOnce: 2) == 1)
        #expect(queue.next(atOnce: 2) == 2)
        #expect(queue.next(atOnce: 2) == nil)
        queue.ended()
        #expect(queue.next(atOnce: 2) == 3)
        queue.drop()
        queue.ended()
        #expect(queue.next(atOnce: 2) == nil && queue.running == 1 && queue.count == 0)
    }

    @Test("leaves the last lines that it wrote, without what would upset a terminal")
    func tail() {
        #expect(HandlerTail([]).lines == [])
        #expect(HandlerTail(Array(" a\r\n\n\u{1B}[31mb\u{7} \nc".utf8)).lines == ["a", "[31mb", "c"])
        #expect(HandlerTail([0xFF, 0x41, 10]).lines == ["\u{FFFD}A"])
        let many = HandlerTail(Array((1...100).map(String.init).joined(separator: "\n").utf8))
        #expect(many.lines == (91...100).map(String.init))
        #expect(many.text(atMost: 9) == "… 99 | 100")
    }
}
