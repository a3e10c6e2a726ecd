import PostriderCluster
import PostriderNotifications
import PostriderSystem
import PostriderTransport

/// The thread that asks the database about the membership. Its calls block: here neither pushes nor links wait for
/// them, and heartbeats do not wait for commits.
struct MembershipThread: Sendable {
    let mailboxes: NodeMailboxes
    let open: @Sendable () throws(StoreError) -> any ClusterStore

    /// Opens the store on a new thread, which then answers requests until it gets nil.
    func start() async throws {
        try await Thread.start(name: "membership") { run($0) }
    }

    private func run(_ continuation: CheckedContinuation<Void, any Error>) {
        do {
            let loop = try EventLoop()
            let store = try open()
            try loop.attach(mailboxes.requests) { [unowned loop] requests in
                for request in requests {
                    guard let request else {
                        store.close()
                        return loop.stop()
                    }
                    let (answer, failure) = store.answer(request)
                    if answer == .joined(true) { mailboxes.events.postEvenIfFull(.claimed(store.claim)) }
                    mailboxes.events.postEvenIfFull(.answered(answer, failure))
                }
                requests.removeAll(keepingCapacity: true)
            }
            continuation.resume()
            loop.run()
        } catch {
            continuation.resume(throwing: error)
        }
    }
}
