import PostriderCourier
import PostriderEndpoints
import PostriderHTTP2
import PostriderNotifications
import PostriderTransport

/// One attempt of a ``DeviceClient``: a connection with one `Connect` stream, from connecting to its end.
final class DeviceConnection: EndpointOwner {
    let number: LinkNumber
    /// The client; nil when it was released.
    private unowned var client: DeviceClient?
    private let configuration: DeviceClient.Configuration
    /// The address that it goes to.
    private let relay: Server
    private let loop: EventLoop
    private lazy var endpoint = HTTP2Handler(role: .client, settings: SessionSettings(), owner: self)
    private var dialing: Dialing?

    private var link: DeviceLink
    private var framing = MessageFraming(maxMessageBytes: Limits.relayMessageBytes)
    private var frame: [UInt8] = []
    /// The stream of `Connect`.
    private var connect = ConnectStream()

    /// The deadline of the welcome, then of the next PING, and last of the goodbye.
    private var timer: (any LoopTimer)?
    private var phase = Phase.greeting
    private var path = Path()
    /// The deadline of the answer to a PING.
    private lazy var pongTimer = loop.makeTimer { [unowned self] in pongIsOverdue() }

    private enum Phase { case greeting, linked, leaving }

    /// The stream of `Connect`: how far it has come, and how it ended.
    private struct ConnectStream {
        /// Its number; nil before it is open and after it is closed.
        var number: Int32?
        /// Whether this side has ended its half.
        var isFinished = false
        /// The relay's reason for the end. It takes precedence over the end of the connection.
        var end: LinkEnd?
        var welcomedAt: UInt64?
    }

    /// The network path of the connection, and what it has borne.
    private struct Path {
        /// Its name; empty before the connection.
        var name = ""
        /// The seconds between PINGs that the relay has granted.
        var grantedSeconds = 0
        var silence = LinkSilence()
        var pings = OpenPings()
    }

    init(
        _ number: LinkNumber, of client: DeviceClient, wanted: [String: Environment],
        wantedWebPush: [RegisterWebPush], unwanted: Set<String>, reception: Reception
    ) {
        self.number = number
        self.client = client
        configuration = client.configuration
        relay = client.relay
        loop = client.loop
        let hello = Hello(
            deviceIdentity: configuration.identity, deviceSecret: configuration.secret,
            keepaliveSeconds: configuration.keepaliveSeconds, agent: configuration.agent,
            reception: reception, processInstance: configuration.processInstance)
        link = DeviceLink(
            hello: hello, wanted: wanted, wantedWebPush: wantedWebPush, unwanted: unwanted)
    }

    func dial() {
        dialing = relay.dial(
            from: loop, timeoutMilliseconds: configuration.connectMilliseconds, session: endpoint)
    }

    /// Whether the relay has accepted the device and neither side has said goodbye.
    var isOpen: Bool { link.isOpen }

    /// Sends a message now, or after the welcome, as ``DeviceLink/send(_:)`` says. Returns whether it was sent now.
    func send(_ message: DeviceMessage) -> Bool {
        guard let message = link.send(message) else { return false }
        say(message)
        return true
    }

    /// Ends the link in order, or the attempt at once.
    func leave(_ reason: Goodbye.Reason) {
        phase = .leaving
        guard connect.number != nil else {
            dialing?.cancel()
            endpoint.wire?.abort(.localClose)
            return
        }
        say(link.goodbye(reason, detail: ""))
        finish()
        arm(configuration.goodbyeMilliseconds)
    }

    /// Ends the connection because the client was released; no further calls are made.
    func abandon() {
        client = nil
        dialing?.cancel()
        endpoint.wire?.abort(.localClose)
    }

    private func say(_ message: DeviceMessage?) {
        guard let message, let stream = connect.number, !connect.isFinished else { return }
        frame.removeAll(keepingCapacity: true)
        MessageFraming.frame(message, into: &frame)
        let bytes = frame
        endpoint.streams.send(stream, bytes.span)
        path.silence.said(at: loop.now)
    }

    /// Has the relay confirm what was sent. Returns false if the link is not up.
    func confirm() -> Bool {
        guard phase == .linked, !connect.isFinished, connect.end == nil else { return false }
        ping(.confirmation)
        return true
    }

    private func ping(_ purpose: OpenPings.Purpose) {
        path.pings.sent(purpose)
        endpoint.streams.ping()
    }

    /// Ends this side of the stream.
    private func finish() {
        guard let stream = connect.number, !connect.isFinished else { return }
        connect.isFinished = true
        endpoint.streams.finish(stream)
    }

    private func take(_ event: DeviceLink.Event) {
        switch event {
        case .welcomed(let welcome, let messages):
            connect.welcomedAt = loop.now
            path.grantedSeconds = Int(welcome.keepaliveSeconds)
            if phase == .greeting {
                phase = .linked
                arm(keepaliveSeconds * 1000)
            }
            for message in messages { say(message) }
        case .goodbye(let goodbye): connect.end = .goodbye(goodbye)
        case .registered, .unregistered, .refused, .deliver, .subscribed, .unsubscribed, .broadcast: break
        }
        client?.heard(event, over: number)
    }

