import PostriderNotifications

extension Shard {
    /// Finds the device that a script means, on shard 0. In a cluster the other nodes are asked for it, too.
    func find(_ text: String, _ address: ReplyAddress) {
        func answer(_ found: Result<DeviceIdentity, Rejection>) {
            context.outbox.send(.web(.found(found, address)), to: Int(address.shard))
        }
        if let device = directory.find(text) { return answer(.success(device)) }
        queries.nodes.findDevice(text, then: answer)
    }
}
