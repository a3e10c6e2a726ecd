import PostriderChannels
public import PostriderNotifications

/// Answers the operator's questions about channels.
struct ChannelRoutes {
    let queries: ShardQueries

    /// `GET /v1/channels?topic=…`: asks the homes of the channels, and then all shards for subscribers of those that
    /// are listed; in a cluster those of all nodes.
    func list(_ query: Substring, _ respond: @escaping ControlHandler.Respond) {
        guard queries.nodes.cluster != nil, Self.topics(query) != nil else {
            return listHere(query, respond)
        }
        queries.nodes.askAll(.channels(query: String(query))) { [queries] answers in
            let parts = answers.read(as: Control.ChannelList.self)
            var list = Control.ChannelList(merging: parts.all, most: Limits.listedChannels)
            var identities: [ChannelIdentity] = []
            list.channels.removeAll { channel in
                let text = Array(channel.channel.utf8)
                guard let identity = ChannelIdentity(text: text.span) else { return true }
                identities.append(identity)
                return false
            }
            queries.nodes.askAll(.subscribers(identities)) { told in
                let counts = told.read(as: [Int].self)
                for index in list.channels.indices {
                    list.channels[index].subscribers = counts.all.reduce(0) { sum, counts in
                        sum + (counts.indices.contains(index) ? counts[index] : 0)
                    }
                }
                respond(ControlHandler.answer(list, gap: parts.gap ?? counts.gap))
            }
        }
    }

    /// The topics that a query names, at most one; nil if it makes no sense.
    private static func topics(_ query: Substring) -> [Topic]? {
        let words = query.split(separator: "&").map { $0.split(separator: "=", maxSplits: 1) }
        let topics = words.map { $0.count == 2 && $0[0] == "topic" ? Topic(String($0[1])) : nil }
        return topics.count < 2 && !topics.contains(nil) ? topics.compactMap { $0 } : nil
    }

    /// Lists the channels whose homes are shards of this node, and counts their subscribers here.
    func listHere(_ query: Substring, _ respond: @escaping ControlHandler.Respond) {
        guard let topics = Self.topics(query) else {
            return respond(
                ControlHandler.refusal(
                    400, "Channels are asked for without a query, or with one topic, a bundle identifier."))
        }
        queries.ask(.channels(of: topics.first)) { [self] replies in
            var (count, channels) = (0, [ChannelSummary]())
            for case .channels(let number, let some) in replies {
                count += number
                channels += some
            }
            let listed = ChannelSummary.oldest(Limits.listedChannels, of: channels)
            countHere(listed.map(\.record.identity)) { subscribers in
                let told = zip(listed, subscribers).map(Control.Channel.init)
                respond(ControlHandler.answer(Control.ChannelList(count: count, channels: told)))
            }
        }
    }

    /// Counts the subscribers that each of these channels has on this node.
    func countHere(_ channels: [ChannelIdentity], then: @escaping ([Int]) -> Void) {
        queries.ask(.subscribers(channels)) { replies in
            var subscribers = Array(repeating: 0, count: channels.count)
            for case .subscribers(let counts) in replies {
                for (index, count) in counts.enumerated() { subscribers[index] += count }
            }
            then(subscribers)
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

extension Control.ChannelList {
    /// The oldest channels of all nodes.
    init(merging parts: [Control.ChannelList], most: Int) {
        let all = parts.flatMap(\.channels).sorted {
            ($0.createdAt, $0.channel) < ($1.createdAt, $1.channel)
        }
        self.init(count: parts.reduce(0) { $0 + $1.count }, channels: Array(all.prefix(most)))
    }
}
