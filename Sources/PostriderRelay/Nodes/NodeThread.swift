import PostriderCluster
import PostriderNotifications
import PostriderSystem
import PostriderTransport

/// The thread of a node of a cluster: a loop with the links to other nodes, which also decides what the membership
/// orders.
struct NodeThread: Sendable {
    let cluster: RelayConfiguration.Cluster
    let mailboxes: RelayMailboxes
    let node: NodeMailboxes
    let tls: NodeTLS
    let log: Log
    /// Counted down when the membership is over.
    let left = CountDownLatch(from: 1)
    /// Counted down when the links are closed.
    let closed = CountDownLatch(from: 1)

    /// Starts the thread, and the one of the membership. When this returns, the relay is a member of the cluster. It
    /// has no partitions, and takes none before ``NodeEvent/ready``.
    ///
    /// - Returns: by what the ledger opens its store.
    /// - Throws: `StoreError` or `TransportError`, with one sentence for the operator.
    func start() async throws -> MemberClaim {
        try await MembershipThread(
            mailboxes: node, open: { [cluster, log] () throws(StoreError) in try cluster.openMembership(log) }
        ).start()
        do {
            return try await Thread.start(name: "node") { run($0) }
        } catch {
            node.requests.postEvenIfFull(nil)
            throw error
        }
    }

    private func run(_ continuation: CheckedContinuation<MemberClaim, any Error>) {
        Thread.takeShortSlices()
        do {
            let loop = try EventLoop()
            let work = NodeWork(self, on: loop, joined: { continuation.resume(with: $0) })
            try work.begin()
            withExtendedLifetime(work) { loop.run() }
            closed.countDown()
        } catch {
            continuation.resume(throwing: error)
        }
    }

    /// Gives the node's partitions away and ends its membership. Returns when that is done, or after
    /// ``Limits/leaveMilliseconds`` if the database or the other nodes are slow.
    func leave() async {
        node.events.postEvenIfFull(.leave)
        await left.reachesZero()
    }

    /// Closes the links and ends both threads.
    func stop() async {
        node.events.postEvenIfFull(.stop)
        node.requests.postEvenIfFull(nil)
        await closed.reachesZero()
    }
}

extension Limits {
    /// Milliseconds within which a node that starts must have become a member of its cluster.
    static let joinMilliseconds = 30_000
    /// Milliseconds within which a node that stops gives its partitions away. After that others take them as from a
    /// dead node.
    static let leaveMilliseconds = 15_000
    /// Milliseconds for which a node that has left keeps its links: others see that it has with their next heartbeat,
    /// and keep theirs for half of that time.
    static let linkAfterLeavingMilliseconds = 1_000
}
