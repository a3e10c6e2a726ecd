import PostriderChannels
public import PostriderNotifications

/// Answers the operator's questions about channels.
struct ChannelRoutes {
    let queries: ShardQueries

    /// `GET /v1/channels?topic=…`: asks the homes of the channels, and then all shards for subscribers of those that
    /// are listed.
    func list(_ query: Substring, _ respond: @escaping ControlHandler.Respond) {
        let words = query.split(separator: "&").map { $0.split(separator: "=", maxSplits: 1) }
        let topics = words.map { $0.count == 2 && $0[0] == "topic" ? Topic(String($0[1])) : nil }
        guard topics.count < 2, !topics.contains(nil) else {
            respond(
                ControlHandler.refusal(
                    400, "Channels are asked for without a query, or with one topic, a bundle identifier."))
            return
        }
        queries.ask(.channels(of: topics.first ?? nil)) { [queries] replies in
            var (count, channels) = (0, [ChannelSummary]())
            for case .channels(let number, let some) in replies {
                count += number
                channels += some
            }
            let listed = ChannelSummary.oldest(Limits.listedChannels, of: channels)
            queries.ask(.subscribers(listed.map(\.record.identity))) { replies in
                var subscribers = Array(repeating: 0, count: listed.count)
                for case .subscribers(let counts) in replies {
                    for (index, count) in counts.enumerated() { subscribers[index] += count }
                }
                let told = zip(listed, subscribers).map(Control.Channel.init)
                respond(ControlHandler.answer(Control.ChannelList(count: count, channels: told)))
            }
        }
    }
}

extension Control {
    /// `GET /v1/channels`.
    public struct ChannelList: Codable, Sendable {
        /// How many there are.
        public var count: Int
        /// The oldest, ``PostriderNotifications/Limits/listedChannels`` at most.
        public var channels: [Channel]
    }

    /// A channel. Moments are milliseconds since 1970.
    public struct Channel: Codable, Sendable {
        /// Its identifier, `apns-channel-id`.
        public var channel: String
        /// The app that it belongs to.
        public var topic: String
        /// The environment that it belongs to.
        public var environment: Environment
        /// Whether it stores its latest broadcast for devices that connect later.
        public var storesLatest: Bool
        /// When it was created.
        public var createdAt: Int64
        /// How many connected devices are subscribed to it.
        public var subscribers: Int
        /// The `apns-id` of the broadcast that it stores; nil if there is none.
        public var stored: String?
        /// When that was accepted.
        public var storedAt: Int64?
    }
}

extension Control.Channel {
    init(_ summary: ChannelSummary, subscribers: Int) {
        let (record, stored) = (summary.record, summary.stored)
        self.init(
            channel: record.identity.description, topic: record.owner.topic.text,
            environment: record.owner.environment, storesLatest: record.storage == .mostRecent,
            createdAt: record.createdAt.milliseconds, subscribers: subscribers,
            stored: stored?.identity.description, storedAt: stored?.acceptedAt.milliseconds)
    }
}
