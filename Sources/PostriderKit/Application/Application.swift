public import Dispatch
import FoundationEssentials
import PostriderCourier
import PostriderNotifications
import PostriderTransport
import Synchronization

/// An app on this device, as the agent and the relay know it: one topic with its device token and its notifications.
///
/// Notifications are posted by the ``NotificationDispatcher``, with the application as their sender. Add observers
/// first, and then call ``start()`` or register: notifications that were queued for the app arrive at once, and count
/// as handled when the observers that exist by then have finished. If the process ends before that, the agent hands
/// the notification over again.
///
/// The connection to the agent has its own thread, and reconnects by itself. It ends with ``stop()``, or when the
/// application is released.
public final class Application: Sendable {
    /// The topic of the app: the value of `apns-topic` in requests of the provider.
    public let topic: String

    /// The APNs environment in which the device token is valid.
    public let environment: Environment

    let socketPath: String
    let dispatcher: NotificationDispatcher
    /// The queue on which observers are called, one notification after the other.
    let queue: DispatchQueue
    let complain: @Sendable (String) -> Void
    let state = Mutex(State())

    /// The two environments of APNs (Apple's `aps-environment`). Keys, device tokens and pushes of one are not valid
    /// in the other.
    public enum Environment: Sendable {
        /// The environment of apps that users have installed.
        case production
        /// The environment of apps under development.
        case development
    }

    struct State {
        /// The mailbox of the link; nil before the link is started.
        var mailbox: Mailbox<LinkCommand>?
        var isStopped = false
        var hasEnded = false
        /// Whether notifications are wanted, and whether the link has not been told yet.
        var isWanted = false
        var isWishPosted = false
        var isStarted = false
        var deviceToken: String?
        var authorizationStatus: AuthorizationStatus?
        /// What the agent has reported of the device, and whether it answers.
        var agentConnection = AgentConnection.none
        var hasComplained = false
        var link: LinkChange?
        var keyboard: KeyboardFrame?
        var timeZone: String?
        /// The delegate, its observation of responses, and the response that is being posted.
        var delegate = WeakDelegate()
        var responseObservation: Observation?
        var responded: Responded?
        var decidePresentation: (@Sendable (ResponseDidArrive.Subject) -> NotificationPresentationOptions)?
        /// The calls of the user notification centre, and whether the link has yet to send some.
        var calls: [UInt64: PendingCall] = [:]
        var isCallPosted = false
        /// The channels that are wanted, and those to be unsubscribed from that the agent does not know of yet.
        var channels: [ChannelIdentity: Bool] = [:]
        var areChannelsPosted = false
        var lastTicket: UInt64 = 0
        /// The life cycle as reported so far; nothing before the first report.
        var hasLaunched = false
        var isActive: Bool?
        var isTerminating = false
        /// The handlings that the agent waits for, by number.
        var handlings: [UInt64: Handling] = [:]
        /// The handling whose notification is being posted.
        var posted: Handling?
        /// Notifications that failed or were returned to the agent. Observers that are gone do not count for them.
        var givenBack: Set<NotificationIdentity> = []
        /// Whether nothing is posted any more, and whether the link has been told to end.
        var isLeaving = false
        var isLinkEnding = false
        var waitingForToken: [UInt64: CheckedContinuation<String, any Error>] = [:]
        var waitingForEnd: [CheckedContinuation<Void, Never>] = []
    }

    /// The path of the agent's socket: the value of `POSTRIDER_AGENT_SOCKET` in the environment, or else the system's
    /// path.
    public static var defaultSocketPath: String {
        ProcessInfo.processInfo.environment["POSTRIDER_AGENT_SOCKET"] ?? "/run/postrider-agent/agent.sock"
    }

    /// Creates an application that is not registered. It does not connect yet.
    ///
    /// - Parameters:
    ///   - topic: the app's identifier, which providers send as `apns-topic`.
    ///   - environment: the APNs environment. An app has one at a time: with another one than before, its device
    ///     token becomes invalid, and it gets a new one.
    ///   - socketPath: the path of the agent's Unix socket.
    ///   - dispatcher: the dispatcher that posts its notifications.
    ///   - queue: the queue on which observers are called, one after the other; nil for a background queue.
    ///   - complain: called with one sentence each time that the agent becomes unreachable, on a thread of the
    ///     application: what was tried, and what to do. If not given, the sentence is written to standard error. The
    ///     current state is ``agentConnection``.
    public init(
        topic: String, environment: Environment = .production,
        socketPath: String = Application.defaultSocketPath,
        dispatcher: NotificationDispatcher = .default, queue: DispatchQueue? = nil,
        complain: (@Sendable (String) -> Void)? = nil
    ) {
        self.complain = complain ?? Self.writeToStandardError
        self.topic = topic
        self.environment = environment
        self.socketPath = socketPath
        self.dispatcher = dispatcher
        self.queue = DispatchQueue(label: "postrider.\(topic)", target: queue)
        enterRegister()
    }

