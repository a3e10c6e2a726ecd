import PostriderNotifications
import PostriderTransport
import PostriderWeb
import PostriderWebPush

/// One browser's WebSocket, on the shard that has its connection: the frames, and the time for the hello and for pings.
/// What the browser says goes to its ``WebDeviceSession``.
final class BrowserSocket: ConnectionHandler {
    let session: WebDeviceSession
    private(set) var wire: (any ConnectionOutput)?
    private var socket = WebSocketConnection()
    /// The timer for the hello, then for pings.
    private var timer: (any LoopTimer)?
    /// Whether anything has arrived since the last ping.
    private var hasHeard = true
    /// Seconds for which a fragmented message has not been complete.
    private var waitedSeconds = 0

    /// - Parameter output: what has to be sent first: the end of the handshake.
    init(of session: WebDeviceSession, output: [UInt8]) {
        self.session = session
        socket.output = output
        session.carrier = .socket(self)
    }

    // MARK: ConnectionHandler

    func opened(on wire: any ConnectionOutput) {
        self.wire = wire
        session.takePlace()
        makeTimer()
        wire.setNeedsFlush()
    }

    func received(_ bytes: Span<UInt8>) {
        hasHeard = true
        socket.receive(bytes)
        do throws(WebSocketViolation) {
            while let event = try socket.next() {
                switch event {
                case .text(let text): session.heard(Array(text.utf8))
                case .pong: break
                case .closed:
                    session.ending = session.ending ?? .goodbye
                    wire?.close(.peerClosed)
                }
            }
        } catch {
            session.ending = session.ending ?? .protocolError
            wire?.close(.protocolError(error.description, name: "WebSocket \(error.code)"))
        }
        if !socket.isMidMessage, !socket.isClosing { waitedSeconds = 0 }
        flushIfNeeded()
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
        timer = nil
        session.ended(DevicePresence.Ending(reason))
        session.context.webEnds.note(reason, of: wire?.peer)
        wire = nil
    }

    // MARK: Moving home

    /// The connection is about to leave this shard for the browser's home.
    func depart() { timer = nil }

    /// The connection has arrived at the browser's home.
    func arrive() {
        makeTimer()
        wire?.setNeedsFlush()
    }

    // MARK: Time

    private func makeTimer() {
        timer = session.context.scheduler.makeTimer { [unowned self] in timeIsUp() }
        timer?.arm(afterMilliseconds: Limits.helloMilliseconds)
    }

    /// The hello is answered: from now on the browser is asked for a sign of life.
    func beginPings() { timer?.arm(afterMilliseconds: Limits.webPingMilliseconds) }

    private func timeIsUp() {
        guard session.isLetIn else { return session.helloIsLate() }
        guard hasHeard else {
            session.ending = .silent
            wire?.abort(.idleTimeout)
            return
        }
        hasHeard = false
        socket.sendPing()
        wire?.setNeedsFlush()
        beginPings()
    }

    // MARK: The session

    func send(_ text: [UInt8]) {
        socket.send(text.span)
        flushIfNeeded()
    }

    func close(code: UInt16, _ reason: String) {
        socket.close(code: code, reason)
        flushIfNeeded()
    }

    private func flushIfNeeded() { if socket.wantsToSend { wire?.setNeedsFlush() } }
}

/// What carries the messages between a browser's session at its home and the browser.
enum BrowserCarrier {
    /// Nothing, before the beginning and after the end.
    case none
    /// A WebSocket of this shard.
    case socket(BrowserSocket)
    /// The link to the node that has accepted the browser's connection.
    case edge(DeviceEdge)

    /// The WebSocket, if it is on this shard.
    var socket: BrowserSocket? { if case .socket(let socket) = self { socket } else { nil } }
    /// The address of the session at the edge; nil if the connection is on this shard.
    var edge: DeviceEdge? { if case .edge(let edge) = self { edge } else { nil } }

    /// The address of the browser's machine; empty if unknown.
    var host: String { socket?.wire?.remoteHost ?? edge?.host ?? "" }

    /// The address of the connection, or else of the browser's machine; nil if there is none.
    var address: String? { socket?.wire?.peer.address ?? edge?.host }

    func send(_ text: [UInt8]) {
        switch self {
        case .none: break
        case .socket(let socket): socket.send(text)
        case .edge(let edge): edge.say(text, isBroadcast: false)
        }
    }

    func close(code: UInt16, _ reason: String) {
        switch self {
        case .none: break
        case .socket(let socket): socket.close(code: code, reason)
        case .edge(let edge): edge.close(code: code, reason)
        }
    }
}
