import PostriderNotifications
import Testing

/// The existing channels, and the words for their names.
struct ContractChannels {
    let changes: [RegistryChange]
    let values: [String: String]

    /// - Parameter isFull: whether the app has 10,000 channels.
    init(isFull: Bool) throws {
        let app = ContractFixture.topic
        let second = "com.example.second"
        var changes: [RegistryChange] = []
        var values = ["unknown channel": ChannelIdentity(high: 9, low: 9).description]
        func add(
            _ words: String?, _ topic: String, _ identity: ChannelIdentity,
            storing storage: ChannelStorage = .mostRecent,
            in environment: PostriderNotifications.Environment = .production, at created: Int64 = 1
        ) throws {
            let owner = ChannelOwner(topic: try #require(Topic(topic)), environment: environment)
            changes.append(
                .putChannel(
                    ChannelRecord(
                        identity: identity, owner: owner, storage: storage,
                        createdAt: Moment(milliseconds: created))))
            if let words { values[words] = identity.description }
        }
        try add("channel", app, ChannelIdentity(high: 1, low: 1))
        try add("channel that stores nothing", app, ChannelIdentity(high: 1, low: 2), storing: .nothing)
        try add("channel to delete", app, ChannelIdentity(high: 1, low: 3))
        try add("second channel to delete", app, ChannelIdentity(high: 1, low: 4))
        try add("development channel", app, ChannelIdentity(high: 2, low: 1), in: .development)
        try add("newer channel of the second app", second, ChannelIdentity(high: 3, low: 1), at: 2)
        try add("older channel of the second app", second, ChannelIdentity(high: 3, low: 2), at: 1)
        values["channel without padding"] = values["channel"]?.replacing("=", with: "")
        if isFull {
            for low in 5...10_000 { try add(nil, app, ChannelIdentity(high: 1, low: UInt64(low))) }
        }
        self.changes = changes
        self.values = values
    }
}
