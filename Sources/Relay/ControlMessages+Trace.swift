public import Notifications

extension Control {
    /// `GET /v1/trace`.
    public struct Trace: Codable, Sendable {
        /// The pushes that were found, in the order in which they were accepted.
        public var pushes: [TracedPush]
        /// When the relay started since the first of them was accepted.
        public var starts: [Int64]
        /// Records that are missing because they came too fast, or the disk failed, since the relay started.
        public var lost: UInt64
        /// One push of so many is traced.
        public var sample: Int
    }

    /// `GET /v1/trace?follow`.
    public struct TraceFeed: Codable, Sendable {
        /// Pushes that were accepted meanwhile.
        public var pushes: [TracedPush]
        /// What happened to these and others.
        public var events: [TracedEvent]
        /// Where to go on.
        public var cursor: String
        /// As in ``Trace``.
        public var lost: UInt64
    }

    /// One push.
    public struct TracedPush: Codable, Sendable {
        /// By which ``TracedEvent``s name it.
        public var row: Int64
        /// Its `apns-id`.
        public var identity: String
        /// Its `apns-unique-id`, if its provider was told one.
        public var uniqueIdentity: String?
        /// When it was accepted.
        public var acceptedAt: Int64
        /// The key of its provider's token.
        public var key: String?
        /// Whether its provider showed a client certificate.
        public var hasCertificate: Bool
        /// Bytes of its payload.
        public var payloadBytes: Int
        /// `apns-topic`.
        public var topic: String
        /// The device.
        public var device: String
        /// Where its device token is good.
        public var environment: Environment
        /// `apns-push-type`.
        public var pushType: String?
        /// `apns-priority`.
        public var priority: UInt8
        /// Until when it is kept; nil: it was now or never.
        public var expiresAt: Int64?
        /// Whether it has a collapse identifier.
        public var collapses: Bool
        /// What happened to it, in order; empty in a ``TraceFeed``.
        public var events: [TracedEvent]
        /// Whether there were more events than an answer holds; the last is the last.
        public var isCut: Bool
    }

    /// One thing that happened to a push.
    public struct TracedEvent: Codable, Sendable {
        /// Which push.
        public var row: Int64
        /// When.
        public var at: Int64
        /// One of `started`, `stored`, `sent`, `returned`, `recalled`, `acknowledged`, `replaced`, `merged`, `expired`,
        /// `discarded`, `dropped`, `handedOver`, `shown`, `actedOn`.
        public var what: String
        /// Of `sent`: the shard of the connection.
        public var shard: Int?
        /// Of `sent`: the connection, as the log calls it.
        public var connection: UInt64?
        /// Of `dropped`.
        public var cause: String?
        /// Of `replaced` and `merged`: the row of the other push.
        public var otherRow: Int64?
        /// Of these, where it is known: the other's `apns-id`.
        public var other: String?
        /// Of `handedOver`, `shown` and `actedOn`: when, by the device's clock.
        public var deviceAt: Int64?
        /// Of these in a ``TraceFeed``, where the row is 0: the `apns-id` and the device that tells of it.
        public var identity: String?
        /// The device.
        public var device: String?

        /// Whether the relay was done with the push by this.
        public var isEnding: Bool {
            TraceEvent.Kind.allCases.first { "\($0)" == what }?.isEnding ?? false
        }
    }
}

extension Control.Trace {
    init(_ search: TraceSearch, lost: UInt64, sample: Int) {
        self.init(
            pushes: search.found.map { life in
                var push = Control.TracedPush(life.acceptance)
                push.events = life.events.map { Control.TracedEvent($0, search.names) }
                push.isCut = life.isCut
                return push
            },
            starts: search.starts.map(\.milliseconds), lost: lost, sample: sample)
    }
}

extension Control.TraceFeed {
    init(_ records: [TraceRecord], _ next: TracePosition, lost: UInt64) {
        self.init(pushes: [], events: [], cursor: "\(next.segment):\(next.offset)", lost: lost)
        for record in records {
            switch record {
            case .acceptance(let push): pushes.append(Control.TracedPush(push))
            case .event(let event): events.append(Control.TracedEvent(event, [:]))
            case .report(let report): events.append(Control.TracedEvent(report))
            }
        }
    }
}

extension Control.TracedPush {
    init(_ push: TraceAcceptance) {
        let expiresAt: Int64? = if case .at(let moment) = push.expiration { moment.milliseconds } else { nil }
        let key: String? = if case .key(let identifier) = push.proof { identifier } else { nil }
        self.init(
            row: push.row.value, identity: push.identity.description,
            uniqueIdentity: push.uniqueIdentity.map { String(decoding: $0.lowerCaseText, as: UTF8.self) },
            acceptedAt: push.moment.milliseconds, key: key, hasCertificate: push.proof == .certificate,
            payloadBytes: push.payloadBytes, topic: push.topic.text, device: push.device.description,
            environment: push.registration.environment, pushType: push.pushType?.rawValue,
            priority: push.priority.rawValue, expiresAt: expiresAt, collapses: push.collapses, events: [],
            isCut: false)
    }
}

extension Control.TracedEvent {
    init(_ report: TraceReport) {
        self.init(
            TraceEvent(
                report.kind, at: report.moment, row: QueueRow(0), detail: report.deviceMoment.milliseconds),
            [:])
        identity = report.identity.description
        device = report.device.description
    }

    init(_ event: TraceEvent, _ names: [QueueRow: NotificationIdentity]) {
        self.init(row: event.row.value, at: event.moment.milliseconds, what: "\(event.kind)")
        switch event.kind {
        case .sent: (shard, connection) = (event.connection.shard, event.connection.number)
        case .dropped: cause = Tally.Drop(rawValue: Int(event.detail)).map { "\($0)" }
        case .replaced, .merged:
            otherRow = event.detail
            other = names[QueueRow(event.detail)]?.description
        case .handedOver, .shown, .actedOn: deviceAt = event.detail
        default: break
        }
    }
}
