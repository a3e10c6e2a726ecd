public import PostriderCourier
public import PostriderNotifications

/// The number of one of a client's links. Deliveries are numbered anew on each.
public struct LinkNumber: Hashable, Sendable {
    let value: UInt64
}

/// The owner of a ``DeviceClient``. All methods are called on the thread of the client's loop, and may call any
/// method of the client.
public protocol DeviceClientDelegate: AnyObject {
    /// The client starts to connect.
    func linkWillConnect()

    /// The relay has accepted the device. `welcome` lists the current registrations; other wanted topics are being
    /// registered.
    func linkDidConnect(_ welcome: Welcome)

    /// The relay has said goodbye, and the link is about to end.
    func linkWillDisconnect(_ end: LinkEnd)

    /// The attempt has failed or the link has ended. This is called once after each ``linkWillConnect()``.
    /// - Parameter nextAttemptMilliseconds: the time until the next attempt; nil if there is none, because the client
    ///   was stopped or the end is final.
    func linkDidDisconnect(_ end: LinkEnd, nextAttemptMilliseconds: Int?)

    /// The interval between PINGs on a network path has changed, because a link was cut after a silence, or because
    /// none was for a long time.
    func keepaliveChanged(_ change: KeepaliveChange)

    /// The relay has received all that was sent before ``DeviceClient/confirm()``. This is not called if the link ends
    /// first.
    func linkConfirmed()

    /// A topic is registered.
    func registered(_ registration: Registered)

    /// A registration has ended, at the request of the device or of the operator.
    func unregistered(topic: String)

    /// A registration was refused. It is tried again on the next link unless the topic is unregistered.
    func refused(_ refusal: Refused)

    /// A notification has arrived. Store it, then acknowledge it. It may have been delivered before on another link.
    /// This may be called many times in a turn, so acknowledge at the end of the turn.
    func delivered(_ deliver: Deliver, over link: LinkNumber)

    /// The device is subscribed to a channel for as long as the link lasts.
    func subscribed(to channel: ChannelIdentity)

    /// The device is not, or no longer, subscribed to a channel. The reason is empty if the device has unsubscribed.
    func unsubscribed(_ end: Unsubscribed)

    /// A broadcast has arrived. It is not acknowledged, and may have been received before.
    func broadcast(_ deliver: Deliver)
}

extension DeviceClientDelegate {
    /// The default does nothing, for owners that need only the end.
    public func linkWillDisconnect(_ end: LinkEnd) {}
    /// The default does nothing, for owners without a log.
    public func keepaliveChanged(_ change: KeepaliveChange) {}
    /// The default does nothing, for owners that ask for no confirmation.
    public func linkConfirmed() {}
    /// The default does nothing, for devices without channels.
    public func subscribed(to channel: ChannelIdentity) {}
    /// The default does nothing, for devices without channels.
    public func unsubscribed(_ end: Unsubscribed) {}
    /// The default does nothing, for devices without channels.
    public func broadcast(_ deliver: Deliver) {}
}