    deinit {
        // This ends loops over the application's notifications.
        dispatcher.ended(self)
        state.withLock { $0.mailbox }?.postEvenIfFull(.stop)
    }

    /// The device token as 64 hexadecimal digits; nil if there is none.
    public var deviceToken: String? { state.withLock { $0.deviceToken } }

    /// The user notification centre of the application, for local notifications.
    public var userNotificationCenter: UserNotificationCenter { UserNotificationCenter(self) }

    /// Attaches to the agent without asking for a device token: from now on everything that the device has for the
    /// app arrives, such as its local notifications. An app that registers need not call this.
    ///
    /// - Throws: ``ApplicationError``.
    public func start() throws(ApplicationError) {
        let mailbox = try startedMailbox()
        let isFirst = state.withLock { state in
            defer { state.isStarted = true }
            return !state.isStarted
        }
        if isFirst { mailbox.postEvenIfFull(.attach) }
    }

    /// Registers with the agent and, through it, with the relay, and returns the device token that the provider
    /// needs. From now on notifications arrive. It returns when agent and relay can be reached; cancel the task to
    /// stop waiting. ``agentConnection`` tells at once whether the agent can be reached.
    ///
    /// - Throws: ``ApplicationError``, or `CancellationError`.
    @discardableResult
    public func registerForRemoteNotifications() async throws -> String {
        try wish(true)
        let ticket = state.withLock { state in
            state.lastTicket += 1
            return state.lastTicket
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in wait(ticket, continuation) }
        } onCancel: {
            let waiting = state.withLock { $0.waitingForToken.removeValue(forKey: ticket) }
            waiting?.resume(throwing: CancellationError())
        }
    }

    /// Unregisters the topic: its device token becomes invalid, and notifications queued for the app are dropped.
    ///
    /// - Throws: ``ApplicationError``.
    public func unregisterForRemoteNotifications() throws(ApplicationError) {
        state.withLock { $0.deviceToken = nil }
        try wish(false)
    }

    /// Reports that the notification being observed could not be handled. The agent hands it over again with growing
    /// delays, and after a number of attempts keeps it as a dead letter for the device's owner. Observers of a push,
    /// a local notification or a response call this before they return; a loop calls
    /// ``NotificationDispatcher/Notifications/fail(_:)``.
    ///
    /// - Parameter reason: one sentence for the device's owner.
    public func reportFailure(_ reason: String) {
        (Handling.current ?? state.withLock { $0.posted })?.fail(reason)
    }

    /// Ends the connection to the agent. Observers and loops that are handling a notification finish, and the agent
    /// is told what they have handled; the agent keeps notifications that were not given to them. An observer may
    /// call this; no other is called after it. Loops over the application's notifications end when they ask for the
    /// next one. ``untilEnd()`` returns when all of this is done.
    public func stop() {
        let waiting: [CheckedContinuation<String, any Error>]? = state.withLock { state in
            guard !state.isStopped else { return nil }
            state.isStopped = true
            defer { state.waitingForToken = [:] }
            return Array(state.waitingForToken.values)
        }
        guard let waiting else { return }
        for continuation in waiting { continuation.resume(throwing: ApplicationError.stopped) }
        failCalls(.stopped)
        withdraw()
        queue.async { [self] in leave() }
    }

    /// Returns when the application has been stopped and the agent knows what was handled. An observer or a loop must
    /// not wait for this while it handles a notification, because it would wait for itself.
    public func untilEnd() async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                guard !state.hasEnded, state.mailbox != nil || !state.isStopped else { return true }
                state.waitingForEnd.append(continuation)
                return false
            }
            if isOver { continuation.resume() }
        }
    }
}

/// Why an application cannot do what was asked of it.
public enum ApplicationError: Error, Equatable, CustomStringConvertible {
    /// The agent or the relay has refused the registration. The reason is a sentence.
    case refused(String)
    /// The application has been stopped.
    case stopped
    /// The connection to the agent cannot be started. The reason is a sentence.
    case unusable(String)

    /// A sentence that describes the error.
    public var description: String {
        switch self {
        case .refused(let reason), .unusable(let reason): reason
        case .stopped: "The application has been stopped."
        }
    }
}
