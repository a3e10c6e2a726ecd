import PostriderCallbacks
import PostriderNotifications
import PostriderSpans
import PostriderSystem
import PostriderTransport

/// The thread of the trace: a loop with a mailbox and no sockets.
struct TraceThread: Sendable {
    let mailboxes: RelayMailboxes
    let losses: TraceLosses
    /// One of this many pushes is traced.
    let sample: Int
    let closed: CountDownLatch
    let log: Log
    /// Gets all records before they are written; nil on a relay in production.
    let bench: TestBench?
    /// The callbacks that the operator allows; nil if they are off.
    let callbacks: CallbackConfiguration?
    /// Who sends the spans of pushes; nil if they are off.
    let spans: SpanConfiguration?
    let openTrace: @Sendable () throws(StoreError) -> any TraceStore

    /// Opens the trace on a new thread, which serves it until it is closed, and returns the trace's highest row.
    func start() async throws -> QueueRow {
        try await Thread.start(name: "trace") { run($0) }
    }

    private func run(_ continuation: CheckedContinuation<QueueRow, any Error>) {
        Thread.takeShortSlices()
        do {
            let loop = try EventLoop()
            let store = try openTrace()
            let keeper = try serve(store, on: loop)
            continuation.resume(returning: keeper.lastRow)
            withExtendedLifetime(keeper) { loop.run() }
        } catch {
            continuation.resume(throwing: error)
        }
    }

    private func serve(_ store: any TraceStore, on loop: EventLoop) throws(TransportError) -> TraceWriter {
        let outbox = mailboxes.outbox(ofShard: nil)
        let retry = loop.makeTimer {}
        let keeper = TraceWriter(
            store, sample: sample, losses: losses, log: log,
            now: Moment(milliseconds: loop.wallMilliseconds), readClock: { [unowned loop] in loop.now },
            post: { message, shard in outbox.send(message, to: shard) },
            onClosed: { [unowned loop] in
                loop.stop()
                closed.countDown()
            },
            observe: { [bench] records in bench?.noteLives(records) },
            callbacks: callbacks.map(CallbackTracker.init), spans: spans
        )
        // New records are written between two segments of a search.
        let work = loop.makeTimer { [unowned keeper] in keeper.work() }
        let deadline = loop.makeTimer { [unowned keeper] in keeper.expire() }
        loop.turnEnded = { [unowned keeper, unowned loop] in
            if keeper.hasWork { work.arm(afterMilliseconds: 0) }
            if let next = keeper.nextDeadline {
                let wait = next > loop.now ? Int((next - loop.now) / 1_000_000) + 1 : 0
                deadline.arm(afterMilliseconds: wait)
            }
            if !outbox.post() { retry.arm(afterMilliseconds: 1) }
        }
        try loop.attach(mailboxes.trace) { [unowned keeper] messages in
            keeper.receive(messages)
            messages.removeAll(keepingCapacity: true)
        }
        return keeper
    }

    /// The recorder for a shard.
    func recorder(ofShard index: Int) -> TraceRecorder {
        TraceRecorder(
            ofShard: index, sample: sample, losses: losses, hasCallbacks: callbacks != nil,
            spans: spans.map { SpanChoice(sample: $0.sample) }
        ) { [mailboxes] message in
            mailboxes.trace.post(message)
        }
    }
}
