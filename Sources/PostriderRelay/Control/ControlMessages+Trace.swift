public import PostriderNotifications

extension Control {
    /// `GET /v1/trace`.
    public struct Trace: Codable, Sendable {
        /// The pushes that were found, in the order in which they were accepted.
        public var pushes: [TracedPush]
        /// When the relay started since the first of them was accepted.
        public var starts: [Int64]
        /// The refusals that were asked for, oldest first.
        public var refusals: [TracedRefusal]
        /// Records that are missing because they came too fast, or the disk failed, since the relay started.
        public var lost: UInt64
        /// Refusals that were not written down because there were too many in their second, since the relay started.
        public var untoldRefusals: UInt64
        /// One push of so many is traced.
        public var sample: Int
    }

    /// A push that was refused.
    public struct TracedRefusal: Codable, Sendable {
        /// When.
        public var at: Int64
        /// Its `apns-id`; nil where it had one that is none.
        public var identity: String?
        /// The status that its provider was told.
        public var status: Int
        /// The reason.
        public var reason: String
        /// `apns-topic`, where it is known.
        public var topic: String?
        /// On which port.
        public var environment: Environment
        /// The shard of its connection.
        public var shard: Int
        /// The connection, as the log calls it.
        public var connection: UInt64
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
        /// The device; nil where it was broadcast.
        public var device: String?
        /// The channel that it was broadcast to.
        public var channel: String?
        /// Where its device token, or its channel, is good.
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
        /// `discarded`, `dropped`, `handedOver`, `shown`, `actedOn`, `replacedOnDevice`, `begun`, `done`, `failed`,
        /// `gaveUp`, `postponed`, `broadcast`, `skipped`.
        public var what: String
        /// Of `sent`: the shard of the connection; of `broadcast` and `skipped`: of the devices.
        public var shard: Int?
        /// Of `sent`: the connection, as the log calls it.
        public var connection: UInt64?
        /// Of `broadcast` and `skipped`: how many devices.
        public var devices: UInt64?
        /// Of `dropped`.
        public var cause: String?
        /// Of `replaced` and `merged`: the row of the other push.
        public var otherRow: Int64?
        /// Of these, where it is known: the other's `apns-id`.
        public var other: String?
        /// Of what a device reports, but for `merged`: when, by the device's clock.
        public var deviceAt: Int64?
        /// Of `done`, `failed`, `gaveUp` and `postponed`: what the device says about it.
        public var text: String?
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
    init(_ search: TraceSearch, _ losses: TraceLosses, refusals: [TraceRefusal] = [], sample: Int) {
        self.init(
            pushes: search.found.map { life in
                var push = Control.TracedPush(life.acceptance)
                push.events = life.events.enumerated().map { index, event in
                    var told = Control.TracedEvent(event, search.names)
                    told.text = life.texts[index]
                    return told
                }
                push.isCut = life.isCut
                return push
            },
            starts: search.starts.map(\.milliseconds), refusals: refusals.map { Control.TracedRefusal($0) },
            lost: losses.count, untoldRefusals: losses.refusals, sample: sample)
    }
}

extension Control.TracedRefusal {
    init(_ refusal: TraceRefusal) {
        let (shard, connection) = TraceEvent.connection(in: refusal.connection)
        self.init(
            at: refusal.moment.milliseconds, identity: refusal.identity?.description,
            status: refusal.reason.status, reason: refusal.reason.rawValue, topic: refusal.topic?.text,
            environment: refusal.environment, shard: shard, connection: connection)
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
        let (channel, environment): (String?, Environment) =
            switch push.target {
            case .device(_, let registration): (nil, registration.environment)
            case .channel(let channel, let environment): (channel.description, environment)
            }
        self.init(
            row: push.row.value, identity: push.identity.description,
            uniqueIdentity: push.uniqueIdentity.map { String(decoding: $0.lowerCaseText, as: UTF8.self) },
            acceptedAt: push.moment.milliseconds, key: key, hasCertificate: push.proof == .certificate,
            payloadBytes: push.payloadBytes, topic: push.topic.text, device: push.device?.description,
            channel: channel, environment: environment, pushType: push.pushType?.rawValue,
            priority: push.priority.rawValue, expiresAt: expiresAt, collapses: push.collapses, events: [],
            isCut: false)
    }
}

extension Control.TracedEvent {
    init(_ report: TraceReport) {
        self.init(report.event(of: QueueRow(0)), [:])
        text = report.text.isEmpty ? nil : report.text
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
        case .broadcast, .skipped: (shard, devices) = (event.connection.shard, event.connection.number)
        case .handedOver, .shown, .actedOn, .replacedOnDevice, .begun, .done, .failed, .gaveUp, .postponed:
            deviceAt = event.detail
        default: break
        }
    }
}
