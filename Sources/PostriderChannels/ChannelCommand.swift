package import PostriderCourier
package import PostriderNotifications

/// A provider's request to the home of its app's channels.
package enum ChannelCommand: Sendable {
    case create(ChannelStorage)
    case read(ChannelIdentity)
    case remove(ChannelIdentity)
    case list
    /// `isNowOrNever`: the provider sent 0, rather than a moment that has passed.
    case broadcast(Broadcast, isNowOrNever: Bool, by: ProviderProof)
}

/// The answer to a provider.
package enum ChannelAnswer: Sendable, Equatable {
    /// 201.
    case created(ChannelIdentity)
    /// 200 with the channel's settings.
    case settings(ChannelStorage)
    /// 204.
    case removed
    /// 200 with these names.
    case list([ChannelIdentity])
    /// 200: the broadcast is durable if it has to be, and is being sent.
    case accepted
    /// The status of this reason.
    case rejected(Rejection)
}

/// A device's request for the broadcasts of a channel, on its way to the channel's home.
package struct SubscriptionRequest: Sendable {
    package let channel: ChannelIdentity
    package let owner: ChannelOwner
    /// What the device asked for.
    package let wish: Subscribe
    /// The device's home, and its connection there. `ticket` tells this request from an earlier one.
    package let shard: Int
    package let connection: UInt64
    package let ticket: UInt64

    /// A request from its parts.
    package init(
        channel: ChannelIdentity, owner: ChannelOwner, wish: Subscribe, shard: Int, connection: UInt64,
        ticket: UInt64
    ) {
        (self.channel, self.owner, self.wish) = (channel, owner, wish)
        (self.shard, self.connection, self.ticket) = (shard, connection, ticket)
    }
}
