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

/// The letters between the shards of providers, the homes of channels and the homes of devices.
///
/// Everything about one channel goes from its home to the others in the order in which it happened there: a
/// subscription's answer, the broadcasts after it, the channel's end.
enum ChannelLetter: Sendable {
    /// To the home: a provider's order.
    case order(ChannelOrder, ChannelOwner, ReplyAddress)
    /// To the provider's shard.
    case answer(ReplyAddress, ChannelAnswer)
    /// To the home: a device's wish.
    case subscribe(SubscriptionRequest)
    /// To the device's home: whether there is such a channel, and what it has stored.
    case subscribed(SubscriptionRequest, isKnown: Bool, Broadcast?)
    /// To all: a broadcast for whoever is subscribed, and the row by which the trace knows it.
    case broadcast(Broadcast, QueueRow)
    /// To all: there is no such channel any more.
    case removed(ChannelIdentity)
}
