import PostriderCluster
import PostriderCourier
import PostriderNotifications
import Testing

@testable import PostriderNodes
@testable import PostriderTLS
@testable import PostriderTransport

/// Some nodes on one loop, with real sockets and certificates.
final class NodeFixture {
    /// One node, and what it was told.
    final class Node {
        let name: NodeName
        fileprivate(set) var address: SocketAddress?
        fileprivate(set) var links: NodeLinks?
        var events: [String] = []
        var messages: [String] = []
        /// The open links by the name of the other node, those that this node has opened first.
        var outgoing: [String: Int] = [:]
        var incoming: [String: Int] = [:]
        /// Whether a message breaks the protocol.
        var refusesMessages = false
        /// Called with each message and the number of its link.
        var answer: ((String, Int) -> Void)?

        fileprivate init(_ name: NodeName) { self.name = name }

        fileprivate func note(_ event: NodeLinks.Event) {
            switch event {
            case .opened(let number, let node, let isOutgoing):
                events.append("\(isOutgoing ? "to" : "from") \(node)")
                if isOutgoing { outgoing[node.text] = number } else { incoming[node.text] = number }
            case .ended(let number, let node, let isOutgoing, let end):
                events.append("end \(isOutgoing ? "to" : "from") \(node): \(end)")
                if isOutgoing, outgoing[node.text] == number { outgoing[node.text] = nil }
                if !isOutgoing, incoming[node.text] == number { incoming[node.text] = nil }
            case .failed(let node, let end): events.append("no \(node?.text ?? "?"): \(end)")
            }
        }
    }

    let loop: EventLoop
    let certificates: NodeCertificates

    /// A fixture with a loop of its own and, if there is another fixture, with that one's certificates.
    init(sharing other: NodeFixture? = nil) throws {
        loop = try EventLoop()
        certificates = try other?.certificates ?? NodeCertificates()
    }

    /// Starts a node.
    ///
    /// - Parameters:
    ///   - cluster: what identifies its database.
    ///   - contexts: its certificates; those of the cluster's authority for its name if nil.
    func start(
        _ text: String, cluster: String = "c1", contexts: (server: TLSContext, client: TLSContext)? = nil
    ) throws -> Node {
        let name = try #require(NodeName(text))
        let node = Node(name)
        let (server, client) = try contexts ?? certificates.contexts(of: text)
        let links = NodeLinks(
            greeting: NodeGreeting(cluster: cluster, name: name, generation: 1), on: loop,
            dial: { [loop] other, destination, handler in
                _ = loop.dial(
                    destination, resolver: NoResolver(), tls: (client, other.text),
                    timeoutMilliseconds: 2_000, session: handler)
            },
            told: { [unowned node] in node.note($0) },
            receive: { [unowned node] bytes, number in
                guard !node.refusesMessages else { return .truncated }
                var copy: [UInt8] = []
                for index in bytes.indices { copy.append(bytes[index]) }
                let text = String(decoding: copy, as: UTF8.self)
                node.messages.append(text)
                node.answer?(text, number)
                return nil
            })
        node.links = links
        let listener = try loop.listen(try SocketAddress("127.0.0.1:0"), tls: server) { [unowned links] _ in
            links.accept()
        }
        node.address = listener.address
        return node
    }

    /// Lets each of these nodes open links to all others.
    func join(_ nodes: Node...) throws {
        for node in nodes {
            var others: [NodeName: Destination] = [:]
            for other in nodes where other !== node {
                others[other.name] = .address(try #require(other.address))
            }
            node.links?.connect(to: others)
        }
    }

    /// Runs turns of the loop, and of another fixture's, until `condition` holds. The limit only keeps a broken test
    /// from hanging.
    func turn(
        with other: NodeFixture? = nil, until condition: () -> Bool,
        _ location: SourceLocation = #_sourceLocation
    ) {
        var isLate = false
        let limit = loop.makeTimer { isLate = true }
        limit.arm(afterMilliseconds: 60_000)
        // A loop waits for events: where there are two, a timer makes it go on soon.
        let pulses = [self, other].compactMap { $0?.loop }.map { loop in
            Pulse(on: loop, isNeeded: other != nil)
        }
        while !condition() && !isLate {
            loop.turn()
            other?.loop.turn()
        }
        withExtendedLifetime(pulses) {}
        #expect(!isLate, "what the test waits for does not happen", sourceLocation: location)
    }
}

/// Ends the waits of a loop after a few milliseconds.
private final class Pulse {
    private var timer: (any LoopTimer)?

    init(on loop: EventLoop, isNeeded: Bool) {
        guard isNeeded else { return }
        timer = loop.makeTimer { [unowned self] in timer?.arm(afterMilliseconds: 2) }
        timer?.arm(afterMilliseconds: 2)
    }
}

/// Finds nothing: the nodes have addresses.
private struct NoResolver: HostResolver {
    func lookUp(
        _ host: String, port: UInt16, on loop: EventLoop,
        receive: @escaping (Result<[SocketAddress], TransportError>) -> Void
    ) throws(TransportError) -> any HostQuery { throw TransportError("No names are looked up here.") }
}
