import PostriderCourier
import PostriderNotifications

/// What a provider asks of the home of its app's channels.
enum ChannelOrder: Sendable {
    case create(ChannelStorage)
    case read(ChannelIdentity)
    case remove(ChannelIdentity)
    case list
    /// `isNowOrNever`: the provider wrote 0, and not a moment that has passed.
    case broadcast(Broadcast, isNowOrNever: Bool, by: ProviderProof)
}

/// What a provider is answered.
enum ChannelAnswer: Sendable, Equatable {
    /// 201.
    case created(ChannelIdentity)
    /// 200 with the channel's settings.
    case settings(ChannelStorage)
    /// 204.
    case removed
    /// 200 with these names.
    case list([ChannelIdentity])
    /// 200: the broadcast is on the disk where it has to be, and on its way.
    case accepted
    /// The reason's status.
    case rejected(Rejection)
}

/// A device's wish for the broadcasts of a channel, on its way to the channel's home.
struct SubscriptionRequest: Sendable {
    let channel: ChannelIdentity
    let owner: ChannelOwner
    /// What the device has asked for.
    let wish: Subscribe
    /// The device's home and its connection there; `ticket` tells this wish from an earlier one.
    let shard: Int
    let connection: UInt64
    let ticket: UInt64
}
