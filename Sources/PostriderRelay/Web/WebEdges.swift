import PostriderCourier
import PostriderNotifications
import PostriderTransport

/// The browsers of one shard whose connection and whose home are on different nodes: the same as ``DeviceEdges`` for
/// agents.
///
/// At the edge are the WebSocket, its pings and the time for the hello. The autopush protocol is spoken by the session
/// at the home.
final class WebEdges {
    private unowned let port: WebPort
    private var sessions: EdgeSessions<WebDeviceSession>

    init(_ port: WebPort) {
        self.port = port
        sessions = EdgeSessions(port.context)
    }

    private var context: ShardContext { port.context }

    /// The number of this shard's sessions whose connections other nodes have.
    var remoteCount: Int { sessions.remoteCount }

    /// Handles a message of another node. Returns whether it is about a browser.
    func take(_ message: EdgeMessage) -> Bool {
        switch message {
        case .openBrowser(let hello, let host, let address): open(hello, host, address)
        case .said(_, let text, let address):
            guard let session = sessions[address] else { return false }
            session.heard(text)
        case .ended(_, let ending, let address):
            guard let session = sessions[address] else { return false }
            session.ended(ending ?? .closed)
        case .say(let address, let text, _):
            guard let (session, passage) = sessions.passed(at: address) else { return false }
            say(text, to: session, passage)
        case .close(let address, let code, let reason):
            guard let (session, _) = sessions.passed(at: address) else { return true }
            sessions.forget(session)
            session.close(byHomeWith: code, reason)
        case .finish(let address, _, _):
            guard let (session, _) = sessions.passed(at: address) else { return false }
            sessions.forget(session)
            session.carrier.socket?.wire?.close(.localClose)
        case .refuse(let address, _):
            guard let (session, _) = sessions.passed(at: address) else { return false }
            postpone(session)
        case .open, .linkEnded: return false
        }
        return true
    }

    /// Asks a browser to come back: no node serves it, or that node has no room for its messages. Browsers draw their
    /// own time for that.
    func postpone(_ session: WebDeviceSession) {
        session.leave(.overloaded, retryAfterMilliseconds: 0, "no node serves the browser at the moment")
    }

    // MARK: At the edge

    /// Passes a session on, whose browser has presented this identity.
    func passOn(_ session: WebDeviceSession, as identity: WebIdentity, to place: ShardPlace) {
        guard session.carrier.edge == nil, !context.outbox.isCongested(place.number) else {
            return postpone(session)
        }
        let address = sessions.passOn(session, of: identity.device, to: place)
        let hello = BrowserHello(identity: identity, enrolmentKey: session.enrolmentKey)
        context.outbox.send(
            .edge(.openBrowser(hello, host: session.carrier.host, address)), to: place.number)
    }

    /// Passes a browser's text message on.
    func passOn(_ text: [UInt8], of session: WebDeviceSession, over passage: DevicePassage) {
        guard !context.outbox.isCongested(passage.place.number),
            passage.allowance.takes(text.count, now: context.scheduler.now)
        else { return postpone(session) }
        context.outbox.send(
            .edge(.said(passage.device, text, sessions.address(of: session))), to: passage.place.number)
    }

    /// A session has ended on this shard: its home is told, unless the home has ended it.
    func left(_ session: WebDeviceSession) { sessions.left(session) }

    private func say(_ text: [UInt8], to session: WebDeviceSession, _ passage: DevicePassage) {
        session.carrier.send(text)
        guard !passage.isAnswered else { return }
        passage.isAnswered = true
        session.carrier.socket?.beginPings()
    }

    // MARK: At the home

    private func open(_ hello: BrowserHello, _ host: String, _ address: ReplyAddress) {
        // An edge never uses an address twice; if it does, the newer session counts.
        sessions[address]?.ended(.cut)
        let session = WebDeviceSession(on: port, hello, at: DeviceEdge(address, host: host, context.outbox))
        sessions[address] = session
        session.takePlace()
        port.greet(session)
    }

    /// A session of a connection that another node has is over.
    func forget(_ edge: DeviceEdge) { sessions[edge.address] = nil }

    // MARK: Links and places

    /// A link has ended: nothing comes over it any more.
    func ended(_ link: Int) {
        for session in sessions.passed(over: link) { postpone(session) }
        for session in sessions.remote(over: link) { session.ended(.cut) }
    }

    /// Partitions have other places: browsers that are passed on to where they are not at home any more come back.
    func placesChanged() {
        for session in sessions.astray { postpone(session) }
    }
}

extension WebDeviceSession: EdgeSession {}
