package import PostriderCluster
package import PostriderCourier
import PostriderNotifications
package import PostriderTransport

/// The links of one node: one to each other node, which it opens, and one from each, which the other has opened.
/// Confined to the thread of its loop.
package final class NodeLinks: NodeLinkOwner {
    /// What becomes of the links.
    package enum Event {
        /// A link is open: its number, the node at its other end, and whether this node has opened it.
        case opened(Int, NodeName, isOutgoing: Bool)
        /// A link that was open has ended.
        case ended(Int, NodeName, isOutgoing: Bool, NodeLink.End)
        /// A node is not reached, or was refused. Its name is not known for one that came by itself.
        case failed(NodeName?, NodeLink.End)
    }

    /// Opens a connection for a handler: an event loop does it by a ``Dialing``.
    package typealias Dial = (NodeName, Destination, any ConnectionHandler) -> Void

    private struct Target {
        let destination: Destination
        var link: NodeLink?
        var pauseMilliseconds = 0
        var timer: (any LoopTimer)?
    }

    /// This node's greeting. Its generation changes with the membership.
    package var greeting: NodeGreeting
    private let scheduler: any Scheduler
    private let dial: Dial
    private let told: (Event) -> Void
    private let receive: (Span<UInt8>, Int) -> CourierError?
    private var targets: [NodeName: Target] = [:]
    /// Links that are open, by their numbers, which are not used again before all others.
    private var links: [Int: NodeLink] = [:]
    private var numbers: [ObjectIdentifier: Int] = [:]
    /// Links that other nodes have begun and that have not greeted.
    private var newcomers: [ObjectIdentifier: NodeLink] = [:]
    private var lastNumber = 0
    private var isClosed = false

    /// The first pause after a link that has failed, in milliseconds.
    private static let firstPause = 100

    /// Creates the links of the node that greets so.
    ///
    /// - Parameters:
    ///   - told: hears of each event.
    ///   - receive: gets each message and the number of its link. An error that it returns ends the link.
    package init(
        greeting: NodeGreeting, on scheduler: any Scheduler, dial: @escaping Dial,
        told: @escaping (Event) -> Void,
        receive: @escaping (Span<UInt8>, Int) -> CourierError?
    ) {
        self.greeting = greeting
        self.scheduler = scheduler
        self.dial = dial
        self.told = told
        self.receive = receive
    }

    /// The nodes that this one should have links to, and where they are. Links to others are closed.
    package func connect(to nodes: [NodeName: Destination]) {
        for (name, target) in targets where nodes[name] != target.destination {
            targets[name] = nil
            target.link?.close()
        }
        for (name, destination) in nodes.sorted(by: { $0.key < $1.key }) where targets[name] == nil {
            targets[name] = Target(destination: destination)
            open(name)
        }
    }

    /// The handler of a connection that another node has opened; nil if there are too many.
    package func accept() -> (any ConnectionHandler)? {
        guard !isClosed, newcomers.count < Limits.nodes else { return nil }
        let link = NodeLink(.accepting, on: scheduler, owner: self)
        newcomers[ObjectIdentifier(link)] = link
        return link.endpoint
    }

    /// Whether a link takes another request: it is open, and not too much waits for its node.
    package func takesRequest(_ number: Int) -> Bool { links[number].map { !$0.isCongested } ?? false }

    /// Sends a message over the link of a number. Nothing happens if the link has ended.
    package func send(_ message: [UInt8], over number: Int) { links[number]?.send(message) }

    /// Ends all links, and opens and takes no more.
    package func close() {
        isClosed = true
        connect(to: [:])
        for link in links.values { link.close() }
        for link in newcomers.values { link.close() }
    }

    // MARK: Dialling

    private func open(_ name: NodeName) {
        guard let target = targets[name], !isClosed else { return }
        let link = NodeLink(.dialling(name), on: scheduler, owner: self)
        targets[name]?.link = link
        dial(name, target.destination, link.endpoint)
    }

    /// Dials again after a pause, which doubles with each failure.
    private func retry(_ name: NodeName) {
        guard var target = targets[name], !isClosed else { return }
        target.link = nil
        target.pauseMilliseconds =
            target.pauseMilliseconds == 0
            ? Self.firstPause : min(2 * target.pauseMilliseconds, Limits.nodeRetryMilliseconds)
        let timer = target.timer ?? scheduler.makeTimer { [unowned self] in open(name) }
        timer.arm(afterMilliseconds: target.pauseMilliseconds)
        target.timer = timer
        targets[name] = target
    }

    // MARK: NodeLinkOwner

    func opened(_ link: NodeLink, with node: NodeName) {
        newcomers[ObjectIdentifier(link)] = nil
        let isOutgoing = link.role != .accepting
        if isOutgoing {
            targets[node]?.pauseMilliseconds = 0
        } else {
            // The newest link of a node counts: the older one belongs to a process that is gone.
            for older in links.values where older.role == .accepting && older.other == node { older.close() }
        }
        repeat {
            lastNumber = lastNumber % (Limits.nodeLinkNumbers - 1) + 1
        } while links[lastNumber] != nil
        links[lastNumber] = link
        numbers[ObjectIdentifier(link)] = lastNumber
        told(.opened(lastNumber, node, isOutgoing: isOutgoing))
    }

    func received(_ message: Span<UInt8>, over link: NodeLink) -> CourierError? {
        numbers[ObjectIdentifier(link)].flatMap { receive(message, $0) }
    }

    func ended(_ link: NodeLink, _ end: NodeLink.End) {
        newcomers[ObjectIdentifier(link)] = nil
        let isOutgoing = link.role != .accepting
        if let number = numbers.removeValue(forKey: ObjectIdentifier(link)), let node = link.other {
            links[number] = nil
            told(.ended(number, node, isOutgoing: isOutgoing, end))
        } else if !isClosed {
            told(.failed(link.target, end))
        }
        if let name = link.target, targets[name]?.link === link { retry(name) }
    }
}

extension NodeLink {
    /// The node that was dialled; nil for a link that the other node has opened.
    fileprivate var target: NodeName? { if case .dialling(let name) = role { name } else { nil } }
}
