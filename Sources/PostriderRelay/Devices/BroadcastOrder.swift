import PostriderNotifications

/// The order of broadcasts as one shard of a cluster's node sees it.
///
/// The home of a channel numbers its broadcasts and its answers about subscriptions with rows, which rise, also from
/// one home to the next one. Broadcasts come over another link than the answers, and those of a former home over yet
/// another one. So an older broadcast may come after a newer one or after an answer that contains a newer one, and a
/// newer one may come before the answer to a device that is to get it.
struct BroadcastOrder {
    private struct Channel {
        /// How many devices here wait for an answer.
        var questions = 0
        /// The newest broadcast that has come, and its row.
        var newest: (broadcast: Broadcast, row: QueueRow)?
        /// By session: the row of the answer, until a broadcast has come that is newer.
        var grants: [UInt64: QueueRow] = [:]
    }

    /// The channels for which devices here have subscribed, or wait for an answer.
    private var channels: [ChannelIdentity: Channel] = [:]

    /// A device waits for an answer about a channel.
    mutating func asked(about channel: ChannelIdentity) {
        channels[channel, default: Channel()].questions += 1
    }

    /// It does not wait any more.
    mutating func answered(about channel: ChannelIdentity) { channels[channel]?.questions -= 1 }

    /// No device here is subscribed to a channel any more.
    mutating func forget(_ channel: ChannelIdentity) {
        if channels[channel]?.questions == 0 { channels[channel] = nil }
    }

    /// The newest broadcast that has come, if it is newer than an answer of this row.
    func newest(of channel: ChannelIdentity, after row: QueueRow) -> Broadcast? {
        guard row.value > 0, let newest = channels[channel]?.newest, newest.row > row else { return nil }
        return newest.broadcast
    }

    /// A session has what a channel stored when the answer of this row was given.
    mutating func grant(_ channel: ChannelIdentity, to session: UInt64, at row: QueueRow) {
        if row.value > 0 { channels[channel]?.grants[session] = row }
    }

    /// A session is not subscribed any more.
    mutating func end(of channel: ChannelIdentity, for session: UInt64) {
        channels[channel]?.grants[session] = nil
    }

    /// A broadcast has come. Returns the row of the answer of each session that has something newer, or got the newest
    /// before; nil if all have.
    mutating func take(_ broadcast: Broadcast, _ row: QueueRow) -> [UInt64: QueueRow]? {
        guard let channel = channels[broadcast.channel], row > channel.newest?.row ?? QueueRow(0) else {
            return nil
        }
        channels[broadcast.channel]?.newest = (broadcast, row)
        guard !channel.grants.isEmpty else { return [:] }
        let newer = channel.grants.filter { $0.value > row }
        channels[broadcast.channel]?.grants = newer
        return newer
    }
}
