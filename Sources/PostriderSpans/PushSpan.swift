package import PostriderNotifications

/// A part of a push's life, as OpenTelemetry has it: a span of a trace.
public struct PushSpan: Hashable, Sendable {
    /// The part.
    package enum Kind: String, CaseIterable, Sendable {
        /// From the request to its answer.
        case accept
        /// Until the push is on the disk.
        case commit
        /// From sending the push to its device until the device has acknowledged it; of a broadcast, until one shard
        /// has sent it to its devices.
        case deliver
        /// On the device, until its app has the push.
        case handOver = "hand over"
        /// What the app's observers or its handler do.
        case observer
    }

    /// The identifier of a trace: 16 bytes, which are not all 0.
    package struct Trace: Hashable, Sendable {
        let high: UInt64
        let low: UInt64
    }

    /// Which part it is.
    package let kind: Kind
    /// The trace.
    package let trace: Trace
    /// The identifier of the span, which is not 0.
    package let identifier: UInt64
    /// The identifier of the span of which it is a part; 0 for none.
    package let parent: UInt64
    /// When it began.
    package let start: Moment
    /// When it ended; not before ``start``.
    package let end: Moment
    /// Why it has failed; nil if it has not.
    package let failure: String?
    /// The number of devices that ``Kind/deliver`` of a broadcast is about; nil otherwise.
    package let devices: UInt64?
    /// The push.
    package let push: SpanPush
}

/// A push whose life is told in spans.
package struct SpanPush: Hashable, Sendable {
    /// The row under which the relay has accepted it.
    package let row: QueueRow
    /// Its `apns-id`.
    package let identity: NotificationIdentity
    /// Its device; nil for a broadcast.
    package let device: DeviceIdentity?
    /// The channel of a broadcast; nil for other pushes.
    package let channel: ChannelIdentity?
    /// Its app.
    package let topic: Topic
    /// The length of its payload.
    package let payloadBytes: Int
    /// When the relay accepted it.
    package let acceptedAt: Moment
    /// Whether it is stored if its device is away.
    package let isStored: Bool
    /// The trace context of its provider; nil if the trace is the relay's own.
    package let context: TraceContext?
    /// Whether it was accepted just now. Otherwise it waited in the store when the relay was started.
    package let isNew: Bool

    /// The push of a notification.
    package init(_ queued: QueuedNotification, isNew: Bool) {
        let notification = queued.notification
        row = queued.row
        identity = notification.identity
        device = notification.device
        channel = nil
        topic = notification.topic
        payloadBytes = notification.payload.count
        acceptedAt = notification.acceptedAt
        isStored = notification.expiration != .nowOrNever
        context = notification.traceContext
        self.isNew = isNew
    }

    /// The push of a broadcast.
    package init(_ broadcast: Broadcast, row: QueueRow) {
        self.row = row
        identity = broadcast.identity
        device = nil
        channel = broadcast.channel
        topic = broadcast.topic
        payloadBytes = broadcast.payload.count
        acceptedAt = broadcast.acceptedAt
        isStored = false
        context = broadcast.traceContext
        isNew = true
    }

    /// Its trace: the provider's, or its own.
    var trace: PushSpan.Trace {
        if let words = context?.words { return PushSpan.Trace(high: words.trace.high, low: words.trace.low) }
        return PushSpan.Trace(high: mixed(1) | 1, low: mixed(2))
    }

    /// The provider's span; 0 for none.
    var parent: UInt64 { context?.words?.span ?? 0 }

    /// The identifier of one of its spans. It follows from the push alone, so that it is the same after a restart.
    func identifier(of kind: PushSpan.Kind, number: Int = 0) -> UInt64 {
        let place = PushSpan.Kind.allCases.firstIndex(of: kind) ?? 0
        return max(mixed(UInt64(16 + place + 8 * number)), 1)
    }

    /// Mixes everything that distinguishes the push from others (the finaliser of SplitMix64 after each word).
    private func mixed(_ salt: UInt64) -> UInt64 {
        let words = [
            salt, identity.high, identity.low, UInt64(bitPattern: row.value),
            UInt64(bitPattern: acceptedAt.milliseconds), device?.high ?? channel?.high ?? 0, parent,
        ]
        return words.reduce(0) { state, word in
            var value = (state ^ word) &+ 0x9E37_79B9_7F4A_7C15
            value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
            value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
            return value ^ (value >> 31)
        }
    }
}

extension TraceContext {
    /// The identifiers in `traceparent`.
    fileprivate var words: (trace: (high: UInt64, low: UInt64), span: UInt64)? {
        let parts = parent.split(separator: "-")
        guard parts.count == 4, let high = UInt64(parts[1].prefix(16), radix: 16),
            let low = UInt64(parts[1].suffix(16), radix: 16), let span = UInt64(parts[2], radix: 16)
        else { return nil }
        return ((high, low), span)
    }
}
