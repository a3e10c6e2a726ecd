import PostriderCourier
import PostriderDBus
import PostriderNotifications
import PostriderSystem
import PostriderTransport

/// One registration of UnifiedPush: its messages, which go to the app one after the other. To the agent, it is an app
/// with one stream.
///
///     idle ─ a message ─▶ calling ─ the app has it ─▶ idle
///                            │ no such app, or no bus
///                            ▼
///                         blocked ─ the app registers, the bus is back, or a minute later ─▶ idle
///
/// A message that the app does not have stays in the inbox, even if the agent is killed.
final class ConnectorTopic {
    /// What the relay says of the registration.
    enum News {
        case registered
        case refused(String)
        case ended
    }

    private struct Message {
        let delivery: UInt64
        let identity: NotificationIdentity
        let payload: [UInt8]
        let expiration: Expiration
        let collapse: String?
    }

    private enum State { case idle, calling, blocked }

    var record: ConnectorRecord
    /// The stream on which messages are delivered.
    private(set) lazy var stream = AppStream(user: UserAccount.own, isHandler: true) { [unowned self] in
        receive($0)
    }
    private let deliveries: AppDeliveries
    private let caller: any ConnectorCaller
    private let scheduler: any Scheduler
    private let log: Log
    private let tell: (News) -> Void
    private var queue: [Message] = []
    private var state = State.idle
    private var isStopped = false
    private lazy var turn = scheduler.makeTimer { [unowned self] in sendNext() }
    private lazy var retry = scheduler.makeTimer { [unowned self] in wake() }

    init(
        _ record: ConnectorRecord, deliveries: AppDeliveries, caller: any ConnectorCaller,
        scheduler: any Scheduler, log: Log, tell: @escaping (News) -> Void
    ) {
        self.record = record
        self.deliveries = deliveries
        self.caller = caller
        self.scheduler = scheduler
        self.log = log
        self.tell = tell
    }

    /// Ends it. What is under way stays in the inbox.
    func stop() {
        isStopped = true
        stream.isLeaving = true
        queue = []
        turn.disarm()
        retry.disarm()
        deliveries.left(stream, isBroken: false)
    }

    /// The app or the bus may be there again.
    func wake() {
        guard state == .blocked else { return }
        state = .idle
        turn.arm(afterMilliseconds: 0)
    }

    private func receive(_ message: AgentMessage) {
        switch message {
        case .registered: tell(.registered)
        case .refused(let refused): tell(.refused(refused.reason))
        case .unregistered: tell(.ended)
        case .deliver(let deliver):
            dropReplaced(by: deliver)
            queue.append(
                Message(
                    delivery: deliver.delivery, identity: deliver.identity, payload: deliver.payload,
                    expiration: deliver.expiration, collapse: deliver.collapseIdentifier))
            // The agent is in the middle of handing over, so this waits for the next turn.
            turn.arm(afterMilliseconds: 0)
        default: break
        }
    }

    private func sendNext() {
        guard !isStopped, state == .idle else { return }
        dropExpired()
        guard let message = queue.first else { return }
        guard caller.isUp else { return block("there is no session bus") }
        state = .calling
        let call = ConnectorCall.message(message.payload, identifier: "\(message.identity)")
        caller.call(call, of: record) { [weak self] in self?.answered(message, $0) }
    }

    private func answered(_ message: Message, _ result: Result<BusReply, BusError>) {
        guard !isStopped else { return }
        state = .idle
        switch result {
        case .success:
            queue.removeFirst()
            _ = deliveries.handled([message.delivery], by: stream)
            log.debug(
                "\(record.service) has \(message.identity)",
                fields: .init(topic: record.topic, apnsID: "\(message.identity)"))
        case .failure(let error) where error.isAbsence || error == .lost || error == .overloaded:
            return block("\(error)")
        case .failure(let error):
            queue.removeFirst()
            let failed = Failed(
                delivery: message.delivery, reason: "The app \(record.service) failed: \(error).")
            log.warning(
                "\(record.service) has failed at \(message.identity): \(error)",
                kind: "connector failed: \(record.topic)",
                fields: .init(topic: record.topic, apnsID: "\(message.identity)", reason: "\(error)"))
            _ = deliveries.failed(failed, by: stream)
        }
        turn.arm(afterMilliseconds: 0)
    }

    private func block(_ reason: String) {
        state = .blocked
        log.info(
            "messages for \(record.service) wait: \(reason)", kind: "connector blocked: \(record.topic)",
            fields: .init(topic: record.topic, reason: reason))
        retry.arm(afterMilliseconds: Limits.absentConnectorMilliseconds)
    }

    /// Drops the messages that a newer one with the same `Topic` replaces, but for one that the app may have already
    /// (RFC 8030, section 5.4).
    private func dropReplaced(by deliver: Deliver) {
        guard let collapse = deliver.collapseIdentifier else { return }
        let replaced = queue.dropFirst(state == .calling ? 1 : 0).filter { $0.collapse == collapse }
        for message in replaced {
            queue.removeAll { $0.delivery == message.delivery }
            deliveries.drop(message.delivery, of: stream)
        }
    }

    /// Drops messages whose time is over (RFC 8030, section 5.2).
    private func dropExpired() {
        while let message = queue.first, case .at(let end) = message.expiration,
            end.milliseconds <= scheduler.wallMilliseconds
        {
            queue.removeFirst()
            deliveries.drop(message.delivery, of: stream)
            log.info(
                "a message for \(record.service) has expired, \(message.identity)",
                kind: "connector expired: \(record.topic)",
                fields: .init(topic: record.topic, apnsID: "\(message.identity)"))
        }
    }
}
