import PostriderCluster
import PostriderNotifications

/// The way of a push to its device's home.
extension DeviceHome {
    /// Passes a push to its device's home: this shard, or another one, which may be on another node. `address` is
    /// answered once, unless this returns a rejection.
    func route(_ notification: Notification, _ address: ReplyAddress) -> Rejection? {
        let (waiting, device) = (context.waiting, notification.device)
        let partition = Partition(of: device)
        // Nearly every push goes on at once, and need not become a request that can wait.
        guard let place = waiting.openPlace(of: partition, shard: context.home(of: device)) else {
            return waiting.route(WaitingRequest(.push(notification), address))
        }
        guard !context.outbox.isCongested(place) else { return .tooManyRequests }
        if place == context.index {
            offer(notification, address)
        } else {
            waiting.send(.push(.deliver(notification, address)), about: partition, to: place)
        }
        return nil
    }

    /// Offers a push to its device.
    func offer(_ notification: Notification, _ address: ReplyAddress) {
        // Another node may have sent it before it knew that this one does not serve the device any more.
        let partition = Partition(of: notification.device)
        guard context.waiting.admits(partition, WaitingRequest(.push(notification), address)) else { return }
        accept(notification, address)
    }
}
