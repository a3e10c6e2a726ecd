public import Dispatch
import FoundationEssentials
import PostriderCourier
import PostriderNotifications
import PostriderTransport
import Synchronization

/// An app of this device, as the agent and the relay know it: one topic, its device token, its notifications.
///
/// Notifications come through the ``NotificationDispatcher``, with the application as their sender. Add observers
/// first, then ``start()`` or register: what has been waiting for the app arrives at once, and counts as handled when
/// those observers have finished that were there. One that ends the process before that is given the notification
/// again.
///
/// The connection to the agent has a thread of its own and comes back by itself whenever the agent was away. It ends
/// with ``stop()``, or when nobody holds the application any more.
public final class Application: Sendable {
    /// The app: what the provider sends as `apns-topic`.
    public let topic: String

    /// Where its device token is good.
    public let environment: Environment

    let socketPath: String
    let dispatcher: NotificationDispatcher
    /// Observers are called here, one notification after the other.
    let queue: DispatchQueue
    let complain: @Sendable (String) -> Void
    let state = Mutex(State())

    /// The two worlds of APNs, kept apart from the provider's key to the device token; Apple's `aps-environment`.
    public enum Environment: Sendable {
        /// Apps as their users have them.
        case production
        /// Apps at their makers'.
        case development
    }

    struct State {
        /// The way to the link, once there is one.
        var mailbox: Mailbox<LinkCommand>?
        var isStopped = false
        var hasEnded = false
        /// Whether notifications are wanted, and whether the link has yet to hear of it.
        var isWanted = false
        var isWishPosted = false
        var isStarted = false
        var deviceToken: String?
        var authorizationStatus: AuthorizationStatus?
        /// What the agent has told of the device, and whether it answers.
        var agentConnection = AgentConnection.none
        var hasComplained = false
        var link: LinkChange?
        var keyboard: KeyboardFrame?
        var timeZone: String?
        /// What decides about notifications, what observes responses for it, and the response that is posted.
        var delegate = WeakDelegate()
        var responseObservation: Observation?
        var responded: Responded?
        var decidePresentation: (@Sendable (ResponseDidArrive.Subject) -> NotificationPresentationOptions)?
        /// What the user notification centre has asked, and whether the link has yet to hear of some of it.
        var calls: [UInt64: PendingCall] = [:]
        var isCallPosted = false
        /// Channels that are wanted, and those that the agent has yet to hear are not.
        var channels: [ChannelIdentity: Bool] = [:]
        var areChannelsPosted = false
        var lastTicket: UInt64 = 0
        /// What has been told of the app's life; nil: nothing yet.
        var hasLaunched = false
        var isActive: Bool?
        var isTerminating = false
        /// What the agent waits for and observers are at work on, by number.
        var handlings: [UInt64: Handling] = [:]
        /// What is being posted.
        var posted: Handling?
        /// Notifications that failed, or that were given back: observers that are gone do not count for them.
        var givenBack: Set<NotificationIdentity> = []
        /// Whether nothing is posted any more, and whether the link has been told to end.
        var isLeaving = false
        var isLinkEnding = false
        var waitingForToken: [UInt64: CheckedContinuation<String, any Error>] = [:]
        var waitingForEnd: [CheckedContinuation<Void, Never>] = []
    }

    /// Where agents listen: what the environment says under `POSTRIDER_AGENT_SOCKET`, or else the system's place.
    public static var defaultSocketPath: String {
        ProcessInfo.processInfo.environment["POSTRIDER_AGENT_SOCKET"] ?? "/run/postrider-agent/agent.sock"
    }

    /// An application that has not registered yet; nothing is connected.
    ///
    /// - Parameters:
    ///   - topic: the app's identifier, which providers put into `apns-topic`.
    ///   - environment: where it wants to be reached. An app has one at a time: with another one than before, its
    ///     device token becomes invalid, and it is given a new one.
    ///   - socketPath: the agent's Unix socket.
    ///   - dispatcher: what its notifications are posted to.
    ///   - queue: where observers are called, one after the other; nil: somewhere in the background.
    ///   - complain: told one sentence, once each time that the agent cannot be reached, from a thread of the
    ///     application's: what was tried, and what to do. If not given, it is a line on standard error. The present
    ///     state is ``agentConnection``.
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
        // Loops over its notifications end.
        dispatcher.ended(self)
        state.withLock { $0.mailbox }?.postEvenIfFull(.stop)
    }

    /// The device token, 64 hexadecimal digits; nil while there is none.
    public var deviceToken: String? { state.withLock { $0.deviceToken } }

    /// The application's local notifications.
    public var userNotificationCenter: UserNotificationCenter { UserNotificationCenter(self) }

    /// Attaches to the agent, without asking for a device token: from now on what the device has for the app arrives,
    /// such as its local notifications. An app that registers need not call it.
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

    /// Registers with the agent and, through it, with the relay; from now on notifications arrive. The answer is the
    /// device token that the provider needs. It comes when agent and relay can be reached; cancel the task to wait no
    /// longer. Whether the agent can is told at once: ``agentConnection``.
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

    /// Gives the topic up: its token becomes invalid, and what waits for the app is dropped.
    ///
    /// - Throws: ``ApplicationError``.
    public func unregisterForRemoteNotifications() throws(ApplicationError) {
        state.withLock { $0.deviceToken = nil }
        try wish(false)
    }

    /// Says that what is being observed could not be handled: the agent hands it over again, later each time, and gives
    /// it up after so many attempts, for the device's owner to see. For observers of a push, a local notification or
    /// a response, before they return; a loop says ``NotificationDispatcher/Notifications/fail(_:)``.
    ///
    /// - Parameter reason: one sentence for the device's owner.
    public func reportFailure(_ reason: String) {
        (Handling.current ?? state.withLock { $0.posted })?.fail(reason)
    }

    /// Ends the connection to the agent. Observers and loops that are at work finish, and what they have handled is
    /// told to the agent; what they have not been given yet waits there for the next time. An observer may call this:
    /// it is the last then. Loops over the application's notifications end with their next turn. ``untilEnd()`` tells
    /// when all that is done.
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

    /// Returns when the application has been stopped and the agent knows what was handled. An observer or a loop that
    /// waits for this in the middle of a notification waits for itself.
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

/// Why an application cannot have what it asks for.
public enum ApplicationError: Error, Equatable, CustomStringConvertible {
    /// Agent or relay refuse the registration; the reason is a sentence.
    case refused(String)
    /// The application has been stopped.
    case stopped
    /// The connection to the agent cannot even be begun; the reason is a sentence.
    case unusable(String)

    /// One sentence.
    public var description: String {
        switch self {
        case .refused(let reason), .unusable(let reason): reason
        case .stopped: "The application has been stopped."
        }
    }
}
