import PostriderCaptures
import PostriderNotifications
import PostriderTransport

/// Callers of the control socket that wait for captures. It lives on shard 0, and every shard tells it of new captures.
final class CaptureWaiters {
    private struct Waiter {
        let query: CaptureQuery
        let respond: ControlHandler.Respond
        let timer: any LoopTimer
    }

    private let bench: TestBench
    private let scheduler: any Scheduler
    private var waiters: [Int: Waiter] = [:]
    /// Programs that follow captures.
    let feed: CaptureFeed
    private var lastNumber = 0

    init(_ bench: TestBench, on scheduler: any Scheduler) {
        self.bench = bench
        self.scheduler = scheduler
        feed = CaptureFeed(bench)
    }

    /// Answers a query when the captures that it waits for are there, or its time is over.
    func ask(_ query: CaptureQuery, _ respond: @escaping ControlHandler.Respond) {
        guard let milliseconds = query.waitMilliseconds else {
            return respond(ControlAnswer(200, bench.json(query)))
        }
        // From here on, shards announce new captures.
        bench.countWaiting(1)
        guard !bench.isComplete(query), waiters.count < Limits.captureWaiters else {
            bench.countWaiting(-1)
            let isFull = waiters.count >= Limits.captureWaiters
            return respond(
                isFull ? ControlHandler.refusal(503, Self.busy) : ControlAnswer(200, bench.json(query)))
        }
        lastNumber += 1
        let number = lastNumber
        let timer = scheduler.makeTimer { [unowned self] in answer(number) }
        timer.arm(afterMilliseconds: milliseconds)
        waiters[number] = Waiter(query: query, respond: respond, timer: timer)
    }

    /// There are new captures.
    func capturesChanged() {
        for (number, waiter) in waiters where bench.isComplete(waiter.query) { answer(number) }
        feed.capturesChanged()
    }

    private func answer(_ number: Int) {
        guard let waiter = waiters.removeValue(forKey: number) else { return }
        bench.countWaiting(-1)
        waiter.respond(ControlAnswer(200, bench.json(waiter.query)))
    }

    private static let busy =
        "\(Limits.captureWaiters) callers wait for captures already: ask again when one is done."
}
