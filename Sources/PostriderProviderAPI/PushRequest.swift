package import PostriderHTTP2
package import PostriderNotifications

/// One request of a provider: its fields, byte for byte, and the body. It lives until the request is answered.
///
/// Pooled: its header block keeps its memory from one push to the next.
package final class PushRequest {
    /// How far the request has come.
    package enum Phase {
        /// The request is still arriving.
        case receiving
        /// The device's home has the push.
        case waiting
        /// The same on a relay with a test bench; or a rule has delayed the push.
        case observed
        /// The home of the app's channels has the request.
        case ordering(ChannelEcho)
    }

    /// The header fields that are used.
    package enum Field: Int, CaseIterable {
        case method
        case path
        case authorization
        case identifier
        case topic
        case pushType
        case priority
        case expiration
        case collapseIdentifier
        // For channels and broadcasts only.
        case channelIdentifier
        case requestIdentifier
        /// `postrider-callback`, which Apple does not have.
        case callback
        /// `traceparent`, which Apple does not have either.
        case traceParent

        init?(_ name: Span<UInt8>) {
            switch name.count {
            case 5 where name.matches(":path"): self = .path
            case 7 where name.matches(":method"): self = .method
            case 7 where name.matches("apns-id"): self = .identifier
            case 10 where name.matches("apns-topic"): self = .topic
            case 11 where name.matches("traceparent"): self = .traceParent
            case 13 where name.matches("authorization"): self = .authorization
            case 13 where name.matches("apns-priority"): self = .priority
            case 14 where name.matches("apns-push-type"): self = .pushType
            case 15 where name.matches("apns-expiration"): self = .expiration
            case 15 where name.matches("apns-channel-id"): self = .channelIdentifier
            case 15 where name.matches("apns-request-id"): self = .requestIdentifier
            case 16 where name.matches("apns-collapse-id"): self = .collapseIdentifier
            case 18 where name.matches("postrider-callback"): self = .callback
            default: return nil
            }
        }

        /// Whether Apple does not know the field, and so ignores it however often it occurs.
        var isOwn: Bool { self == .callback || self == .traceParent }
    }

    package var phase = Phase.receiving
    /// When the request was complete, in monotonic nanoseconds.
    package var endedAt: UInt64 = 0
    /// The `apns-unique-id` of the answer, in the development environment.
    package var uniqueIdentity: NotificationIdentity?
    /// When a provider that exceeds a quota may come back, from the answer on; nil if it does not.
    package var retryAfterSeconds: Int?
    /// The header block of the request.
    private var block = HeaderBlock()
    /// The ends of the fields' values in ``values``; 0 if a field is missing, since no value begins there.
    private var ends = InlineArray<13, UInt32>(repeating: 0)
    private var starts = InlineArray<13, UInt32>(repeating: 0)
    /// Whether a field occurred twice.
    private(set) var hasDuplicates = false
    /// The body, up to the largest payload of any push type; ``bodyByteCount`` is its whole length.
    package private(set) var body: [UInt8] = []
    /// The length of the body as it was sent.
    package private(set) var bodyByteCount = 0
    /// The identity of a request without `apns-id`.
    private var drawnIdentity: NotificationIdentity?

    /// A request that has not begun.
    package init() {}

    /// The `apns-id` of the answer: the request's own, byte for byte, even if it is invalid, or one that was drawn. A
    /// copy.
    package var echo: [UInt8] {
        drawnIdentity.map(\.upperCaseText) ?? range(.identifier).map { Array(values[$0]) } ?? []
    }

    /// The identity of the push; nil if its `apns-id` is not a UUID.
    package var identity: NotificationIdentity? {
        if let drawnIdentity { return drawnIdentity }
        let values = values
        return range(.identifier).flatMap { NotificationIdentity(text: values.span.extracting($0)) }
    }

    /// Adds `apns-id` to an answer. Its value differs each time, so it must not enter the HPACK table. Only the first
    /// on a connection does, so that the table contains the name.
    package func addEcho(to reply: inout HeaderBlock, isFirst: Bool) {
        withEcho { reply.add("apns-id", $0, isIndexed: isFirst) }
    }

    /// Calls `body` with the `apns-id` of the answer to an accepted push, which is never long.
    package func withEcho(_ body: (Span<UInt8>) -> Void) {
        if let drawnIdentity {
            let letters = drawnIdentity.letters(letterA: UInt8(ascii: "A"))
            body(letters.span)
        } else if let range = range(.identifier) {
            let values = values
            body(values.span.extracting(range))
        }
    }

    /// Begins a request with its header block: takes the block and leaves the last one in its place. `drawIdentity` is
    /// called only if the provider sent no `apns-id`.
    package func begin(_ received: inout HeaderBlock, drawIdentity: () -> NotificationIdentity) {
        swap(&block, &received)
        starts = InlineArray(repeating: 0)
        hasDuplicates = false
        if !body.isEmpty { body = [] }
        bodyByteCount = 0
        retryAfterSeconds = nil
        phase = .receiving
        block.forEachPlace { name, value in
            guard let field = Field(name) else { return }
            if starts[field.rawValue] != 0, !field.isOwn { hasDuplicates = true }
            starts[field.rawValue] = UInt32(truncatingIfNeeded: value.lowerBound)
            ends[field.rawValue] = UInt32(truncatingIfNeeded: value.upperBound)
        }
        drawnIdentity = range(.identifier) == nil ? drawIdentity() : nil
    }

    /// Frees memory that is unusually large, before the request is reused.
    package func rest() {
        block.giveBackMemory()
        if !body.isEmpty { body = [] }
    }

    /// The bytes that contain all values; ``range(_:)`` gives their positions.
    package var values: [UInt8] { block.contents }

    /// Adds bytes of the body. Bytes above every payload limit are counted and not kept.
    package func append(_ bytes: Span<UInt8>) {
        bodyByteCount += bytes.count
        guard bodyByteCount <= Limits.voipPayloadBytes else { return }
        guard !body.isEmpty else { return body = Array(copying: bytes) }
        body.reserveCapacity(bodyByteCount)
        body.append(copying: bytes)
    }

    /// Calls `body` for each field in the order of the wire.
    package func forEachField(_ body: (_ name: Span<UInt8>, _ value: Span<UInt8>) -> Void) {
        block.forEach(body)
    }

    /// The range of a field's value in ``values``; nil if the provider did not send the field.
    package func range(_ field: Field) -> Range<Int>? {
        let start = Int(starts[field.rawValue])
        return start == 0 ? nil : start..<Int(ends[field.rawValue])
    }

    /// A field's value as text, which is slow; nil if the provider did not send the field.
    package func text(_ field: Field) -> String? {
        range(field).map { String(decoding: values[$0], as: UTF8.self) }
    }

    /// The trace context of the provider. An invalid one counts as missing, as W3C Trace Context says; so does a
    /// `traceparent` that occurs twice.
    var traceContext: TraceContext? {
        guard range(.traceParent) != nil else { return nil }
        var (parents, states): ([[UInt8]], [UInt8]) = ([], [])
        forEachField { name, value in
            if name.matches("traceparent") {
                parents.append(Array(copying: value))
            } else if name.matches("tracestate") {
                states.append(copying: value)
                states.append(UInt8(ascii: ","))
            }
        }
        guard parents.count == 1, let parent = parents.first else { return nil }
        return TraceContext(parent: parent.span, states: states)
    }

    /// Whether the answer must be without a body (RFC 9110, section 9.3.2), even if it is an error.
    package var isHead: Bool {
        let values = values
        return range(.method).map { values.span.extracting($0).matches("HEAD") } ?? false
    }

    /// Whether it is a call of the device protocol.
    package var isOfDevice: Bool {
        let values = values
        return range(.path).map { values.span.extracting($0).begins(with: "/postrider.") } ?? false
    }

    /// Moves the body out: it becomes the notification's payload.
    func takeBody() -> [UInt8] {
        var taken: [UInt8] = []
        swap(&taken, &body)
        return taken
    }
}

extension PushRequest {
    /// The moment in `apns-expiration`, which is in epoch seconds; nil if the provider sent none.
    ///
    /// - Throws: `BadExpirationDate`.
    func expirationMoment() throws(Rejection) -> Moment? {
        guard let range = range(.expiration) else { return nil }
        guard (1...19).contains(range.count) else { throw .badExpirationDate }
        let values = values
        let digits = values.span.extracting(range)
        var seconds: Int64 = 0
        for index in digits.indices {
            guard 0x30...0x39 ~= digits[index] else { throw .badExpirationDate }
            let (product, productOverflow) = seconds.multipliedReportingOverflow(by: 10)
            let (sum, sumOverflow) = product.addingReportingOverflow(Int64(digits[index] - 0x30))
            guard !productOverflow, !sumOverflow else { throw .badExpirationDate }
            seconds = sum
        }
        return Moment(seconds: seconds)
    }
}

extension Expiration {
    /// The expiration for a moment that a provider names: the storage limit if that is earlier, and now-or-never if the
    /// moment has passed.
    init(_ moment: Moment, now: Moment, latest: Moment) {
        self = moment <= now ? .nowOrNever : .at(min(moment, latest))
    }
}
