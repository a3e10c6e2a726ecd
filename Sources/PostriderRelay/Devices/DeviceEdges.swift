import PostriderCourier
import PostriderHTTP2
import PostriderNotifications
import PostriderTransport

/// A device's stream at the edge, which passes it on to the device's home on another node.
final class DevicePassage {
    let device: DeviceIdentity
    /// The node of the home.
    let place: ShardPlace
    /// Whether the home has sent anything.
    var isAnswered = false
    /// The bytes that the device may send.
    var allowance = TokenBucket((Limits.edgeBytesPerSecond, 4 * Limits.edgeBytesPerSecond))

    init(of device: DeviceIdentity, to place: ShardPlace) {
        self.device = device
        self.place = place
    }
}

/// The devices of one shard whose connection and whose home are on different nodes.
///
/// A shard that has the connection of such a device is its *edge*. It passes on what the device says to the home, and
/// what the home says to the device, and reads neither. TLS, HTTP/2, the time for the hello and the keepalive stay with
/// it. A shard that is the home of such a device has a ``DeviceSession`` for it, which differs from others in its
/// ``DeviceCarrier`` only.
final class DeviceEdges {
    private unowned let connections: DeviceConnections
    /// At the edge: the sessions that are passed on, by their numbers.
    private var passed: [UInt64: DeviceSession] = [:]
    /// At the home: the sessions whose connections other nodes have.
    private var remote: [ReplyAddress: DeviceSession] = [:]

    init(_ connections: DeviceConnections) { self.connections = connections }

    private var context: ShardContext { connections.context }

    /// The number of this shard's sessions whose connections other nodes have.
    var remoteCount: Int { remote.count }

    /// Handles a message of another node, or the end of a link.
    func take(_ message: EdgeMessage) {
        switch message {
        case .open(let hello, let host, let address): open(hello, host, address)
        case .said(_, let message, let address): said(message, address)
        case .ended(_, let ending, let address): ended(address, ending)
        case .say(let address, let frame, let isBroadcast): say(frame, isBroadcast: isBroadcast, to: address)
        case .finish(let address, let status, let detail): finish(address, status, detail)
        case .refuse(let address, let detail):
            if let (session, _) = passedSession(address) { postpone(session, detail) }
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
        session.passage = DevicePassage(of: hello.deviceIdentity, to: place)
        session.keepalive.seconds = hello.grantedKeepaliveSeconds
        passed[session.number] = session
        let host = session.party(of: hello).address
        context.outbox.send(.edge(.open(hello, host: host, address(of: session))), to: place.number)
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
            .edge(.said(passage.device, bytes, address(of: session))), to: passage.place.number)
    }

    private static let congestion = "too much waits for the node that serves the device"

    /// The device has ended its stream. Its home says how the relay ends it.
    func streamEnded(of session: DeviceSession, over passage: DevicePassage) {
        tellHome(session, passage, ending: nil)
    }

    /// A session has ended on this shard: its home is told, unless the home has ended it.
    func left(_ session: DeviceSession) {
        guard let passage = session.passage else { return }
        forget(session)
        tellHome(session, passage, ending: session.ending ?? .closed)
    }

    private func tellHome(
        _ session: DeviceSession, _ passage: DevicePassage, ending: DevicePresence.Ending?
    ) {
        context.outbox.send(
            .edge(.ended(passage.device, ending, address(of: session))), to: passage.place.number)
    }

    private func forget(_ session: DeviceSession) {
        session.passage = nil
        passed[session.number] = nil
    }

    private func address(of session: DeviceSession) -> ReplyAddress {
        ReplyAddress(shard: Int32(context.index), stream: 0, connection: session.number)
    }

    /// The session of an address that names the link to its home.
    private func passedSession(_ address: ReplyAddress) -> (DeviceSession, DevicePassage)? {
        guard let session = passed[address.connection], let passage = session.passage,
            passage.place.link == ShardPlace(Int(address.shard)).link
        else { return nil }
        return (session, passage)
    }

    private func say(_ frame: [UInt8], isBroadcast: Bool, to address: ReplyAddress) {
        guard let (session, passage) = passedSession(address) else { return }
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
        guard let (session, _) = passedSession(address) else { return }
        // The home hears of the end of a connection that it has cut.
        guard let status else { return session.carrier.cut(isOrderly: true) }
        forget(session)
        session.end(status, detail)
    }

    // MARK: At the home

    private func open(_ hello: Hello, _ host: String, _ address: ReplyAddress) {
        // An edge never uses an address twice; if it does, the newer session counts.
        if let older = remote[address] { end(older, .cut) }
        let edge = DeviceEdge(address, host: host, context.outbox)
        let session = DeviceSession(at: edge, among: connections)
        remote[address] = session
        session.takePlace()
        session.endIfBroken { () throws(CourierError) in try session.handle(.hello(hello)) }
    }

    private func said(_ message: [UInt8], _ address: ReplyAddress) {
        guard let session = remote[address] else { return }
        session.endIfBroken { () throws(CourierError) in
            try session.handle(try DeviceMessage(decoding: message.span))
        }
    }

    private func ended(_ address: ReplyAddress, _ ending: DevicePresence.Ending?) {
        guard let session = remote[address] else { return }
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
    func forget(_ edge: DeviceEdge) { remote[edge.address] = nil }

    // MARK: Links and places

    /// A link has ended: nothing comes over it any more.
    private func ended(_ link: Int) {
        // In an order that does not depend on hashes, because the same seed has to lead to the same run.
        for (_, session) in passed.sorted(by: { $0.key < $1.key }) where session.passage?.place.link == link {
            postpone(session, "the node that serves the device cannot be reached")
        }
        let gone = remote.filter { ShardPlace(Int($0.key.shard)).link == link }.values
        for session in gone.sorted(by: { $0.number < $1.number }) { end(session, .cut) }
    }

    /// Partitions have other places: devices that are passed on to where they are not at home any more come back.
    func change(to places: PartitionPlaces) {
        context.outbox.places = places
        for (_, session) in passed.sorted(by: { $0.key < $1.key }) {
            guard let passage = session.passage,
                context.outbox.place(of: passage.device) != passage.place.number
            else { continue }
            postpone(session, "another node serves the device from now on")
        }
    }
}
