import PostriderCourier
import PostriderHTTP2
import PostriderNotifications
import PostriderTransport

/// The devices of one shard whose connection and whose home are on different nodes.
///
/// A shard that has the connection of such a device is its *edge*. It passes on what the device says to the home, and
/// what the home says to the device, and reads neither. TLS, HTTP/2, the time for the hello and the keepalive stay with
/// it. A shard that is the home of such a device has a ``DeviceSession`` for it, which differs from others in its
/// ``DeviceCarrier`` only.
final class DeviceEdges {
    private unowned let connections: DeviceConnections
    private var sessions: EdgeSessions<DeviceSession>

    init(_ connections: DeviceConnections) {
        self.connections = connections
        sessions = EdgeSessions(connections.context)
    }

    private var context: ShardContext { connections.context }

    /// The number of this shard's sessions whose connections other nodes have.
    var remoteCount: Int { sessions.remoteCount }

    /// Handles a message of another node, or the end of a link.
    func take(_ message: EdgeMessage) {
        switch message {
        case .open(let hello, let host, let address): open(hello, host, address)
        case .said(_, let message, let address): said(message, address)
        case .ended(_, let ending, let address): ended(address, ending)
        case .say(let address, let frame, let isBroadcast): say(frame, isBroadcast: isBroadcast, to: address)
        case .finish(let address, let status, let detail): finish(address, status, detail)
        case .refuse(let address, let detail):
            if let (session, _) = sessions.passed(at: address) { postpone(session, detail) }
        case .linkEnded(let link): ended(link)
        case .openBrowser, .close: preconditionFailure("browsers have edges of their own")
        }
    }

    /// Asks a device to come back, soon and not at the same time as others: another node has it, or no node.
    func postpone(_ session: DeviceSession, _ detail: String) {
        session.leave(
            .overloaded, retryAfterMilliseconds: context.drawPause(in: Limits.postponedMilliseconds), detail)
    }

    // MARK: At the edge

    /// Passes a session on, whose device has said this hello.
    func passOn(_ session: DeviceSession, _ hello: Hello, to place: ShardPlace) {
        guard session.carrier.edge == nil else {
            return postpone(session, "the device has another home than the node thought that accepted it")
        }
        guard !context.outbox.isCongested(place.number) else { return postpone(session, Self.congestion) }
        session.keepalive.seconds = hello.grantedKeepaliveSeconds
        let address = sessions.passOn(session, of: hello.deviceIdentity, to: place)
        let host = session.party(of: hello).address
        context.outbox.send(.edge(.open(hello, host: host, address)), to: place.number)
    }

    /// Passes a device's message on.
    func passOn(_ message: Span<UInt8>, of session: DeviceSession, over passage: DevicePassage) {
        guard !context.outbox.isCongested(passage.place.number) else {
            return postpone(session, Self.congestion)
        }
        guard passage.allowance.takes(message.count, now: context.scheduler.now) else {
            return postpone(session, "the device sends more than may be passed on to its home")
        }
        var bytes: [UInt8] = []
        bytes.append(copying: message)
        context.outbox.send(
            .edge(.said(passage.device, bytes, sessions.address(of: session))), to: passage.place.number)
    }

    private static let congestion = "too much waits for the node that serves the device"

    /// The device has ended its stream. Its home says how the relay ends it.
    func streamEnded(of session: DeviceSession, over passage: DevicePassage) {
        sessions.tellHome(of: session, passage, nil)
    }

    /// A session has ended on this shard: its home is told, unless the home has ended it.
    func left(_ session: DeviceSession) { sessions.left(session) }

    private func say(_ frame: [UInt8], isBroadcast: Bool, to address: ReplyAddress) {
        guard let (session, passage) = sessions.passed(at: address) else { return }
        if isBroadcast {
            guard session.carrier.outboundBytes <= Limits.broadcastBacklogBytes else { return }
            session.carrier.send(shared: frame)
        } else {
            session.carrier.send { $0 += frame }
        }
        guard !passage.isAnswered else { return }
        passage.isAnswered = true
        session.beginKeepalive()
    }

    private func finish(_ address: ReplyAddress, _ status: GRPCStatus?, _ detail: String) {
        guard let (session, _) = sessions.passed(at: address) else { return }
        // The home hears of the end of a connection that it has cut.
        guard let status else { return session.carrier.cut(isOrderly: true) }
        sessions.forget(session)
        session.end(status, detail)
    }

    // MARK: At the home

    private func open(_ hello: Hello, _ host: String, _ address: ReplyAddress) {
        // An edge never uses an address twice; if it does, the newer session counts.
        if let older = sessions[address] { end(older, .cut) }
        let edge = DeviceEdge(address, host: host, context.outbox)
        let session = DeviceSession(at: edge, among: connections)
        sessions[address] = session
        session.takePlace()
        session.endIfBroken { () throws(CourierError) in try session.handle(.hello(hello)) }
    }

    private func said(_ message: [UInt8], _ address: ReplyAddress) {
        guard let session = sessions[address] else { return }
        session.endIfBroken { () throws(CourierError) in
            try session.handle(try DeviceMessage(decoding: message.span))
        }
    }

    private func ended(_ address: ReplyAddress, _ ending: DevicePresence.Ending?) {
        guard let session = sessions[address] else { return }
        guard let ending else { return session.endAsSaid() }
        end(session, ending)
    }

    /// A connection at an edge has ended so, or nothing comes from the edge any more.
    private func end(_ session: DeviceSession, _ ending: DevicePresence.Ending) {
        session.ending = session.ending ?? ending
        connections.left(session)
        session.retire()
    }

    /// A session of a connection that another node has is over.
    func forget(_ edge: DeviceEdge) { sessions[edge.address] = nil }

    // MARK: Links and places

    /// A link has ended: nothing comes over it any more.
    private func ended(_ link: Int) {
        for session in sessions.passed(over: link) {
            postpone(session, "the node that serves the device cannot be reached")
        }
        for session in sessions.remote(over: link) { end(session, .cut) }
    }

    /// Partitions have other places: devices that are passed on to where they are not at home any more come back.
    func change(to places: PartitionPlaces) {
        context.outbox.places = places
        for session in sessions.astray {
            postpone(session, "another node serves the device from now on")
        }
    }
}

extension DeviceSession: EdgeSession {}
