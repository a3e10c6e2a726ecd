/// A subscription of Web Push: what the registry knows of it besides its registration.
public struct WebSubscription: Hashable, Sendable {
    /// The device: a browser, or an agent whose apps use UnifiedPush.
    public let device: DeviceIdentity
    /// The number of its registration, which is part of its URL.
    public let number: RegistrationNumber
    /// The channel: a UUID that the browser has drawn, in its spelling, or the topic of an agent's registration.
    public let channel: String
    /// The only key with which messages may be sent (RFC 8292, section 4): an uncompressed point on P-256, 65 bytes.
    /// Nil if the subscription is for everybody who knows its URL.
    public let senderKey: [UInt8]?

    /// Creates a subscription from its parts.
    public init(device: DeviceIdentity, number: RegistrationNumber, channel: String, senderKey: [UInt8]?) {
        self.device = device
        self.number = number
        self.channel = channel
        self.senderKey = senderKey
    }
}
