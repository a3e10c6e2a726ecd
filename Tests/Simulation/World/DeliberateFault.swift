/// A fault that somebody built into the world, at one of its seams, so that a checker can be seen to report it.
enum DeliberateFault: CaseIterable {
    /// The store confirms batches that it does not write.
    case storeLies
    /// The disk has forgotten the last batches when the relay starts again.
    case diskForgets
    /// The disk never removes a row.
    case diskKeeps
    /// When the store is read at the start, everything has a minute more to live.
    case storeProlongs
    /// The disk keeps what shares a slot, and when the store is read at the start, nothing shares one.
    case storeSeparates
    /// When the store is read at the start, registrations ended a second later.
    case storePostdates
    /// A mailbox turns round the letters that one turn brings.
    case mailReorders
    /// Letters with answers are lost.
    case mailLoses
    /// A wire brings what was sent later before what was sent earlier.
    case wireReorders
    /// A device hands over what comes a second time.
    case deviceDoubles
    /// A device acknowledges what it has not made safe.
    case deviceForgets
    /// A device does not say what it wishes.
    case deviceConceals
    /// A shard counts a delivery that there was not.
    case shardMiscounts
    /// The relay keeps all that waits, where only the latest should.
    case relayKeepsAll
    /// The relay's timers do not fire.
    case timersFail
    /// The relay writes down a push's moments, but looks at a clock that is behind.
    case clockLags
    /// The observer is told of smaller bounds than those of the relay.
    case boundsShrink
    /// Channels lose their subscribers.
    case channelsForget
}
