import PostriderCluster
import PostriderCourier
import PostriderNotifications
import RelayFixtures

@testable import PostriderRelay

/// Two nodes with one shard each: the home of all devices, and the edge, to which devices connect. Their switches are
/// joined by a link that the edge has opened.
final class EdgeFixture {
    /// The number of the link at the edge.
    static let link = 5
    /// The number of the link at the home.
    static let linkAtHome = 8

    let edge: DeviceFixture
    let home: DeviceFixture
    /// Whether the link takes no requests.
    var isCongested = false
    /// Whether the mailbox of the home has room.
    var hasRoom = true
    private var isOpen = true
    private var toEdge: [[UInt8]] = []
    private var toHome: [[UInt8]] = []
    private var mailOfEdge: [ShardMessage] = []
    private var mailOfHome: [ShardMessage] = []

    private lazy var switchOfEdge = NodeSwitch(
        NodeSwitch.Surroundings(
            shardCount: 1,
            post: { [unowned self] message, _ in
                mailOfEdge.append(message)
                return true
            },
            postAnswer: { [unowned self] message, _ in mailOfEdge.append(message) },
            takesRequest: { [unowned self] _ in !isCongested },
            send: { [unowned self] bytes, _ in toHome.append(bytes) }))

    private lazy var switchOfHome = NodeSwitch(
        NodeSwitch.Surroundings(
            shardCount: 1,
            post: { [unowned self] message, _ in
                if hasRoom { mailOfHome.append(message) }
                return hasRoom
            },
            postAnswer: { [unowned self] message, _ in mailOfHome.append(message) },
            takesRequest: { _ in false },
            send: { [unowned self] bytes, _ in toEdge.append(bytes) }))

    init() throws {
        edge = try DeviceFixture(devices: 0)
        home = try DeviceFixture(devices: 2)
        switchOfEdge.opened(Self.link)
        try place(.node(link: Self.link))
        try home.receive(Self.placed(.here))
    }

    private static func placed(_ place: PartitionPlaces.Place) -> ShardMessage {
        .registry(.placed(PartitionPlaces(Array(repeating: place, count: Partition.count))))
    }

    /// The edge learns that all devices have this place.
    func place(_ place: PartitionPlaces.Place) throws {
        try edge.receive(Self.placed(place))
        try run()
    }

    /// Connects a device to the edge and sends its hello.
    func connect(_ number: Int = 0, instance: UInt64 = 0) throws -> DeviceClientConnection {
        let line = try edge.connect(number, instance: instance)
        try run()
        return line
    }

    /// Pushes to a device at its home.
    func push(_ number: UInt64, to device: Int = 0) throws {
        try home.push(number, to: device)
        try run()
    }

    /// The device of this number at its home.
    func entry(_ number: Int = 0) -> DeviceEntry? { home.shard.home.entries[DeviceFixture.identity(number)] }

    /// The link ends, and both nodes hear of it.
    func endLink() throws {
        isOpen = false
        switchOfEdge.ended(Self.link)
        switchOfHome.ended(Self.linkAtHome)
        try edge.receive(.edge(.linkEnded(link: Self.link)))
        try home.receive(.edge(.linkEnded(link: Self.linkAtHome)))
        try run()
    }

    /// Lets both nodes and the link do all that they can.
    func run() throws {
        repeat {
            try edge.run()
            try home.run()
        } while try pass()
    }

    /// Lets only the edge do what it can: the home hears nothing yet.
    func runEdge() throws { try edge.run() }

    private func pass() throws -> Bool {
        for message in edge.nodes.takeAll() { switchOfEdge.pass(message) }
        for message in home.nodes.takeAll() { switchOfHome.pass(message) }
        let (requests, answers) = isOpen ? (toHome, toEdge) : ([], [])
        (toHome, toEdge) = ([], [])
        for bytes in requests { try switchOfHome.receive(bytes.span, from: Self.linkAtHome) }
        for bytes in answers { try switchOfEdge.receive(bytes.span, from: Self.link) }
        let (forEdge, forHome) = (mailOfEdge, mailOfHome)
        (mailOfEdge, mailOfHome) = ([], [])
        for message in forEdge { try edge.receive(message) }
        for message in forHome { try home.receive(message) }
        return !(forEdge.isEmpty && forHome.isEmpty && requests.isEmpty && answers.isEmpty)
    }
}
