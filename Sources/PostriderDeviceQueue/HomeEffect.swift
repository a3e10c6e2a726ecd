package import PostriderNotifications

/// What the home has to do for a device. Effects are performed in order.
package enum HomeEffect {
    /// Answer the provider.
    case answer(ReplyAddress, PushResult)
    /// Have a new notification made durable and, with a `delivery`, send it now as the delivery of that number.
    case take(QueuedNotification, delivery: UInt64?)
    /// Send a notification that is durable, or need not be, as the delivery of this number.
    case send(QueuedNotification, delivery: UInt64)
    /// Remove the notification from the disk.
    case settle(QueueRow)
    /// Read these notifications from the disk.
    case load([QueueRow])
    /// Record the acceptance in the trace.
    case noteAccepted(QueuedNotification)
    /// Record an event in the trace.
    case note(TraceEvent.Kind, QueueRow, detail: Int64 = 0)
}
