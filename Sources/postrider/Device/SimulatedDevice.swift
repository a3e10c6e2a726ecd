import PostriderClients
import PostriderCommands
import PostriderCourier
import PostriderCrypto
import PostriderNotifications
import PostriderTransport

/// The device of `postrider device`. It prints events, and acknowledges a notification when its line is written.
/// While nobody reads the lines, it stays connected, and notifications that it could not print stay at the relay.
final class SimulatedDevice: DeviceClientDelegate {
    /// An event of the line writer.
    private enum Told: Sendable {
        /// The line of a notification is written. `isLast` is set for the last one that the user wants.
        case notification(acknowledging: (@Sendable (DeviceClient, Moment) -> Void)?, isLast: Bool)
        /// A line could not be written.
        case lost
    }

    private let order: DeviceArguments
    private let identity: DeviceIdentity
    private unowned let loop: EventLoop
    private let entropy = Entropy()
    private lazy var client = makeClient()
    private let secret: [UInt8]
    private let output: LineWriter
    private let told: Mailbox<Told>
    private var received = 0
    /// The last broadcast of each channel.
    private var last: [ChannelIdentity: LastBroadcast] = [:]
    /// A broadcast as a subscription identifies it, because several may have one identity.
    private struct LastBroadcast: Equatable {
        let identity: NotificationIdentity
        let acceptedAt: Moment
    }

    private var isStopping = false
    /// The error of the command, set before the loop stops; nil for none.
    private(set) var failure: CommandFailure?

    /// Creates a device, which stops the loop when it is done.
    init(_ order: DeviceArguments, _ state: DeviceState, on loop: EventLoop) throws(TransportError) {
        self.order = order
        identity = state.identity
        secret = state.secret
        self.loop = loop
        output = try Console.makeOutput { [isJSON = order.isJSON] count in
            isJSON
                ? #"{"count":\#(count),"event":"dropped"}"#
                : "\(count) lines were dropped because nobody read them"
        }
        told = try Mailbox(capacity: Limits.logLines)
        try loop.attach(told) { [unowned self] results in
            for result in results { hear(result) }
        }
    }

    func start() { client.start() }

    /// Says goodbye and stops the loop.
    func stop() {
        guard !isStopping else { return }
        isStopping = true
        client.stop { [unowned loop] in loop.stop() }
    }

    private func makeClient() -> DeviceClient {
        var configuration = DeviceClient.Configuration(
            relays: [order.relay], identity: identity, secret: secret,
            agent: "postrider-device/\(Program.version)")
        configuration.keepaliveSeconds = order.keepaliveSeconds
        return DeviceClient(
            configuration, topics: order.registrations, on: loop, random: { [entropy] in entropy.next() },
            delegate: self)
    }

    // MARK: DeviceClientDelegate

    func receive(_ event: DeviceClientEvent) {
        switch event {
        case .didConnect(let welcome): didConnect(welcome)
        case .didDisconnect(let end, let next): didDisconnect(end, nextAttemptMilliseconds: next)
        case .registered(let registration): registered(registration)
        case .unregistered(let topic):
            tell(.init(event: "unregistered", topic: topic)) { "\(topic) is not registered any more" }
        case .refused(let refusal):
            tell(.init(event: "refused", topic: refusal.topic, reason: refusal.reason)) {
                "\(refusal.topic) cannot be registered: \(refusal.reason)"
            }
        case .delivered(let deliver, let link): delivered(deliver, over: link)
        case .subscribed(let channel):
            tell(.init(event: "subscribed", channel: "\(channel)")) { "subscribed to channel \(channel)" }
        case .unsubscribed(let end):
            tell(.init(event: "unsubscribed", reason: end.reason, channel: "\(end.channel)")) {
                "not subscribed to channel \(end.channel): \(end.reason)"
            }
        case .broadcast(let deliver): broadcast(deliver)
        case .willConnect, .willDisconnect, .keepaliveChanged, .confirmed: break
        }
    }

    private func didConnect(_ welcome: Welcome) {
        tell(.init(event: "connected", device: identity.description, pending: welcome.pending)) {
            "connected as device \(identity); \(welcome.pending) notifications wait"
        }
        for registration in welcome.registrations
        where order.registrations[registration.topic] == registration.environment {
            registered(registration)
        }
        guard let topic = order.registrations.keys.first else { return }
        for channel in order.channels {
            let known = last[channel]
            client.send(
                .subscribe(
                    Subscribe(
                        topic: topic, channel: channel, last: known?.identity,
                        lastAcceptedAt: known?.acceptedAt)))
        }
    }

