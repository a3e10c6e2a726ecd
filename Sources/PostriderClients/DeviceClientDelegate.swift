public import PostriderCourier
public import PostriderNotifications

/// The number of one of a client's links. Deliveries are numbered anew on each.
public struct LinkNumber: Hashable, Sendable {
    let value: UInt64
}

/// What happens to a ``DeviceClient`` and its links.
public enum DeviceClientEvent {
    /// The client starts to connect.
    case willConnect

    /// The relay has accepted the device. The welcome lists the current registrations; other wanted topics are being
    /// registered.
    case didConnect(Welcome)

    /// The relay has said goodbye, and the link is about to end.
    case willDisconnect(LinkEnd)

    /// The attempt has failed or the link has ended: once after each ``willConnect``. It has the time until the next
    /// attempt; nil if there is none, because the client was stopped or the end is final.
    case didDisconnect(LinkEnd, nextAttemptMilliseconds: Int?)

    /// The interval between PINGs on a network path has changed, because a link was cut after a silence, or because
    /// none was for a long time.
    case keepaliveChanged(KeepaliveChange)

    /// The relay has received all that was sent before ``DeviceClient/confirm()``. This does not happen if the link
    /// ends first.
    case confirmed

    /// A topic is registered.
    case registered(Registered)

    /// A registration has ended, at the request of the device or of the operator.
    case unregistered(topic: String)

    /// A registration was refused. It is tried again on the next link unless the topic is unregistered.
    case refused(Refused)

    /// A notification has arrived. Store it, then acknowledge it. It may have been delivered before on another link.
    /// There may be many in a turn, so acknowledge at the end of the turn.
    case delivered(Deliver, over: LinkNumber)

    /// The device is subscribed to a channel for as long as the link lasts.
    case subscribed(ChannelIdentity)

    /// The device is not, or no longer, subscribed to a channel. The reason is empty if the device has unsubscribed.
    case unsubscribed(Unsubscribed)

    /// A broadcast has arrived. It is not acknowledged, and may have been received before.
    case broadcast(Deliver)
}

/// The owner of a ``DeviceClient``.
public protocol DeviceClientDelegate: AnyObject {
    /// Handles an event. It is called on the thread of the client's loop, and may call any method of the client.
    func receive(_ event: DeviceClientEvent)
}
