import PostriderCluster
import PostriderNotifications

/// The way of a push to its device's home.
extension DeviceHome {
    /// Passes a push to its device's home: this shard, or another one, which may be on another node. `address` is
    /// answered once, unless this returns a rejection.
    func route(_ notification: Notification, _ address: ReplyAddress) -> Rejection? {
        let device = notification.device
        return context.waiting.route(
            WaitingRequest(.push(notification), address), about: Partition(of: device),
            shard: context.home(of: device)
        ) { offer(notification, address) }
    }

    /// Offers a push to its device.
    func offer(_ notification: Notification, _ address: ReplyAddress) {
        // Another node may have sent it before it knew that this one does not serve the device any more.
        let partition = Partition(of: notification.device)
        guard context.waiting.admits(partition, WaitingRequest(.push(notification), address)) else { return }
        accept(notification, address)
    }
}