    private func didDisconnect(_ end: LinkEnd, nextAttemptMilliseconds: Int?) {
        tell(.init(event: "disconnected", reason: end.description, nextAttempt: nextAttemptMilliseconds)) {
            let next = nextAttemptMilliseconds.map { "; next attempt in \($0) ms" } ?? ""
            return "disconnected: \(end)\(next)"
        }
        guard nextAttemptMilliseconds == nil, !isStopping else { return }
        let advice =
            end.isUnknownDevice
            ? order.adviceToEnrol : "another machine uses the same identity; stop one of them"
        failure = CommandFailure("The relay does not let the device in (\(end)): \(advice).")
        loop.stop()
    }

    private func registered(_ registration: Registered) {
        let token = registration.deviceToken.hex
        let environment = registration.environment
        tell(.init(event: "registered", topic: registration.topic, token: token, environment: environment)) {
            let place = environment == .production ? "" : " in the \(environment) environment"
            return "device token for \(registration.topic)\(place): \(token)"
        }
    }

    private func delivered(_ deliver: Deliver, over link: LinkNumber) {
        arrived(deliver) { client, now in
            client.acknowledge([deliver.delivery], over: link)
            guard deliver.wantsReport else { return }
            // For this device, the reader of the lines is the app.
            client.send(
                .report(Report([.init(.handedOver, of: deliver.identity, push: deliver.push, at: now)])))
        }
    }

    private func broadcast(_ deliver: Deliver) {
        guard let channel = deliver.channel else { return }
        let broadcast = LastBroadcast(identity: deliver.identity, acceptedAt: deliver.acceptedAt)
        guard last.updateValue(broadcast, forKey: channel) != broadcast else { return }
        arrived(deliver)
    }

    private func arrived(
        _ deliver: Deliver, acknowledging: (@Sendable (DeviceClient, Moment) -> Void)? = nil
    ) {
        // Notifications after the last wanted one stay at the relay.
        guard !isStopping, received < order.count ?? .max else { return }
        received += 1
        // Line breaks in a JSON object can occur only between tokens, where a space means the same.
        let payload = String(decoding: deliver.payload.map { $0 == 10 || $0 == 13 ? 32 : $0 }, as: UTF8.self)
        let event = Event(
            event: "notification", topic: deliver.topic, apnsIdentity: deliver.identity.description,
            pushType: deliver.pushType, priority: deliver.priority.rawValue,
            collapseIdentifier: deliver.collapseIdentifier, acceptedAt: deliver.acceptedAt.milliseconds,
            channel: deliver.channel.map { "\($0)" }, traceParent: deliver.traceContext?.parent)
        let origin =
            deliver.channel.map { "broadcast to channel \($0)" } ?? "notification for \(deliver.topic)"
        let isLast = received == order.count
        tell(event, payload: payload, then: .notification(acknowledging: acknowledging, isLast: isLast)) {
            "\(origin): \(payload)"
        }
    }

    private func hear(_ result: Told) {
        switch result {
        case .notification(let acknowledging, let isLast):
            guard !isStopping else { return }
            acknowledging?(client, Moment(milliseconds: loop.wallMilliseconds))
            if isLast { stop() }
        case .lost: stop()
        }
    }

    // MARK: Telling

    private struct Event: Encodable {
        let event: String
        var device: String?
        var pending: UInt64?
        var topic: String?
        var token: String?
        var environment: Environment?
        var reason: String?
        var nextAttempt: Int?
        var apnsIdentity: String?
        var pushType: String?
        var priority: UInt8?
        var collapseIdentifier: String?
        var acceptedAt: Int64?
        var channel: String?
        var traceParent: String?

        enum CodingKeys: String, CodingKey {
            case event, device, pending, topic, token, environment, reason, priority, channel, pushType
            case acceptedAt
            case nextAttempt = "nextAttemptMilliseconds"
            case apnsIdentity = "id"
            case collapseIdentifier = "collapseId"
            case traceParent = "traceparent"
        }
    }

    /// Writes one line: JSON with the payload as received, or text for people. If nobody gets its lines, the device
    /// stops, because it would take notifications from the relay that nobody has seen.
    private func tell(
        _ event: Event, payload: String? = nil, then result: Told? = nil, _ sentence: () -> String
    ) {
        let text: String
        if order.isJSON {
            guard let line = try? Console.json(event) else {
                preconditionFailure("texts and numbers can be encoded")
            }
            text = payload.map { "\(line.dropLast()),\"payload\":\($0)}" } ?? line
        } else {
            text = Listing.printable(sentence())
        }
        output.add(text) { [told] isWritten in
            if let result = isWritten ? result : .lost { told.postEvenIfFull(result) }
        }
    }
}
