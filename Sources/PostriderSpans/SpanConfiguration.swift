package import PostriderNotifications
import Synchronization

/// What the relay knows of spans: of which pushes there are any, and who sends them.
public struct SpanConfiguration: Sendable {
    /// Of the pushes whose provider sent no trace context, one of this many has a trace of its own; nil if none has.
    package let sample: Int?
    /// Takes spans to be sent. It returns at once, on any thread.
    package let send: @Sendable ([PushSpan]) -> Void

    /// A configuration from its parts.
    package init(sample: Int?, send: @escaping @Sendable ([PushSpan]) -> Void) {
        self.sample = sample
        self.send = send
    }
}

/// Which pushes have spans: those whose provider records its trace, and of those without a trace context one of some.
package struct SpanChoice: Sendable {
    private let sample: UInt64?

    /// A choice with ``SpanConfiguration/sample``.
    package init(sample: Int?) { self.sample = sample.map { UInt64($0) } }

    /// Whether a push has spans. That depends on its row, which survives a restart; its bits are mixed, so that no
    /// regular pattern of a provider coincides with the sample.
    package func includes(_ queued: QueuedNotification) -> Bool {
        includes(queued.notification.traceContext, queued.row)
    }

    /// Whether a push with this trace context and row has spans.
    package func includes(_ context: TraceContext?, _ row: QueueRow) -> Bool {
        if let context { return context.isSampled }
        guard let sample else { return false }
        let mixed = UInt64(bitPattern: row.value) &* 0x9E37_79B9_7F4A_7C15
        return (mixed >> 32) % sample == 0
    }
}

/// How many spans there were since the relay started. Any thread may count.
package final class SpanCounts: Sendable {
    private let counts = Mutex((sent: UInt64(0), dropped: UInt64(0)))

    /// Counts from 0.
    package init() {}

    /// Counts spans that a receiver has taken.
    package func addSent(_ count: Int) { counts.withLock { $0.sent += UInt64(count) } }

    /// Counts spans that were dropped: there was no room, or the receiver did not take them.
    package func addDropped(_ count: Int) { counts.withLock { $0.dropped += UInt64(count) } }

    /// Spans that a receiver has taken.
    package var sent: UInt64 { counts.withLock { $0.sent } }

    /// Spans that were dropped.
    package var dropped: UInt64 { counts.withLock { $0.dropped } }
}
