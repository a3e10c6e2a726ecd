import PostriderNotifications

extension Shard {
    /// Finds the device of a script's message, on shard 0.
    func find(_ send: PlainSend, _ address: ReplyAddress) {
        if let device = directory.find(send.device) {
            context.outbox.send(.web(.send(send, device, address)), to: context.home(of: device))
        } else {
            let answer = PushMessage.answer(address, .rejected(.badDeviceToken))
            context.outbox.send(.push(answer), to: Int(address.shard))
        }
    }
}
