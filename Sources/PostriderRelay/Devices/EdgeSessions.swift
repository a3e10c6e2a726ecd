import PostriderNotifications

/// The way of a session at the edge to its device's home on another node.
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

/// A session of an agent or of a browser, whose connection and whose home may be on different nodes.
protocol EdgeSession: AnyObject {
    /// The number on its shard.
    var number: UInt64 { get }
    /// The way to the home; nil if the session is not passed on.
    var passage: DevicePassage? { get set }
    /// How it has ended, as far as that is known.
    var ending: DevicePresence.Ending? { get }
}

/// The sessions of one shard whose connections and whose homes are on different nodes: those of agents, or those of
/// browsers.
struct EdgeSessions<Session: EdgeSession> {
    private let context: ShardContext
    /// At the edge: the sessions that are passed on, by their numbers.
    private var passed: [UInt64: Session] = [:]
    /// At the home: the sessions whose connections other nodes have.
    private var remote: [ReplyAddress: Session] = [:]

    init(_ context: ShardContext) { self.context = context }

    // MARK: At the edge

    /// A session is passed on from now on. Returns its address.
    mutating func passOn(_ session: Session, of device: DeviceIdentity, to place: ShardPlace) -> ReplyAddress
    {
        session.passage = DevicePassage(of: device, to: place)
        passed[session.number] = session
        return address(of: session)
    }

    /// Where the home answers a session that is passed on.
    func address(of session: Session) -> ReplyAddress {
        ReplyAddress(shard: Int32(context.index), stream: 0, connection: session.number)
    }

    /// The session of an address that names the link to its home.
    func passed(at address: ReplyAddress) -> (Session, DevicePassage)? {
        guard let session = passed[address.connection], let passage = session.passage,
            passage.place.link == ShardPlace(Int(address.shard)).link
        else { return nil }
        return (session, passage)
    }

    /// Tells the home that a session has ended so; nil if the device waits for its end by the home.
    func tellHome(of session: Session, _ passage: DevicePassage, _ ending: DevicePresence.Ending?) {
        context.outbox.send(
            .edge(.ended(passage.device, ending, address(of: session))), to: passage.place.number)
    }

    /// A session has ended on this shard: its home is told, unless the home has ended it.
    mutating func left(_ session: Session) {
        guard let passage = session.passage else { return }
        forget(session)
        tellHome(of: session, passage, session.ending ?? .closed)
    }

    /// A session is not passed on any more.
    mutating func forget(_ session: Session) {
        session.passage = nil
        passed[session.number] = nil
    }

    /// The sessions that are passed on over a link.
    func passed(over link: Int) -> [Session] { passed { $0.place.link == link } }

    /// The sessions that are passed on to where their devices are not at home.
    var astray: [Session] { passed { context.outbox.place(of: $0.device) != $0.place.number } }

    /// In an order that does not depend on hashes, because the same seed has to lead to the same run.
    private func passed(where isWanted: (DevicePassage) -> Bool) -> [Session] {
        passed.values.filter { $0.passage.map(isWanted) ?? false }.sorted { $0.number < $1.number }
    }

    // MARK: At the home

    /// The number of sessions whose connections other nodes have.
    var remoteCount: Int { remote.count }

    /// The session of a connection that another node has under this address.
    subscript(address: ReplyAddress) -> Session? {
        get { remote[address] }
        set { remote[address] = newValue }
    }

    /// The sessions whose connections are at the other end of a link, in the order of their numbers.
    func remote(over link: Int) -> [Session] {
        remote.filter { ShardPlace(Int($0.key.shard)).link == link }.values.sorted { $0.number < $1.number }
    }
}
