import PostriderChannels
import PostriderDeviceQueue
import PostriderNotifications

/// The provider connections of one shard by number, so that answers find their provider.
final class ProviderSessions: PushAnswering {
    private var table = SortedTable<UInt64, ProviderSession>()
    /// Each is called with the answers to pushes that came over no provider's connection: some are the operator's, some
    /// are for senders of Web Push.
    var others: [(ReplyAddress, PushResult) -> Void] = []
    /// Each is called with the answers to requests about channels that came over no provider's connection.
    var otherOrders: [(ReplyAddress, ChannelAnswer) -> Void] = []

    var count: Int { table.count }
    /// All connections, the oldest first.
    var all: [ProviderSession] { table.values }

    func add(_ session: ProviderSession) { table[session.number] = session }
    func remove(_ session: ProviderSession) { table[session.number] = nil }

    /// Answers a push, if its connection is still open.
    func answer(_ address: ReplyAddress, _ result: PushResult) {
        guard let session = table[address.connection] else {
            for answer in others { answer(address, result) }
            return
        }
        session.answer(address.stream, result)
    }

    /// Answers a request about channels, if its connection is still open.
    func answer(_ address: ReplyAddress, _ answer: ChannelAnswer) {
        guard let session = table[address.connection] else {
            for tell in otherOrders { tell(address, answer) }
            return
        }
        session.answer(address.stream, answer)
    }

    /// Answers a lookup of devices, if its connection is still open.
    func answer(_ address: ReplyAddress, _ answer: LookupAnswer) {
        table[address.connection]?.answer(address.stream, answer)
    }
}
