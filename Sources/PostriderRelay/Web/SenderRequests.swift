import PostriderCluster
import PostriderDeviceQueue
import PostriderNotifications
import PostriderTransport
import PostriderWebPush

/// The requests of senders at the home of a device, or of a receipt subscription.
final class SenderRequests {
    private let context: ShardContext
    private let home: DeviceHome
    private let changes: RegistryChanges
    private let web: WebHome
    private let verifier: VAPIDVerifier

    /// - Parameter origin: the origin of the addresses of subscriptions, for which senders identify themselves.
    init(
        _ context: ShardContext, _ home: DeviceHome, _ changes: RegistryChanges, _ web: WebHome,
        origin: String
    ) {
        self.context = context
        self.home = home
        self.changes = changes
        self.web = web
        verifier = VAPIDVerifier(origin: origin)
    }

    /// Takes a request that has come to this home.
    func take(_ request: SenderRequest, _ address: ReplyAddress) {
        // Another node may have sent it before it knew that this one does not serve the device any more.
        let partition = Partition(of: request.subject)
        guard context.waiting.admits(partition, WaitingRequest(.web(request), address)) else { return }
        accept(request, address)
    }

    /// Carries out a request about a device or a receipt subscription that this node serves.
    func accept(_ request: SenderRequest, _ address: ReplyAddress) {
        switch request {
        case .push(let push): accept(push, address)
        case .send(let send, let device): accept(send, to: device, address)
        case .cancel(let device, let number, let row): cancel(row, of: device, number, address)
        case .readReceipts(let subscription, let seconds):
            web.readers.read(subscription, address, waitingSeconds: seconds)
        case .removeReceipt(let subscription, let row): removeReceipt(row, of: subscription, address)
        }
    }

    private func accept(_ push: WebPush, _ address: ReplyAddress) {
        do throws(WebPushRejection) {
            guard let entry = home.entries[push.device],
                let subscription = web.subscriptions[push.device, push.registration],
                let registration = entry.device.registrations[push.registration]
            else { throw .notFound }
            guard registration.unregisteredAt == nil else { throw .gone }
            try verifier.verify(push.request.credentials, for: subscription.senderKey, at: context.now)
            let notification = try push.notification(for: registration.topic, at: context.now)
            try charge(push, registration.topic)
            let row = context.rows.draw()
            home.stores.webAnswers.expect(row, push.receipt(at: row, context.now), for: address)
            home.offer(notification, at: row, to: entry, address)
            home.stores.webAnswers.offered(for: address)
        } catch {
            refuse(address, error)
        }
    }

    /// Counts a message for the quotas of its topic.
    private func charge(_ push: WebPush, _ topic: Topic) throws(WebPushRejection) {
        switch context.refusal(payloadBytes: push.request.body.count, topic) {
        case nil: return
        case .payload: throw .messageTooLarge
        case .rate(let seconds): throw .tooManyRequests(retryAfterSeconds: seconds)
        }
    }

    /// Delivers a script's message. Subscriptions of browsers take no plain text.
    private func accept(_ send: PlainSend, to device: DeviceIdentity, _ address: ReplyAddress) {
        let result: PushResult
        if let entry = home.entries[device], let number = entry.device.registrations.number(of: send.topic),
            web.subscriptions[device, number] == nil
        {
            switch context.refusal(payloadBytes: send.message.payload.count, send.topic) {
            case nil: return home.accept(send.notification(for: device, number, at: context.now), address)
            case .payload: result = .rejected(.payloadTooLarge)
            case .rate: result = .rejected(.tooManyRequests)
            }
        } else {
            let reason: Rejection = home.entries[device] == nil ? .badDeviceToken : .deviceTokenNotForTopic
            result = .rejected(reason)
        }
        context.outbox.send(.push(.answer(address, result)), to: Int(address.shard))
    }

    /// Cancels a message. The sender is told so when a restart of the relay cannot bring the message back.
    private func cancel(
        _ row: QueueRow, of device: DeviceIdentity, _ number: RegistrationNumber, _ address: ReplyAddress
    ) {
        guard let entry = home.entries[device] else { return refuse(address, .notFound) }
        let isCancelled = home.with(entry) { device, _, tally, effects in
            device.cancel(row, of: number, &tally, &effects)
        }
        guard isCancelled else { return refuse(address, .notFound) }
        confirmRemoval(address)
    }

    private func removeReceipt(
        _ row: QueueRow, of subscription: ReceiptSubscription, _ address: ReplyAddress
    ) {
        guard web.readers.remove(row, of: subscription) else { return refuse(address, .notFound) }
        confirmRemoval(address)
    }

    /// Answers when what was removed is gone from the disk.
    private func confirmRemoval(_ address: ReplyAddress) {
        changes.confirm { [unowned self] result in
            guard result.isSuccess else { return refuse(address, .unavailable(retryAfterSeconds: 10)) }
            context.outbox.send(.web(.removed(address)), to: Int(address.shard))
        }
    }

    private func refuse(_ address: ReplyAddress, _ rejection: WebPushRejection) {
        context.outbox.send(.web(.refused(rejection, address)), to: Int(address.shard))
    }
}
