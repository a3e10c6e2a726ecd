import PostriderNotifications
import PostriderSystem
import PostriderTransport
import Synchronization

/// The thread of an application's connection to the agent, and the mailbox by which other threads reach it. It starts
/// with the first call that needs the agent.
final class AgentLinkThread: Sendable {
    private struct State {
        /// The mailbox of the link; nil before the link is started.
        var mailbox: Mailbox<LinkCommand>?
        var isStopped = false
        var hasEnded = false
        var waitingForEnd: [CheckedContinuation<Void, Never>] = []
    }

    /// The usual capacity of the mailbox: a delivery window and some more. Messages are posted even if it is full.
    /// There are never many, because the application sends at most one of each kind for each message of the agent or
    /// each change.
    private static let messages = 128

    private let socketPath: String
    private let state = Mutex(State())

    /// - Parameter socketPath: the path of the agent's Unix socket.
    init(to socketPath: String) { self.socketPath = socketPath }

    /// Whether the application has been stopped.
    var isStopped: Bool { state.withLock { $0.isStopped } }

    /// Starts the thread, unless it has been started.
    ///
    /// - Parameter makeLink: creates the link on its loop, on the thread.
    /// - Parameter failed: called on the thread with one sentence if the loop cannot be created.
    func start(
        _ makeLink: @escaping @Sendable (EventLoop, SocketAddress) -> AgentLink,
        failed: @escaping @Sendable (String) -> Void, ended: @escaping @Sendable () -> Void
    ) throws(ApplicationError) {
        do {
            try state.withLock { state in
                if state.isStopped { throw ApplicationError.stopped }
                guard state.mailbox == nil else { return }
                let mailbox = try Mailbox<LinkCommand>(capacity: Self.messages)
                let address = try SocketAddress(unixPath: socketPath)
                _ = try Thread.spawn(name: "postrider-kit") { [self] in
                    do throws(TransportError) {
                        try Self.run(mailbox) { makeLink($0, address) }
                    } catch {
                        failed(error.description)
                    }
                    ended()
                    tellEnd()
                }
                state.mailbox = mailbox
            }
        } catch let error as ApplicationError {
            throw error
        } catch {
            throw .unusable("\(error)")
        }
    }

    /// Posts a message to the link. A link that was not started gets none.
    func post(_ command: LinkCommand) {
        state.withLock { $0.mailbox }?.postEvenIfFull(command)
    }

    /// Lets no call start the link any more.
    ///
    /// - Returns: whether this is the first call.
    func stop() -> Bool {
        state.withLock { state in
            defer { state.isStopped = true }
            return !state.isStopped
        }
    }

    /// Returns when the thread has ended, or when the application was stopped before it was started.
    func untilEnd() async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                guard !state.hasEnded, state.mailbox != nil || !state.isStopped else { return true }
                state.waitingForEnd.append(continuation)
                return false
            }
            if isOver { continuation.resume() }
        }
    }

    private static func run(
        _ mailbox: Mailbox<LinkCommand>, _ makeLink: (EventLoop) -> AgentLink
    ) throws(TransportError) {
        let loop = try EventLoop()
        let link = makeLink(loop)
        loop.turnEnded = { [unowned link] in link.endTurn() }
        try loop.attach(mailbox) { [unowned link] messages in link.receive(&messages) }
        link.connect()
        withExtendedLifetime(link) { loop.run() }
    }

    private func tellEnd() {
        let waiting = state.withLock { state in
            state.hasEnded = true
            defer { state.waitingForEnd = [] }
            return state.waitingForEnd
        }
        for continuation in waiting { continuation.resume() }
    }
}
