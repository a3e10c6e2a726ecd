public import Dispatch
import FoundationEssentials
import PostriderCourier
import PostriderNotifications
import PostriderSystem
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

    let dispatcher: NotificationDispatcher
    /// The queue on which observers are called, one notification after the other.
    let queue: DispatchQueue
    let complain: @Sendable (String) -> Void
    let link: AgentLinkThread
    let registration = TokenRegistration()
    let channels = RequestedSubscriptions()
    let calls: CenterCalls
    let handlings: HandlingTable
    let device = DeviceReports()
    let reports = AppReports()
    let delegation = CenterDelegation()
    private let isAttached = Atomic(false)

    /// The two environments of APNs (Apple's `aps-environment`). Keys, device tokens and pushes of one are not valid
    /// in the other.
    public enum Environment: Sendable {
        /// The environment of apps that users have installed.
        case production
        /// The environment of apps under development.
        case development
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
        self.dispatcher = dispatcher
        self.queue = DispatchQueue(label: "postrider.\(topic)", target: queue)
        link = AgentLinkThread(to: socketPath)
        calls = CenterCalls(of: topic)
        handlings = HandlingTable { [link] in link.post(.stop) }
        enterRegister()
    }

    deinit {
        // This ends loops over the application's notifications.
        dispatcher.ended(self)
        link.post(.stop)
    }

    /// The device token as 64 hexadecimal digits; nil if there is none.
    public var deviceToken: String? { registration.deviceToken }

    /// The user notification centre of the application, for local notifications.
    public var userNotificationCenter: UserNotificationCenter { UserNotificationCenter(self) }

    /// Attaches to the agent without asking for a device token: from now on everything that the device has for the
    /// app arrives, such as its local notifications. An app that registers need not call this.
    ///
    /// - Throws: ``ApplicationError``.
    public func start() throws(ApplicationError) {
        try startLink()
        if !isAttached.exchange(true, ordering: .relaxed) { link.post(.attach) }
    }

    /// Registers with the agent and, through it, with the relay, and returns the device token that the provider
    /// needs. From now on notifications arrive. It returns when agent and relay can be reached; cancel the task to
    /// stop waiting. ``agentConnection`` tells at once whether the agent can be reached.
    ///
    /// - Throws: ``ApplicationError``, or `CancellationError`.
    @discardableResult
    public func registerForRemoteNotifications() async throws -> String {
        try wish(true)
        return try await registration.untilRegistered()
    }

    /// Unregisters the topic: its device token becomes invalid, and notifications queued for the app are dropped.
    ///
    /// - Throws: ``ApplicationError``.
    public func unregisterForRemoteNotifications() throws(ApplicationError) {
        try wish(false)
    }

    private func wish(_ isWanted: Bool) throws(ApplicationError) {
        try startLink()
        if registration.wish(isWanted) { link.post(.wish) }
    }

    /// Subscribes to a channel. Its broadcasts arrive as notifications do:
    /// ``NotificationName/remoteNotificationDidArrive`` with ``ChannelKey/channel`` in the user info.
    ///
    /// The application must be registered, now or later. The agent keeps the subscription until
    /// ``unsubscribe(from:)``, or until the relay ends it. The result is posted:
    /// ``NotificationName/channelDidSubscribe`` or ``NotificationName/channelDidEnd``.
    ///
    /// - Parameter channel: the channel identifier in base64 that the relay gave to the provider (`apns-channel-id`).
    /// - Throws: ``ApplicationError``.
    public func subscribe(to channel: String) throws(ApplicationError) { try wish(channel, isWanted: true) }

    /// Ends the subscription to a channel.
    ///
    /// - Throws: ``ApplicationError``.
    public func unsubscribe(from channel: String) throws(ApplicationError) {
        try wish(channel, isWanted: false)
    }

    private func wish(_ text: String, isWanted: Bool) throws(ApplicationError) {
        guard let channel = ChannelIdentity(text) else {
            throw .unusable("\(text) is no channel: it must be the base64 text that the relay gave out.")
        }
        try startLink()
        if try channels.set(channel, isWanted: isWanted) { link.post(.channels) }
    }

    /// Reports that the notification being observed could not be handled. The agent hands it over again with growing
    /// delays, and after a number of attempts keeps it as a dead letter for the device's owner. Observers of a push,
    /// a local notification or a response call this before they return; a loop calls
    /// ``NotificationDispatcher/Notifications/fail(_:)``.
    ///
    /// - Parameter reason: one sentence for the device's owner.
    public func reportFailure(_ reason: String) {
        handlings.current?.fail(reason)
    }

    /// Ends the connection to the agent. Observers and loops that are handling a notification finish, and the agent
    /// is told what they have handled; the agent keeps notifications that were not given to them. An observer may
    /// call this; no other is called after it. Loops over the application's notifications end when they ask for the
    /// next one. ``untilEnd()`` returns when all of this is done.
    public func stop() {
        guard link.stop() else { return }
        registration.stop()
        calls.end(.stopped)
        handlings.stop()
        queue.async { [self] in
            dispatcher.ended(self)
            handlings.leave()
        }
    }

    /// Returns when the application has been stopped and the agent knows what was handled. An observer or a loop must
    /// not wait for this while it handles a notification, because it would wait for itself.
    public func untilEnd() async { await link.untilEnd() }
}

// Calls of the kit, on any thread.
extension Application {
    /// Starts the connection to the agent, unless it was started.
    func startLink() throws(ApplicationError) {
        let environment: PostriderNotifications.Environment =
            switch environment {
            case .production: .production
            case .development: .development
            }
        // The link does not keep the application alive.
        try link.start { [weak self, topic] loop, address in
            AgentLink(on: loop, to: address, topic: topic, in: environment) { [weak self] in self }
        } failed: { [weak self] reason in
            self?.registrationFailed(reason)
            self?.calls.end(.unusable(reason))
        } ended: { [weak self] in
            self?.device.linkEnded()
        }
    }

    /// Sends a call to the agent and returns all of its answers.
    func call(_ order: CenterOrder) async throws -> [CenterAnswer.Content] {
        try startLink()
        return try await calls.make(order) { [link] in link.post(.calls) }
    }

    /// Sends a call to the agent for a caller that does not await.
    ///
    /// - Parameter completion: called once with the agent's answers, unless this throws.
    func call(_ order: CenterOrder, _ completion: @escaping CenterCalls.Finish) throws {
        try startLink()
        if try calls.make(order, completion) { link.post(.calls) }
    }

    /// Posts a notification to the observers.
    func post(_ notification: some TypedNotification) {
        queue.async { [self] in dispatcher.deliver(DispatchedNotification(notification, sender: self)) }
    }

    /// Posts a notification whose handling the agent waits for. It is called on the application's queue.
    ///
    /// - Parameter payload: the bytes of a push; nil for other notifications.
    func deliver(
        _ notification: some TypedNotification, payload: [UInt8]? = nil,
        whenOver: @escaping @Sendable (Handling.Outcome) -> Void
    ) {
        handlings.deliver(whenOver: whenOver) { handling in
            let posted = DispatchedNotification(
                notification, sender: self, payload: payload, handling: handling)
            let observers = dispatcher.deliver(posted)
            return (observers, dispatcher.hasHadAsynchronousObserver(of: posted.name))
        }
    }

    /// Writes one line to standard error.
    static func writeToStandardError(_ line: String) {
        try? StandardStream.errors.write("postrider: \(line)\n")
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
