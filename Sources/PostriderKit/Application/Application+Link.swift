import Dispatch
import FoundationEssentials
import PostriderCourier
import PostriderNotifications
import PostriderSystem
import PostriderTransport
import Synchronization

// Calls by the link, on its thread.
extension Application {
    /// The agent has sent the device token.
    func registered(_ deviceToken: String) {
        let (waiting, isNews) = state.withLock { state in
            defer {
                state.deviceToken = deviceToken
                state.waitingForToken = [:]
            }
            return (state.waitingForToken.values, state.deviceToken != deviceToken)
        }
        for continuation in waiting { continuation.resume(returning: deviceToken) }
        guard isNews else { return }
        post(DeviceTokenDidChange(deviceToken: deviceToken))
    }

    /// The application has no device token, or none any more.
    func registrationFailed(_ reason: String) {
        let waiting = state.withLock { state in
            defer {
                state.deviceToken = nil
                state.waitingForToken = [:]
            }
            return state.waitingForToken.values
        }
        for continuation in waiting { continuation.resume(throwing: ApplicationError.refused(reason)) }
        post(RegistrationDidFail(reason: reason))
    }

    /// The agent has confirmed an unregistration. A token may have arrived between the request and this.
    func unregistered() {
        state.withLock { if !$0.isWanted { $0.deviceToken = nil } }
    }

    /// The owner of the device has decided whether the application may notify.
    func authorizationChanged(_ status: AuthorizationStatus) {
        let isNews = state.withLock { state in
            defer { state.authorizationStatus = status }
            return state.authorizationStatus != status
        }
        guard isNews else { return }
        post(AuthorizationDidChange(status: status))
    }

    /// A push has arrived that was not given to the observers before.
    func arrived(_ identity: NotificationIdentity, _ deliver: Deliver) {
        arrived(identity, payload: deliver.payload) { deliver.arrival }
    }

    /// A notification has arrived that was not given to the observers before. It counts as handled when they have
    /// finished.
    func arrived(
        _ identity: NotificationIdentity, payload: [UInt8]? = nil,
        _ notification: @escaping @Sendable () -> some TypedNotification
    ) {
        queue.async { [self] in
            guard let mailbox = state.withLock({ $0.isStopped ? nil : $0.mailbox }) else { return }
            deliver(notification(), payload: payload) { [weak self] outcome in
                if let message = self?.answer(to: outcome, of: identity) ?? LinkCommand(outcome, of: identity)
                {
                    mailbox.postEvenIfFull(message)
                }
            }
        }
    }

    /// The life cycle of the application has changed. The agent may report the same change again.
    func changed(_ change: LifeCycle) {
        let isNews = state.withLock { state in
            switch change.event {
            case .didFinishLaunching:
                defer { state.hasLaunched = true }
                return !state.hasLaunched
            case .didBecomeActive:
                defer { state.isActive = true }
                return state.isActive != true
            case .didEnterBackground:
                defer { state.isActive = false }
                return state.isActive != false
            case .willTerminate:
                defer { state.isTerminating = true }
                return !state.isTerminating
            }
        }
        guard isNews else { return }
        switch change.event {
        case .didFinishLaunching: post(ApplicationDidFinishLaunching(reason: LaunchReason(change.launch)))
        case .didBecomeActive: post(ApplicationDidBecomeActive())
        case .didEnterBackground: post(ApplicationDidEnterBackground())
        case .willTerminate:
            queue.async { [self] in deliver(ApplicationWillTerminate()) { [weak self] _ in self?.stop() } }
        }
    }

    func post(_ notification: some TypedNotification) {
        queue.async { [self] in dispatcher.deliver(DispatchedNotification(notification, sender: self)) }
    }
}

// Calls of the application to its link, from any thread.
extension Application {
    /// The usual capacity of the mailbox: a delivery window and some more. Messages are posted even if it is full.
    /// There are never many, because the application sends at most one of each kind for each message of the agent or
    /// each change.
    private static let messages = 128

    /// Tells the link whether notifications are wanted. Of several changes that the link has not seen, the last
    /// counts.
    func wish(_ isWanted: Bool) throws(ApplicationError) {
        let mailbox = try startedMailbox()
        let isFirst = state.withLock { state in
            defer { state.isWishPosted = true }
            state.isWanted = isWanted
            return !state.isWishPosted
        }
        if isFirst { mailbox.postEvenIfFull(.wish) }
    }

    /// Whether notifications are wanted now, read by the link.
    func takeWish() -> Bool {
        state.withLock { state in
            state.isWishPosted = false
            return state.isWanted
        }
    }

    func wait(_ ticket: UInt64, _ continuation: CheckedContinuation<String, any Error>) {
        let answer: Result<String, any Error>? = state.withLock { state in
            if state.isStopped { return .failure(ApplicationError.stopped) }
            if let deviceToken = state.deviceToken { return .success(deviceToken) }
            if Task.isCancelled { return .failure(CancellationError()) }
            state.waitingForToken[ticket] = continuation
            return nil
        }
        if let answer { continuation.resume(with: answer) }
    }

    func startedMailbox() throws(ApplicationError) -> Mailbox<LinkCommand> {
        do {
            return try state.withLock { state in
                if state.isStopped { throw ApplicationError.stopped }
                if let mailbox = state.mailbox { return mailbox }
                let mailbox = try Mailbox<LinkCommand>(capacity: Self.messages)
                try start(mailbox, to: try SocketAddress(unixPath: socketPath))
                state.mailbox = mailbox
                return mailbox
            }
        } catch let error as ApplicationError {
            throw error
        } catch {
            throw .unusable("\(error)")
        }
    }

    /// Starts the link's thread, which does not keep the application alive.
    private func start(_ mailbox: Mailbox<LinkCommand>, to address: SocketAddress) throws {
        let environment: PostriderNotifications.Environment =
            switch environment {
            case .production: .production
            case .development: .development
            }
        _ = try Thread.spawn(name: "postrider-kit") { [weak self, topic] in
            do throws(TransportError) {
                let loop = try EventLoop()
                let link = AgentLink(on: loop, to: address, topic: topic, in: environment) {
                    [weak self] in self
                }
                loop.turnEnded = { [unowned link] in link.endTurn() }
                try loop.attach(mailbox) { [unowned link] messages in link.receive(&messages) }
                link.connect()
                withExtendedLifetime(link) { loop.run() }
            } catch {
                self?.registrationFailed(error.description)
                self?.failCalls(.unusable(error.description))
            }
            self?.ended()
        }
    }

    private func ended() {
        let waiting = state.withLock { state in
            state.hasEnded = true
            state.agentConnection = .none
            defer { state.waitingForEnd = [] }
            return state.waitingForEnd
        }
        for continuation in waiting { continuation.resume() }
    }
}

extension Deliver {
    /// The notification that is posted to observers.
    var arrival: RemoteNotificationDidArrive {
        // ``AgentLink`` has checked that the payload can be read.
        var userInfo = (try? UserInfo(json: payload)) ?? [:]
        if let channel { userInfo[ChannelKey.channel] = .string("\(channel)") }
        return RemoteNotificationDidArrive(userInfo: userInfo, push: PushHeaders(self))
    }
}
