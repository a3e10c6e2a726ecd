import Dispatch
import PostriderCourier
import PostriderNotifications

// Calls by the link, on its thread.
extension Application {
    /// The agent has sent the device token.
    func registered(_ deviceToken: String) {
        if let news = registration.registered(deviceToken) { post(news) }
    }

    /// The application has no device token, or none any more.
    func registrationFailed(_ reason: String) { post(registration.failed(reason)) }

    /// The owner of the device has decided whether the application may notify.
    func authorizationChanged(_ status: AuthorizationStatus) {
        if let news = reports.changed(status) { post(news) }
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
            guard !link.isStopped else { return }
            deliver(notification(), payload: payload) { [link, handlings] outcome in
                if let message = handlings.answer(to: outcome, of: identity) { link.post(message) }
            }
        }
    }

    /// The relay sends the channel's broadcasts from now on.
    func subscribed(to channel: ChannelIdentity) { post(ChannelDidSubscribe(channel: "\(channel)")) }

    /// The relay does not send the channel's broadcasts, or no longer does.
    func unsubscribed(_ end: Unsubscribed) {
        if let news = channels.ended(end) { post(news) }
    }

    /// The life cycle of the application has changed. The agent may report the same change again.
    func changed(_ change: LifeCycle) {
        guard let news = reports.changed(change) else { return }
        guard change.event == .willTerminate else { return post(news) }
        queue.async { [self] in deliver(ApplicationWillTerminate()) { [weak self] _ in self?.stop() } }
    }

    /// An event of the device has happened.
    func happened(_ event: SystemEvent) {
        for news in device.happened(event) { post(news) }
        guard case .power(let change) = event, change.phase == .willSleep else { return }
        // The device does not sleep before these observers have returned, or their time is over.
        queue.async { [self] in
            deliver(DeviceWillSleep()) { [link] _ in link.post(.ready(sleep: change.sleep)) }
        }
    }

    /// The application has attached, and the agent has reported the device's state.
    func attached(to state: DeviceState) {
        for news in device.attached(to: state) { post(news) }
    }

    /// The agent answers.
    func agentAnswered() {
        if let news = device.agentAnswered() { post(news) }
    }

    /// The agent cannot be reached, or no longer can.
    ///
    /// - Parameter isFault: whether a person has to act.
    func agentUnreachable(_ reason: String, isFault: Bool) {
        let (news, isComplaint) = device.agentUnreachable(reason, isFault: isFault)
        if let news { post(news) }
        if isComplaint { complain("\(topic): \(reason) The application goes on trying.") }
    }
}

extension Deliver {
    /// The notification that is posted to observers.
    var arrival: RemoteNotificationDidArrive {
        // ``AgentLink`` has checked that the payload can be read.
        var userInfo = (try? UserInfo(json: payload)) ?? [:]
        if let channel { userInfo[ChannelKey.channel] = .string("\(channel)") }
        // A provider may have its own member of this name: then it decides what the app gets.
        if let traceContext, userInfo[TraceContextKey.parent] == nil {
            userInfo[TraceContextKey.parent] = .string(traceContext.parent)
            userInfo[TraceContextKey.state] = traceContext.state.map { .string($0) }
        }
        return RemoteNotificationDidArrive(userInfo: userInfo, push: PushHeaders(self))
    }
}
