import PostriderDeviceQueue
public import PostriderNotifications

extension Control {
    /// `GET /v1/trace`.
    public struct Trace: Codable, Sendable {
        /// The pushes that were found, in the order in which they were accepted.
        public var pushes: [TracedPush]
        /// The relay's starts since the first of these pushes was accepted.
        public var starts: [Int64]
        /// The refusals that were asked for, oldest first.
        public var refusals: [TracedRefusal]
        /// Records that are missing since the relay started, because there were too many or the disk failed.
        public var lost: UInt64
        /// Refusals that were not recorded since the relay started, because there were too many in one second.
        public var untoldRefusals: UInt64
        /// One of this many pushes is traced.
        public var sample: Int
    }

    /// A push that was refused.
    public struct TracedRefusal: Codable, Sendable {
        /// When it was refused.
        public var at: Int64
        /// Its `apns-id`; nil if that was not a UUID.
        public var identity: String?
        /// The status of the answer.
        public var status: Int
        /// The reason.
        public var reason: String
        /// Its `apns-topic`, if it had one.
        public var topic: String?
        /// The environment of the port.
        public var environment: Environment
        /// The shard of its connection.
        public var shard: Int
        /// The number of the connection, as in the log.
        public var connection: UInt64
        /// The node of the cluster that has refused it; nil without a cluster.
        public var node: String?
    }

    /// `GET /v1/trace?follow`.
    public struct TraceFeed: Codable, Sendable {
        /// Pushes that were accepted since the last answer.
        public var pushes: [TracedPush]
        /// What happened to these and to other pushes.
        public var events: [TracedEvent]
        /// Pass it as `follow=` to go on from here.
        public var cursor: String
        /// As in ``Trace``.
        public var lost: UInt64
    }

    /// One push.
    public struct TracedPush: Codable, Sendable {
        /// The number by which a ``TracedEvent`` names it.
        public var row: Int64
        /// Its `apns-id`.
        public var identity: String
        /// Its `apns-unique-id`, if the provider was told one.
        public var uniqueIdentity: String?
        /// When it was accepted.
        public var acceptedAt: Int64
        /// The key of its provider's token.
        public var key: String?
        /// Whether its provider showed a client certificate.
        public var hasCertificate: Bool
        /// The length of its payload in bytes.
        public var payloadBytes: Int
        /// SHA-256 of its payload in hexadecimal; nil if an earlier version has recorded it.
        public var payloadSHA256: String?
        /// `apns-topic`.
        public var topic: String
        /// The device; nil for a broadcast.
        public var device: String?
        /// The number of the app's registration on the device; nil for a broadcast.
        public var registration: UInt32?
        /// The channel that it was broadcast to.
        public var channel: String?
        /// The environment of its device token or its channel.
        public var environment: Environment
        /// `apns-push-type`.
        public var pushType: String?
        /// `apns-priority`.
        public var priority: UInt8
        /// When it expires; nil if it was not to be stored (`apns-expiration: 0`).
        public var expiresAt: Int64?
        /// Whether it has a collapse identifier.
        public var collapses: Bool
        /// What happened to it, in order; empty in a ``TraceFeed``.
        public var events: [TracedEvent]
        /// Whether there were more events than an answer holds. The last element is the last event in any case.
        public var isCut: Bool
        /// The node of the cluster that has accepted it; nil without a cluster.
        public var node: String?
    }

    /// One thing that happened to a push.
    public struct TracedEvent: Codable, Sendable {
        /// The row of the push.
        public var row: Int64
        /// When it happened.
        public var at: Int64
        /// One of `started`, `stored`, `sent`, `returned`, `recalled`, `acknowledged`, `replaced`, `merged`, `expired`,
        /// `discarded`, `dropped`, `handedOver`, `shown`, `actedOn`, `replacedOnDevice`, `begun`, `done`, `failed`,
        /// `gaveUp`, `postponed`, `broadcast`, `skipped`.
        public var what: String
        /// For `sent`: the shard of the connection. For `broadcast` and `skipped`: the shard of the devices.
        public var shard: Int?
        /// For `sent`: the number of the connection, as in the log.
        public var connection: UInt64?
        /// For `broadcast` and `skipped`: how many devices.
        public var devices: UInt64?
        /// For `dropped`: the cause.
        public var cause: String?
        /// For `replaced` and `merged`: the row of the other push.
        public var otherRow: Int64?
        /// For `replaced` and `merged`: the `apns-id` of the other push, if it is known.
        public var other: String?
        /// For reports of a device, except `merged`: the time by the device's clock.
        public var deviceAt: Int64?
        /// For `done`, `failed`, `gaveUp` and `postponed`: the device's text about it.
        public var text: String?
        /// Set only for reports of devices in a ``TraceFeed``, whose row is 0: the `apns-id` of the push.
        public var identity: String?
        /// Set together with ``identity``: the device that reports.
        public var device: String?
        /// The node of the cluster that has recorded it, if several nodes know of the push; nil without a cluster.
        public var node: String?

        /// Whether the relay was finished with the push after this event.
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
        let (channel, registration): (String?, UInt32?) =
            switch push.target {
            case .device(_, let registration): (nil, registration.value)
            case .channel(let channel, _): (channel.description, nil)
            }
        self.init(
            row: push.row.value, identity: push.identity.description,
            uniqueIdentity: push.uniqueIdentity.map { String(decoding: $0.lowerCaseText, as: UTF8.self) },
            acceptedAt: push.moment.milliseconds, key: key, hasCertificate: push.proof == .certificate,
            payloadBytes: push.payloadBytes,
            payloadSHA256: push.payloadDigest.map { Hexadecimal.text($0.bytes) }, topic: push.topic.text,
            device: push.device?.description, registration: registration, channel: channel,
            environment: push.target.environment, pushType: push.pushType?.rawValue,
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
