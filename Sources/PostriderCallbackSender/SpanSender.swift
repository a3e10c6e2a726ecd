import PostriderCallbacks
package import PostriderNotifications
package import PostriderSpans
import PostriderSystem
import PostriderTransport
import Synchronization

/// Sends spans to an OTLP receiver over HTTP, on a thread of its own, so that nothing else waits for the receiver.
package final class SpanSender: Sendable {
    /// The sender cannot be started.
    package struct Unavailable: Error, CustomStringConvertible {
        /// One sentence.
        package let description = "Spans cannot be sent: libcurl cannot be used, or no thread be started."
    }

    private struct Inbox {
        var spans: [PushSpan] = []
        var isClosed = false
        var hasEnded = false
        /// Callers of ``SpanSender/stop()``.
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let inbox = Mutex(Inbox())
    private let transfers: CurlTransfers
    private let url: String
    private let origin: SpanOrigin
    private let log: Log
    /// What became of spans since the start.
    package let counts = SpanCounts()

    /// Starts a sender.
    ///
    /// - Parameter endpoint: the base URL of the receiver, which has no query.
    /// - Throws: ``Unavailable``.
    package init(endpoint: String, of origin: SpanOrigin, log: Log) throws(Unavailable) {
        guard let transfers = CurlTransfers() else { throw Unavailable() }
        self.transfers = transfers
        url = (endpoint.hasSuffix("/") ? String(endpoint.dropLast()) : endpoint) + SpanRequest.path
        self.origin = origin
        self.log = log
        do {
            _ = try Thread.spawn(name: "spans") { [self] in run() }
        } catch {
            throw Unavailable()
        }
    }

    /// Takes spans to be sent, and returns at once. Those for which there is no room are dropped, and counted.
    package func send(_ spans: [PushSpan]) {
        guard !spans.isEmpty else { return }
        let (dropped, isFirst) = inbox.withLock { inbox in
            let room = inbox.isClosed ? 0 : max(Limits.spansWaiting - inbox.spans.count, 0)
            let isFirst = inbox.spans.isEmpty
            inbox.spans += spans.prefix(room)
            return (max(spans.count - room, 0), isFirst)
        }
        counts.addDropped(dropped)
        if isFirst { transfers.wake() }
    }

    /// Ends the thread, and returns when it has ended. What waits is sent before, within
    /// ``Notifications/Limits/spanEndMilliseconds``.
    package func stop() async {
        await withCheckedContinuation { continuation in
            let hasEnded = inbox.withLock { inbox in
                inbox.isClosed = true
                if !inbox.hasEnded { inbox.waiting.append(continuation) }
                return inbox.hasEnded
            }
            if hasEnded { continuation.resume() }
            transfers.wake()
        }
    }

    // MARK: The thread

    private func run() {
        var batches = SpanBatches()
        var isFailing = false
        var end: UInt64?
        var number: UInt64 = 0
        while true {
            let (spans, isClosed) = inbox.withLock { inbox in
                defer { inbox.spans = [] }
                return (inbox.spans, inbox.isClosed)
            }
            let now = EventLoop.monotonicNanoseconds
            counts.addDropped(batches.add(spans, now: now))
            if isClosed, end == nil { end = now + Limits.spanEndMilliseconds * 1_000_000 }
            if let end, now >= end || batches.count == 0 { return finish(batches) }
            if let batch = batches.takeDue(now: now, isLast: isClosed) {
                number += 1
                let hasBegun = transfers.begin(
                    number, url, fields: [("content-type", SpanRequest.mediaType)],
                    body: SpanRequest.bytes(batch, of: origin))
                if !hasBegun { settle(.answered(0), "libcurl refuses the request", &batches, &isFailing) }
                continue
            }
            for ended in transfers.wait(milliseconds: Self.pause(batches, end: end, now: now)) {
                switch ended.outcome {
                case .answered(let status):
                    settle(.answered(status), "status \(status)", &batches, &isFailing)
                case .failed: settle(.failed, ended.reason, &batches, &isFailing)
                }
            }
        }
    }

    /// The milliseconds until something is due; at most a minute.
    private static func pause(_ batches: SpanBatches, end: UInt64?, now: UInt64) -> Int {
        let next = min(batches.nextDeadline ?? .max, end ?? .max)
        return next <= now ? 0 : Int(min((next - now) / 1_000_000 + 1, 60_000))
    }

    /// A failure is logged once, and once more when spans are taken again.
    private func settle(
        _ outcome: SpanBatches.Outcome, _ reason: String, _ batches: inout SpanBatches,
        _ isFailing: inout Bool
    ) {
        switch batches.ended(outcome, now: EventLoop.monotonicNanoseconds) {
        case .sent(let count):
            counts.addSent(count)
            if isFailing { log.notice("spans are sent to \(url) again; \(counts.dropped) are lost") }
            isFailing = false
            return
        case .postponed: break
        case .dropped(let count): counts.addDropped(count)
        }
        if !isFailing { log.warning("spans are not taken by \(url): \(reason)") }
        isFailing = true
    }

    private func finish(_ batches: SpanBatches) {
        counts.addDropped(batches.count)
        if batches.count > 0 { log.notice("\(batches.count) spans were not sent") }
        let waiting = inbox.withLock { inbox in
            defer { inbox.waiting = [] }
            inbox.hasEnded = true
            return inbox.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}
