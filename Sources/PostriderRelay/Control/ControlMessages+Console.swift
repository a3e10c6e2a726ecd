import PostriderDeviceQueue
import PostriderNotifications

extension Control {
    /// `PUT /v1/console-links/<name>`.
    public struct ConsoleLinkRequest: Codable, Sendable {
        /// The role of the session: `look`, `send` or `administer`.
        public var role: String

        /// An order for a link.
        public init(role: String) { self.role = role }
    }

    /// The answer to `PUT /v1/console-links/<name>`.
    public struct ConsoleLink: Codable, Sendable {
        /// The address at which the console listens.
        public var address: String
        /// What stands after `#/login/` in the address of the page. It is good once.
        public var secret: String
        /// For how many seconds it is good.
        public var seconds: Int
    }

    /// `GET /v1/history`.
    public struct History: Codable, Sendable {
        /// The oldest first, ten seconds apart, an hour of them at most.
        public var points: [HistoryPoint]
    }

    /// Figures at one time. Those of pushes count from the start of the relay.
    public struct HistoryPoint: Codable, Sendable {
        /// Milliseconds since 1970.
        public var at: Int64
        /// Accepted by the homes of devices.
        public var accepted: UInt64
        /// Pushes that providers were refused.
        public var refused: UInt64
        /// Acknowledged by devices.
        public var delivered: UInt64
        /// Waiting for devices.
        public var pending: UInt64
        /// Connected devices.
        public var connected: Int
        /// Connections of providers.
        public var providers: Int
    }
}

extension Control.HistoryPoint {
    init(_ report: ShardReport, at now: Moment) {
        self.init(
            at: now.milliseconds, accepted: report.tally.accepted,
            refused: report.measures.refusedPushes.values.reduce(report.measures.customRefusals, +),
            delivered: report.tally.delivered, pending: report.tally.pending,
            connected: report.deviceConnections, providers: report.providerConnections)
    }
}
