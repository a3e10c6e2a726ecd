import PostriderCourier
import PostriderNotifications
import PostriderTransport
import PostriderWeb
import PostriderWebPush

/// One browser's WebSocket, which speaks the autopush protocol. It begins on the shard that accepted it, and moves to
/// the browser's home once the browser has said hello.
final class WebDeviceSession: ConnectionHandler, HomeSession {
    private(set) var number: UInt64
    private(set) unowned var port: WebPort
    private(set) var wire: (any ConnectionOutput)?
    /// The enrolment key in the URL with which the browser connected; empty for none.
    let enrolmentKey: String
    /// The identity that the browser presented or was given.
    var presented: WebIdentity?
    /// The device, once its home has let it in.
    private(set) var entry: DeviceEntry?
    private var socket = WebSocketConnection()
    private var rules: AutopushSession
    /// The deliveries under way, by the versions by which the browser acknowledges them. A message has several if it
    /// was replaced by a newer one that could not be stored, and therefore is delivered again.
    private var deliveries: [String: [UInt64]] = [:]
    private var ending: DevicePresence.Ending?
    /// The timer for the hello, then for pings.
    private var timer: (any LoopTimer)?
    /// Whether anything has arrived since the last ping.
    private var hasHeard = true
    /// Seconds for which a fragmented message has not been complete.
    private var waitedSeconds = 0

    /// - Parameter output: what has to be sent first: the end of the handshake.
    init(on port: WebPort, enrolmentKey: String, output: [UInt8]) {
        number = port.context.drawNumber()
        self.port = port
        self.enrolmentKey = enrolmentKey
        rules = AutopushSession(at: port.context.scheduler.now)
        socket.output = output
    }

    private var context: ShardContext { port.context }

    /// Its device, while this is the device's connection.
    var currentEntry: DeviceEntry? { entry.flatMap { $0.session === self ? $0 : nil } }

    var party: CloneWatch.Party { CloneWatch.Party(instance: 0, address: wire?.remoteHost ?? "") }

    // MARK: ConnectionHandler

    func opened(on wire: any ConnectionOutput) {
        self.wire = wire
        takePlace()
        arm(milliseconds: Limits.helloMilliseconds)
        wire.setNeedsFlush()
    }

    func received(_ bytes: Span<UInt8>) {
        hasHeard = true
        socket.receive(bytes)
        do throws(WebSocketViolation) {
            while let event = try socket.next() {
                switch event {
                case .text(let text):
                    let bytes = Array(text.utf8)
                    perform(rules.receive(bytes.span, at: context.scheduler.now))
                case .pong: break
                case .closed:
                    ending = ending ?? .goodbye
                    wire?.close(.peerClosed)
                }
            }
        } catch {
            ending = ending ?? .protocolError
            wire?.close(.protocolError(error.description, name: "WebSocket \(error.code)"))
        }
        if !socket.isMidMessage, !socket.isClosing { waitedSeconds = 0 }
        if socket.wantsToSend { wire?.setNeedsFlush() }
    }

    func inputEnded() { wire?.close(.peerClosed) }

    func flush(into output: inout [UInt8]) { socket.drain(into: &output) }

    var isKeptWaiting: Bool { socket.isMidMessage || socket.isClosing }

    func look() {
        waitedSeconds += 1
        guard waitedSeconds * 1000 >= Limits.webRequestMilliseconds else { return }
        wire?.close(.stalled("a message or the end of the connection was not complete"))
    }

    func closed(_ reason: CloseReason) {
        port.left(self, ending ?? DevicePresence.Ending(reason))
        port.remove(self)
        timer = nil
        entry = nil
        context.webEnds.note(reason, of: wire?.peer)
        wire = nil
    }

    // MARK: Moving home

    /// The connection is about to leave this shard for the browser's home.
    func depart() {
        timer = nil
        port.remove(self)
    }

    /// The connection has arrived at the browser's home.
    func arrive(at port: WebPort, number: UInt64) {
        self.port = port
        self.number = number
        takePlace()
        arm(milliseconds: Limits.helloMilliseconds)
        wire?.setNeedsFlush()
    }

    private func takePlace() {
        port.add(self)
        timer = context.scheduler.makeTimer { [unowned self] in timeIsUp() }
    }

    private func arm(milliseconds: Int) { timer?.arm(afterMilliseconds: milliseconds) }

    private func timeIsUp() {
        guard entry != nil else { return perform(rules.close(.noHello)) }
        guard hasHeard else {
            ending = .silent
            wire?.abort(.idleTimeout)
            return
        }
        hasHeard = false
        socket.sendPing()
        wire?.setNeedsFlush()
        arm(milliseconds: Limits.webPingMilliseconds)
    }

    // MARK: HomeSession

    /// The browser is let in.
    func welcome(_ entry: DeviceEntry, as identity: WebIdentity) {
        self.entry = entry
        perform(rules.identified(as: identity.text))
        arm(milliseconds: Limits.webPingMilliseconds)
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

    func abort() { wire?.abort(.localClose) }

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
            case .send(let text): socket.send(text.span)
            case .close(let close):
                port.left(self, ending ?? .protocolError)
                socket.close(code: close.code, close.reason)
            }
        }
        if socket.wantsToSend { wire?.setNeedsFlush() }
    }
}
