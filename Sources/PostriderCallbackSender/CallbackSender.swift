import FoundationEssentials
public import PostriderCallbacks
package import PostriderNotifications
import PostriderSystem
import PostriderTransport
import Synchronization

/// Sends callbacks on a thread of its own, so that nothing else waits for a receiver. What is owed is in memory, and
/// in a store that keeps it beyond the end of the relay.
public final class CallbackSender: Sendable {
    /// The sender cannot be started.
    public struct Unavailable: Error, CustomStringConvertible {
        /// One sentence.
        public let description = "Callbacks cannot be sent: libcurl cannot be used, or no thread be started."
    }

    private struct Inbox {
        var messages: [CallbackMessage] = []
        var isClosed = false
        var hasEnded = false
        /// Callers of ``CallbackSender/stop()``.
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let inbox = Mutex(Inbox())
    private let transfers: CurlTransfers
    private let key: CallbackKey
    /// What became of callbacks since the start.
    public let counts: CallbackCounts
    private let owed = Mutex(0)
    private let store: (any CallbackStore)?
    private let log: Log

    /// Starts a sender.
    ///
    /// - Parameter store: is told which messages are settled; nil if what is owed ends with the relay.
    /// - Throws: ``Unavailable``.
    package init(
        key: CallbackKey, counts: CallbackCounts, store: (any CallbackStore)? = nil, log: Log
    ) throws(Unavailable) {
        guard let transfers = CurlTransfers() else { throw Unavailable() }
        self.transfers = transfers
        self.key = key
        self.counts = counts
        self.store = store
        self.log = log
        do {
            _ = try Thread.spawn(name: "callbacks") { [self] in run() }
        } catch {
            throw Unavailable()
        }
    }

    /// Takes messages to be sent, and returns at once. Those for which there is no room are dropped, and counted.
    public func send(_ messages: [CallbackMessage]) {
        let dropped = inbox.withLock { inbox -> ArraySlice<CallbackMessage> in
            // At the end of the relay the store keeps them.
            guard !inbox.isClosed || store == nil else { return [] }
            let room = inbox.isClosed ? 0 : max(Limits.callbacksOwed.all - inbox.messages.count, 0)
            inbox.messages += messages.prefix(room)
            return messages.dropFirst(room)
        }
        drop(dropped)
        transfers.wake()
    }

    private func drop(_ messages: ArraySlice<CallbackMessage>) {
        guard !messages.isEmpty else { return }
        counts.add(messages.count, .dropped)
        store?.append(messages.map { .settled($0.id) })
    }

    /// How many callbacks are owed.
    public var owedCount: Int { owed.withLock { $0 } }

    /// Ends the thread, and returns when it has ended. What is owed is left to the store, and its number is logged.
    public func stop() async {
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
        var queue = CallbackQueue()
        while true {
            let (messages, isClosed) = inbox.withLock { inbox in
                defer { inbox.messages = [] }
                return (inbox.messages, inbox.isClosed)
            }
            drop(messages.filter { !queue.add($0) }[...])
            guard !isClosed else { return end(queue) }
            begin(&queue)
            owed.withLock { [count = queue.count] in $0 = count }
            for ended in transfers.wait(milliseconds: Self.pause(queue)) { settle(ended, &queue) }
        }
    }

    /// The milliseconds until an attempt is due; at most a minute.
    private static func pause(_ queue: CallbackQueue) -> Int {
        guard let deadline = queue.nextDeadline else { return 60_000 }
        let now = EventLoop.monotonicNanoseconds
        return deadline <= now ? 0 : Int(min((deadline - now) / 1_000_000 + 1, 60_000))
    }

    private func begin(_ queue: inout CallbackQueue) {
        let seconds = Int64(Date().timeIntervalSince1970)
        for attempt in queue.takeDue(now: EventLoop.monotonicNanoseconds) {
            let message = attempt.message
            let fields = [
                ("content-type", "application/json"), ("webhook-id", message.id),
                ("webhook-timestamp", String(seconds)),
                ("webhook-signature", key.signature(id: message.id, seconds: seconds, body: message.body)),
            ]
            let hasBegun = transfers.begin(
                attempt.number, message.url.text, fields: fields, body: message.body)
            guard !hasBegun else { continue }
            let reason = "libcurl refuses the request"
            settle(CurlTransfers.Ended(number: attempt.number, outcome: .failed, reason: reason), &queue)
        }
    }

    private func settle(_ ended: CurlTransfers.Ended, _ queue: inout CallbackQueue) {
        let now = EventLoop.monotonicNanoseconds
        guard let (verdict, message) = queue.ended(ended.number, ended.outcome, now: now) else { return }
        if verdict != .postponed { store?.append([.settled(message.id)]) }
        guard verdict != .sent else { return counts.add(.sent) }
        counts.add(.failed)
        let reason =
            if case .answered(let status) = ended.outcome { "status \(status)" } else { ended.reason }
        let origin = message.url.origin
        guard verdict == .abandoned else {
            return log.notice(
                "a callback to \(origin) failed, and is tried again: \(reason)", kind: "callback",
                from: origin)
        }
        // Whoever sees the count finds the line in the log.
        log.warning(
            "a callback to \(origin) was given up: \(reason)", kind: "callback given up", from: origin)
        counts.add(.abandoned)
    }

    private func end(_ queue: CallbackQueue) {
        if store == nil { counts.add(queue.count, .dropped) }
        if queue.count > 0, store == nil {
            log.warning("\(queue.count) callbacks were owed when the relay stopped, and are not sent")
        } else if queue.count > 0 {
            log.notice("\(queue.count) callbacks are owed, and are sent after the relay's next start")
        }
        let waiting = inbox.withLock { inbox in
            inbox.hasEnded = true
            defer { inbox.waiting = [] }
            return inbox.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}
