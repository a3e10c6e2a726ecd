import HTTP2
import Notifications

/// One request as a provider sends it: the fields that matter, byte for byte, and the body.
///
/// Pooled: its arrays keep their room from one push to the next. Fields that the relay does not use are not
/// kept.
final class PushRequest {
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

    /// The values of all fields, one after the other; ``range(_:)`` tells where each lies.
    var values: [UInt8] { run.room }
    private var run = ByteRun()
    private var ranges = [Range<Int>?](repeating: nil, count: Field.allCases.count)
    /// Whether a field came twice.
    private(set) var hasDuplicates = false
    /// The body, up to the largest payload of any push type; ``bodyByteCount`` tells how long it was in
    /// truth.
    private(set) var body: [UInt8] = []
    /// Bytes of the body as sent.
    private(set) var bodyByteCount = 0
    /// The `apns-id` of the reply.
    private(set) var echo = Echo.sent([])

    /// What a reply says in `apns-id`.
    enum Echo {
        /// The request's own, byte for byte, be it good or not.
        case sent([UInt8])
        /// One that was drawn because the request has none.
        case drawn(NotificationIdentity)

        /// The identity that it spells, if it spells one.
        var identity: NotificationIdentity? {
            switch self {
            case .sent(let text): NotificationIdentity(text: text.span)
            case .drawn(let identity): identity
            }
        }

        /// As the reply writes it.
        var text: [UInt8] {
            switch self {
            case .sent(let text): text
            case .drawn(let identity): identity.upperCaseText
            }
        }
    }

    /// Begins a request with its header block. `drawIdentity` is asked only where the provider sent no
    /// `apns-id`.
    func begin(_ block: borrowing HeaderBlock, drawIdentity: () -> NotificationIdentity) {
        run.removeAll()
        for index in ranges.indices { ranges[index] = nil }
        hasDuplicates = false
        body = []
        bodyByteCount = 0
        block.forEach { name, value in
            guard let field = Field(name) else { return }
            if ranges[field.rawValue] != nil { hasDuplicates = true }
            ranges[field.rawValue] = run.append(value)
        }
        if let range = ranges[Field.identifier.rawValue] {
            echo = .sent(Array(values[range]))
        } else {
            echo = .drawn(drawIdentity())
        }
    }

    /// Adds bytes of the body. What exceeds every payload limit is counted, not kept.
    func append(_ bytes: Span<UInt8>) {
        bodyByteCount += bytes.count
        guard bodyByteCount <= Limits.voipPayloadBytes else { return }
        body.reserveCapacity(bodyByteCount)
        body.append(copying: bytes)
    }

    /// Where a field's value lies in ``values``, or nil where the provider sent none.
    func range(_ field: Field) -> Range<Int>? { ranges[field.rawValue] }

    /// A field's value as text, which costs; nil where the provider sent none.
    func text(_ field: Field) -> String? { range(field).map { String(decoding: values[$0], as: UTF8.self) } }

    /// Hands the body over: it becomes the notification's payload.
    func takeBody() -> [UInt8] {
        let taken = body
        body = []
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
