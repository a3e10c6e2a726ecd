/// A fault that is built into the world on purpose, to show that a checker reports it.
enum DeliberateFault: CaseIterable {
    /// The store confirms batches that it does not write.
    case storeLies
    /// The disk has lost the last batches when the relay restarts.
    case diskForgets
    /// The disk never removes a row.
    case diskKeeps
    /// When the store is read at the start, every expiration is a minute later.
    case storeProlongs
    /// The disk keeps replaced notifications, and when the store is read at the start, no two notifications share a
    /// slot.
    case storeSeparates
    /// When the store is read at the start, the ends of registrations are a second later.
    case storePostdates
    /// The store confirms messages of Web Push that it does not write.
    case storeDropsMessages
    /// The disk never removes a receipt.
    case diskKeepsReceipts
    /// A mailbox reverses the order of the pushes of one turn.
    case mailReorders
    /// Messages with answers are lost.
    case mailLoses
    /// A wire swaps the order of what was sent.
    case wireReorders
    /// A device delivers repeated notifications to its app.
    case deviceDoubles
    /// A device acknowledges notifications that it has not stored.
    case deviceForgets
    /// A device does not tell the relay its reception.
    case deviceConceals
    /// A browser acknowledges messages that it has not stored.
    case browserForgets
    /// A browser does not tell the relay of the end of a subscription.
    case browserLingers
    /// A sender does not tell the relay the topics of its messages.
    case senderConceals
    /// A sender lets the relay store its messages for longer.
    case senderProlongs
    /// A shard counts a delivery that did not happen.
    case shardMiscounts
    /// The relay stores all notifications of an app where it should store the latest only.
    case relayKeepsAll
    /// The relay's timers do not fire.
    case timersFail
    /// The relay stores correct times, but compares them with a clock that is slow.
    case clockLags
    /// The observer assumes smaller limits than the relay's.
    case boundsShrink
    /// Channels lose their subscribers.
    case channelsForget
}
