public import PostriderCourier
public import PostriderNotifications

/// Which of a client's links something belongs to: deliveries are numbered anew on each.
public struct LinkNumber: Hashable, Sendable {
    let value: UInt64
}

/// What a ``DeviceClient`` tells its owner, on the thread of its loop. Every method of the client may be
/// called from inside.
public protocol DeviceClientDelegate: AnyObject {
    /// An attempt begins.
    func linkWillConnect()

    /// The relay has let the device in. `welcome` lists the registrations that are alive; what is wanted
    /// besides is being registered already.
    func linkDidConnect(_ welcome: Welcome)

    /// The relay has said goodbye: the link is about to end.
    func linkWillDisconnect(_ end: LinkEnd)

    /// The attempt has failed or the link has ended: once after each ``linkWillConnect()``.
    /// - Parameter nextAttemptMilliseconds: when it is tried again; nil: not any more, because the client was
    ///   stopped or the end is final.
    func linkDidDisconnect(_ end: LinkEnd, nextAttemptMilliseconds: Int?)

    /// PINGs are sent more or less often over a network path, because a link was cut there in silence, or none was for
    /// long.
    func keepaliveChanged(_ change: KeepaliveChange)

    /// A registration is alive.
    func registered(_ registration: Registered)

    /// A registration has ended, on the device's wish or the operator's.
    func unregistered(topic: String)

    /// A registration cannot be made; it is tried again on the next link unless it is given up.
    func refused(_ refusal: Refused)

    /// A notification. Make it safe, then acknowledge it; it may be one that came before on another link. May
    /// be called many times in a turn: acknowledge at the end of the turn.
    func delivered(_ deliver: Deliver, over link: LinkNumber)

    /// A channel's broadcasts come from now on, for as long as the link lives.
    func subscribed(to channel: ChannelIdentity)

    /// A channel's broadcasts do not come, or not any more. The reason is empty where the device wished so.
    func unsubscribed(_ end: Unsubscribed)

    /// A broadcast to a channel. It is not acknowledged; it may be one that came before.
    func broadcast(_ deliver: Deliver)
}

extension DeviceClientDelegate {
    /// Nothing; for whom the end is soon enough.
    public func linkWillDisconnect(_ end: LinkEnd) {}
    /// Nothing; for whoever keeps no log.
    public func keepaliveChanged(_ change: KeepaliveChange) {}
    /// Nothing; for devices without channels, as the two that follow.
    public func subscribed(to channel: ChannelIdentity) {}
    /// Nothing.
    public func unsubscribed(_ end: Unsubscribed) {}
    /// Nothing.
    public func broadcast(_ deliver: Deliver) {}
}
