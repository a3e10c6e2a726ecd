import PostriderHTTP2
import PostriderNotifications

/// One request as a provider sends it: its fields, byte for byte, and the body. It lives until the request is answered.
///
/// Pooled: its header block keeps its room from one push to the next.
final class PushRequest {
    /// How far it has come.
    enum Phase {
        /// The request is still arriving.
        case receiving
        /// The push is with the device's home.
        case waiting
        /// The same on a relay with a test bench; or a rule has decided about it, and it is put off.
        case observed
        /// The order is with the home of the app's channels.
        case ordering(ChannelEcho)
    }

    /// The fields that matter.
    enum Field: Int, CaseIterable {
        case method
        case path
        case authorization
        case identifier
        case topic
        case pushType
        case priority
        case expiration
        case collapseIdentifier
        // Of channels and broadcasts only.
        case channelIdentifier
        case requestIdentifier

        init?(_ name: Span<UInt8>) {
            switch name.count {
            case 5 where name.matches(":path"): self = .path
            case 7 where name.matches(":method"): self = .method
            case 7 where name.matches("apns-id"): self = .identifier
            case 10 where name.matches("apns-topic"): self = .topic
            case 13 where name.matches("authorization"): self = .authorization
            case 13 where name.matches("apns-priority"): self = .priority
            case 14 where name.matches("apns-push-type"): self = .pushType
            case 15 where name.matches("apns-expiration"): self = .expiration
            case 15 where name.matches("apns-channel-id"): self = .channelIdentifier
            case 15 where name.matches("apns-request-id"): self = .requestIdentifier
            case 16 where name.matches("apns-collapse-id"): self = .collapseIdentifier
            default: return nil
            }
        }
    }

    var phase = Phase.receiving
    /// When the request had arrived, in monotonic nanoseconds.
    var endedAt: UInt64 = 0
    /// The `apns-unique-id` of the reply, in the development environment.
    var uniqueIdentity: NotificationIdentity?
    /// The block that the request came with.
    private var block = HeaderBlock()
    /// Where the value of each field lies in ``values``; nothing has a value that begins at 0.
    private var ends = InlineArray<11, UInt32>(repeating: 0)
    private var starts = InlineArray<11, UInt32>(repeating: 0)
    /// Whether a field came twice.
    private(set) var hasDuplicates = false
    /// The body, up to the largest payload of any push type; ``bodyByteCount`` tells how long it was in
    /// truth.
    private(set) var body: [UInt8] = []
    /// Bytes of the body as sent.
    private(set) var bodyByteCount = 0
    /// The identity of one that came without `apns-id`.
    private var drawnIdentity: NotificationIdentity?

    /// The `apns-id` of the reply: the request's own, byte for byte, be it good or not, or one that was drawn. A copy.
    var echo: [UInt8] {
        drawnIdentity.map(\.upperCaseText) ?? range(.identifier).map { Array(values[$0]) } ?? []
    }

    /// The identity that the push has; nil where its `apns-id` spells none.
    var identity: NotificationIdentity? {
        if let drawnIdentity { return drawnIdentity }
        let values = values
        return range(.identifier).flatMap { NotificationIdentity(text: values.span.extracting($0)) }
    }

    /// Adds `apns-id` to a reply. Its value differs each time: it is not to enter the compression table, except for the
    /// first on a connection, after which the name is in there.
    func addEcho(to reply: inout HeaderBlock, isFirst: Bool) {
        withEcho { reply.add("apns-id", $0, isIndexed: isFirst) }
    }

    /// Lends the `apns-id` of the reply to a push that is accepted; the provider's own is none that is long then.
    func withEcho(_ body: (Span<UInt8>) -> Void) {
        if let drawnIdentity {
            let letters = drawnIdentity.letters(letterA: UInt8(ascii: "A"))
            body(letters.span)
        } else if let range = range(.identifier) {
            let values = values
            body(values.span.extracting(range))
        }
    }

    /// Begins a request with its header block, which it keeps; in its place it leaves the last one's. `drawIdentity` is
    /// asked only where the provider sent no `apns-id`.
    func begin(_ received: inout HeaderBlock, drawIdentity: () -> NotificationIdentity) {
        swap(&block, &received)
        starts = InlineArray(repeating: 0)
        hasDuplicates = false
        if !body.isEmpty { body = [] }
        bodyByteCount = 0
        phase = .receiving
        block.forEachPlace { name, value in
            guard let field = Field(name) else { return }
            if starts[field.rawValue] != 0 { hasDuplicates = true }
            starts[field.rawValue] = UInt32(truncatingIfNeeded: value.lowerBound)
            ends[field.rawValue] = UInt32(truncatingIfNeeded: value.upperBound)
        }
        drawnIdentity = range(.identifier) == nil ? drawIdentity() : nil
    }

    /// Gives back what is kept for the next request and is unusually large.
    func rest() {
        block.giveBackMemory()
        if !body.isEmpty { body = [] }
    }

    /// The bytes in which the values lie; ``range(_:)`` tells where.
    var values: [UInt8] { block.contents }

    /// Adds bytes of the body. What exceeds every payload limit is counted, not kept.
    func append(_ bytes: Span<UInt8>) {
        bodyByteCount += bytes.count
        guard bodyByteCount <= Limits.voipPayloadBytes else { return }
        guard !body.isEmpty else { return body = Array(copying: bytes) }
        body.reserveCapacity(bodyByteCount)
        body.append(copying: bytes)
    }

    /// Calls `body` for each field in the order of the wire.
    func forEachField(_ body: (_ name: Span<UInt8>, _ value: Span<UInt8>) -> Void) { block.forEach(body) }

    /// Where a field's value lies in ``values``, or nil where the provider sent none.
    func range(_ field: Field) -> Range<Int>? {
        let start = Int(starts[field.rawValue])
        return start == 0 ? nil : start..<Int(ends[field.rawValue])
    }

    /// A field's value as text, which costs; nil where the provider sent none.
    func text(_ field: Field) -> String? { range(field).map { String(decoding: values[$0], as: UTF8.self) } }

    /// Whether its answer must be without a body (RFC 9110, section 9.3.2), whatever is wrong with it.
    var isHead: Bool {
        let values = values
        return range(.method).map { values.span.extracting($0).matches("HEAD") } ?? false
    }

    /// Whether it is a call of the devices' protocol.
    var isOfDevice: Bool {
        let values = values
        return range(.path).map { values.span.extracting($0).begins(with: "/postrider.") } ?? false
    }

    /// Hands the body over: it becomes the notification's payload.
    func takeBody() -> [UInt8] {
        var taken: [UInt8] = []
        swap(&taken, &body)
        return taken
    }
}

extension PushRequest {
    /// The moment that `apns-expiration` names in epoch seconds; nil where the provider sent none.
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
    /// What a moment that a provider names comes to: the earlier of it and the storage limit counts, and one that has
    /// passed is now or never.
    init(_ moment: Moment, now: Moment, latest: Moment) {
        self = moment <= now ? .nowOrNever : .at(min(moment, latest))
    }
}