    // MARK: EndpointOwner

    func opened() {
        do throws(SessionError) {
            path.name = endpoint.wire?.pathName ?? ""
            connect.number = try endpoint.streams.openRequest(requestHead)
            say(link.start())
            arm(configuration.welcomeMilliseconds)
        } catch {
            preconditionFailure("a new connection takes a request")
        }
    }

    func headers(_ stream: Int32, _ block: inout HeaderBlock, kind: BlockKind, endStream: Bool) {
        guard kind != .informational, endStream else { return }
        // These are trailers, a response that has only trailers, or a response that is not gRPC.
        let message = block.value(of: "grpc-message").map { GRPCMessage.decode($0.span) } ?? ""
        let status =
            block.value(of: "grpc-status").map { GRPCStatus($0.span) }
            ?? GRPCStatus(httpStatus: block.text(of: ":status").flatMap { Int($0) } ?? 0)
        if connect.end == nil, status != .ok { connect.end = .status(status, message) }
    }

    func data(_ stream: Int32, _ bytes: Span<UInt8>) {
        path.silence.heard(at: loop.now)
        framing.feed(bytes)
        do throws(CourierError) {
            while let message = try framing.next(RelayMessage.self) {
                if let event = try link.receive(message) { take(event) }
            }
        } catch {
            guard !connect.isFinished else { return }
            connect.end = connect.end ?? .protocolError(error)
            say(.goodbye(error.goodbye))
            finish()
            endpoint.close(.protocolError(error.description))
        }
    }

    func ended(_ stream: Int32) { finish() }

    func closed(_ stream: Int32, errorCode: UInt32) {
        connect.number = nil
        endpoint.close(phase == .leaving ? .localClose : .peerClosed)
    }

    func goawayReceived(lastStream: Int32, errorCode: UInt32, debug: [UInt8]) {}

    func pingAcknowledged() {
        guard path.pings.answered() != .confirmation else {
            path.silence.heard(at: loop.now)
            client?.confirmed()
            return
        }
        pongTimer.disarm()
        guard let seconds = path.silence.ponged(at: loop.now, interval: keepaliveSeconds) else { return }
        client?.pathBore(path.name, silentSeconds: seconds, granted: path.grantedSeconds)
    }

    func disconnected(_ reason: CloseReason) {
        timer = nil
        pongTimer.disarm()
        judgePath(reason)
        connect.number = nil
        dialing = nil
        let upMilliseconds = connect.welcomedAt.map { Int((loop.now - $0) / 1_000_000) } ?? 0
        client?.connectionEnded(connect.end ?? .connection(reason), upMilliseconds: upMilliseconds)
    }

    private var requestHead: HeaderBlock {
        var head = HeaderBlock()
        head.add(":method", "POST")
        head.add(":scheme", relay.scheme)
        head.add(":authority", relay.authority)
        head.add(":path", CourierMethod.connect.rawValue)
        head.add("content-type", "application/grpc")
        head.add("te", "trailers")
        head.add("user-agent", configuration.agent)
        return head
    }

    // MARK: Time

    private func arm(_ milliseconds: Int) {
        let timer = self.timer ?? loop.makeTimer { [unowned self] in timeIsUp() }
        self.timer = timer
        timer.arm(afterMilliseconds: milliseconds)
    }

    private func timeIsUp() {
        switch phase {
        case .greeting: endpoint.wire?.abort(.idleTimeout)
        case .leaving: endpoint.wire?.abort(.localClose)
        case .linked:
            endpoint.streams.forgiveEmptyFrames()
            if !pongTimer.isArmed { path.silence.pinged(at: loop.now) }
            ping(.keepalive)
            arm(keepaliveSeconds * 1000)
            guard !pongTimer.isArmed else { return }
            _ = endpoint.takeHeard()
            pongTimer.arm(afterMilliseconds: configuration.pongMilliseconds)
        }
    }

    /// The PING was not answered in time. A relay that has sent something else meanwhile is alive.
    private func pongIsOverdue() {
        if endpoint.takeHeard() {
            pongTimer.arm(afterMilliseconds: configuration.pongMilliseconds)
        } else {
            path.silence.pongIsOverdue()
            endpoint.wire?.abort(.idleTimeout)
        }
    }

    // MARK: What the path bears

    /// Seconds between PINGs on this path.
    private var keepaliveSeconds: Int {
        client?.keepaliveSeconds(on: path.name, granted: path.grantedSeconds) ?? path.grantedSeconds
    }

    /// The connection has ended. If no side gave a reason, the path may drop silent connections.
    private func judgePath(_ reason: CloseReason) {
        guard phase == .linked, connect.end == nil, let cut = path.silence.cut(reason, at: loop.now) else {
            return
        }
        client?.pathWasCut(path.name, cut, granted: path.grantedSeconds)
    }
}
