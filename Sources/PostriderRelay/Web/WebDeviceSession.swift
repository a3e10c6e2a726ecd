import PostriderCourier
import PostriderNotifications
import PostriderTransport
import PostriderWebPush

/// One browser's session, which speaks the autopush protocol. It begins on the shard that accepted the connection, and
/// moves with it to the browser's home once the browser has said hello.
///
/// If the home is on another node, the connection stays. The session that accepted it passes on what is said
/// (``WebEdges``), and the home has a session of its own, whose ``BrowserCarrier`` is the link between the nodes.
final class WebDeviceSession: HomeSession {
    private(set) var number: UInt64
    private(set) unowned var port: WebPort
    /// The enrolment key in the URL with which the browser connected; empty for none.
    let enrolmentKey: String
    /// The identity that the browser presented or was given.
    var presented: WebIdentity?
    var carrier: BrowserCarrier
    /// The way to the browser's home, while that is on another node.
    var passage: DevicePassage?
    /// The device, once its home has let it in.
    private(set) var entry: DeviceEntry?
    private var rules: AutopushSession
    /// The deliveries under way, by the versions by which the browser acknowledges them. A message has several if it
    /// was replaced by a newer one that could not be stored, and therefore is delivered again.
    private var deliveries: [String: [UInt64]] = [:]
    var ending: DevicePresence.Ending?

    /// The session of a connection of this shard, which gets a ``BrowserSocket``.
    init(on port: WebPort, enrolmentKey: String) {
        number = port.context.drawNumber()
        self.port = port
        self.enrolmentKey = enrolmentKey
        rules = AutopushSession(at: port.context.scheduler.now)
        carrier = .none
    }

    /// The session at the home of a browser that has said this hello on another node.
    init(on port: WebPort, _ hello: BrowserHello, at edge: DeviceEdge) {
        number = port.context.drawNumber()
        self.port = port
        enrolmentKey = hello.enrolmentKey
        presented = hello.identity
        rules = AutopushSession(identifyingAt: port.context.scheduler.now)
        carrier = .edge(edge)
    }

    var context: ShardContext { port.context }

    /// Its device, while this is the device's connection.
    var currentEntry: DeviceEntry? { entry.flatMap { $0.session === self ? $0 : nil } }

    /// Whether the browser's hello is answered.
    var isLetIn: Bool { entry != nil || passage?.isAnswered == true }

    var party: CloneWatch.Party { CloneWatch.Party(instance: 0, address: carrier.host) }

    // MARK: The connection

    func takePlace() { port.add(self) }

    /// The browser has sent a text message.
    func heard(_ text: [UInt8]) {
        guard let passage else { return perform(rules.receive(text.span, at: context.scheduler.now)) }
        port.edges.passOn(text, of: self, over: passage)
    }

    /// There was no hello in time.
    func helloIsLate() { perform(rules.close(.noHello)) }

    /// The connection has ended so, unless the session knows more.
    func ended(_ ending: DevicePresence.Ending) {
        leave(as: self.ending ?? ending)
        retire()
    }

    /// The browser is away, for the home that is here or on another node.
    private func leave(as ending: DevicePresence.Ending) {
        self.ending = ending
        port.edges.left(self)
        port.left(self, ending)
    }

    /// The session is over.
    private func retire() {
        if let edge = carrier.edge { port.edges.forget(edge) }
        port.remove(self)
        entry = nil
        carrier = .none
    }

    /// The connection is about to leave this shard for the browser's home.
    func depart() {
        port.remove(self)
        carrier.socket?.depart()
    }

    /// The connection has arrived at the browser's home.
    func arrive(at port: WebPort, number: UInt64) {
        self.port = port
        self.number = number
        takePlace()
        carrier.socket?.arrive()
    }

    // MARK: HomeSession

    /// The browser is let in.
    func welcome(_ entry: DeviceEntry, as identity: WebIdentity) {
        self.entry = entry
        perform(rules.identified(as: identity.text))
        carrier.socket?.beginPings()
    }

    func deliver(_ notification: Notification, as delivery: UInt64, reportedAs push: UInt64) -> Bool {
        let version = notification.identity.text
        if deliveries[version] != nil {
            // The browser has it, or will get it in its turn.
            deliveries[version]?.append(delivery)
            return true
        }
        guard rules.hasRoom, let entry,
            let subscription = port.home.subscriptions[entry.identity, notification.registration],
            let message = WebPushMessage(stored: notification.payload)
        else { return false }
        deliveries[version] = [delivery]
        perform(
            rules.deliver(
                AutopushNotification(channel: subscription.channel, version: version, message: message)))
        return true
    }

    /// The turn of a message has come that has waited for the one before it. Meanwhile it may have been replaced or
    /// cancelled, or have expired, or its subscription may have ended: then it is not sent.
    private func takeTurn(_ version: String) {
        guard let entry = currentEntry, let waiting = deliveries[version] else { return }
        if port.isStillToBeSent(waiting, to: entry) { return perform(rules.sendWaiting(version)) }
        deliveries[version] = nil
        perform(rules.withdraw(version))
    }

    func cutIfPlanned(with notification: Notification) {}

    func leave(_ reason: Goodbye.Reason, retryAfterMilliseconds: UInt32, _ detail: String) {
        ending = ending ?? DevicePresence.Ending(ofRelay: reason)
        switch reason {
        case .replaced, .duplicated: perform(rules.close(.replaced))
        case .overloaded: perform(rules.close(.tryAgainLater))
        case .shutdown, .asleep, .removed, .protocolError, .unspecified: perform(rules.close(.goingAway))
        }
    }

    /// The URL permits no new browser.
    func refuse() { perform(rules.close(.invalidMember("the enrolment key in the URL"))) }

    /// The home, which is on another node, closes the WebSocket.
    func close(byHomeWith code: UInt16, _ reason: String) {
        _ = rules.close(.goingAway)
        carrier.close(code: code, reason)
    }

    /// Cuts the connection.
    func abort() {
        guard let edge = carrier.edge else {
            carrier.socket?.wire?.abort(.localClose)
            return
        }
        edge.finish(nil, "")
        retire()
    }

    // MARK: Subscriptions

    func registered(_ channel: String, at endpoint: String) {
        perform(rules.registered(channel, at: endpoint))
    }

    func registrationFailed(_ channel: String, status: Int) {
        perform(rules.registrationFailed(channel, status: status))
    }

    func unregistered(_ channel: String) { perform(rules.unregistered(channel)) }

    // MARK: Effects

    private func perform(_ effects: [AutopushSession.Effect]) {
        for effect in effects {
            switch effect {
            case .identify(let text):
                presented = text.flatMap { WebIdentity($0) }
                port.greet(self)
            case .register(let channel, let key):
                port.home.take(.register(channel: channel, key: key), of: self)
            case .unregister(let channel): port.home.take(.unregister(channel: channel), of: self)
            case .settle(let version, _):
                guard let entry = currentEntry, let settled = deliveries.removeValue(forKey: version) else {
                    continue
                }
                port.acknowledged(settled, by: entry)
            case .turn(let version): takeTurn(version)
            case .send(let text): carrier.send(text)
            case .close(let close): self.close(close)
            }
        }
    }

    private func close(_ close: AutopushClose) {
        leave(as: ending ?? .protocolError)
        carrier.close(code: close.code, close.reason)
        // A connection of this shard has an end of its own.
        if carrier.edge != nil { retire() }
    }
}
