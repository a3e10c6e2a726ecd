import PostriderCourier
import PostriderNotifications

/// What the link to the relay has brought, in order.
enum LinkEvent {
    /// The state of the link changes; apps are told.
    case changed(LinkChange)
    /// The relay has welcomed the device.
    case connected(Welcome)
    /// The link has ended.
    case ended
    /// The relay has received what was sent before ``OutboundLink/confirm()``.
    case confirmed
    /// The relay has made or confirms a registration.
    case registered(Registered)
    /// A registration has ended.
    case unregistered(topic: String)
    /// The relay refuses a registration.
    case refused(Refused)
    /// A notification, which is acknowledged.
    case delivered(Deliver)
    /// A broadcast, which is not.
    case broadcast(Deliver)
    /// A subscription has begun.
    case subscribed(ChannelIdentity)
    /// A subscription has ended or is refused.
    case unsubscribed(Unsubscribed)
}
