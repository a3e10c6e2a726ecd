package import PostriderNotifications

/// The bounds of Web Push requests and of the autopush protocol.
extension Limits {
    /// Characters of a `Topic` (RFC 8030, section 5.4).
    package static let webPushTopicCharacters = 32
    /// Bytes of each of `Authorization`, `Encryption` and `Crypto-Key`, with all of their values. The queue stores the
    /// last two beside the message.
    package static let webPushFieldBytes = 2048
    /// Seconds for which a VAPID token may be valid from now on (RFC 8292, section 2).
    package static let vapidSeconds: Int64 = 24 * 60 * 60
    /// VAPID tokens that one shard has verified and keeps, so that a signature is not checked for each message. At
    /// about 200 bytes each: 800 KiB a shard.
    package static let cachedVAPIDTokens = 4096
    /// Seconds for which a browser may keep the answer to a CORS preflight.
    package static let corsSeconds = 86_400

    /// Bytes of the identity that an autopush device presents.
    package static let autopushIdentityBytes = 128
    /// Bytes of the version of an autopush notification, by which the device acknowledges it.
    package static let autopushVersionBytes = 128
    /// Acknowledgements in one message.
    package static let autopushAcknowledgements = 256
    /// Notifications of one session that the device has not acknowledged, as many as a queue's window. At most one of a
    /// channel is sent; those that wait are held, at 8 KiB each: 512 KiB.
    package static let autopushUnsettled = 64
    /// Registrations and removals of one session that wait for the relay.
    package static let autopushPendingRequests = 32
    /// Messages that a device may send at once, beyond those that acknowledge notifications, and how many of them are
    /// granted again each second. Firefox sends about twenty after it has connected with many subscriptions.
    package static let autopushMessages = (atOnce: 256, perSecond: 4)
}
