internal import PostriderNotifications

/// The service's side of one autopush connection as a state machine: messages of the device and answers of the relay
/// in, effects out, in the order in which they must be carried out.
///
///     awaiting hello ──▶ identifying ──▶ ready ──▶ closed
///
/// The notifications of a channel are sent one after the other, each when the one before it is settled: Firefox
/// decrypts several at once, and hands them to the app in the order in which it is done.
///
/// It knows neither sockets nor the queue. It bounds what a device can make it remember, and after a close it has no
/// further effect.
package struct AutopushSession: Sendable {
    /// What its owner must do.
    package enum Effect: Equatable, Sendable {
        /// Find the device with this identity, or create one if there is none, then call ``identified(as:)``.
        case identify(String?)
        /// Create a subscription, then call ``registered(_:at:)`` or ``registrationFailed(_:status:)``.
        case register(channel: String, key: VAPIDKey?)
        /// Remove a subscription, then call ``unregistered(_:)``.
        case unregister(channel: String)
        /// Settle the notification with this version in the device's queue.
        case settle(version: String, Outcome)
        /// The turn of a notification that has waited has come: call ``sendWaiting(_:)`` if it is still to be
        /// delivered, otherwise ``withdraw(_:)``.
        case turn(version: String)
        /// Send a text message.
        case send([UInt8])
        /// Close the connection.
        case close(AutopushClose)
    }

    /// What became of a notification on the device. It is settled in each case: to send it again would not help.
    package enum Outcome: Equatable, Sendable {
        /// The app has it.
        case delivered
        /// The device could not decrypt it.
        case undecryptable
        /// The device or the app could not use it.
        case refused
    }

    private enum Phase {
        case awaitingHello
        case identifying
        case ready
        case closed
    }

    private var phase = Phase.awaitingHello
    /// The notifications that were sent and are not acknowledged: channels by versions. There is one of a channel.
    private var unsettled: [String: String] = [:]
    /// The notifications that wait until the one before them in their channel is settled, in order. Together with
    /// ``unsettled`` there are at most ``Notifications/Limits/autopushUnsettled``.
    private var waiting: [AutopushNotification] = []
    /// Registrations and removals that wait for the relay.
    private var pendingRequests = 0
    /// Messages that the device may still send at once.
    private var messagesLeft = Limits.autopushMessages.atOnce
    /// When ``messagesLeft`` was last filled up, in monotonic nanoseconds.
    private var filledAt: UInt64

    /// Begins a session.
    ///
    /// - Parameter now: monotonic nanoseconds.
    package init(at now: UInt64) { filledAt = now }

    /// Begins a session whose hello was taken elsewhere: ``identified(as:)`` or ``close(_:)`` comes next.
    ///
    /// - Parameter now: monotonic nanoseconds.
    package init(identifyingAt now: UInt64) {
        filledAt = now
        phase = .identifying
    }

    /// Whether the device has said hello and got its answer.
    package var isReady: Bool { phase == .ready }

    /// Whether another notification may be taken before one is acknowledged.
    package var hasRoom: Bool {
        phase == .ready && unsettled.count + waiting.count < Limits.autopushUnsettled
    }

    /// Whether nothing is in progress, so that an idle session can be represented by the device's identity alone.
    package var isIdle: Bool { phase == .ready && unsettled.isEmpty && pendingRequests == 0 }

    /// Takes a text message of the device.
    ///
    /// - Parameter now: monotonic nanoseconds.
    package mutating func receive(_ text: Span<UInt8>, at now: UInt64) -> [Effect] {
        guard phase != .closed else { return [] }
        let request: AutopushRequest
        do throws(AutopushRequest.Flaw) {
            request = try AutopushRequest(text)
        } catch {
            switch error {
            case .notJSON: return close(.notJSON)
            case .unknownType: return close(.unknownType)
            case .invalidMember(let name): return close(.invalidMember(name))
            }
        }
        let effects = effects(of: request)
        // An acknowledgement is paid for by its notification.
        let isPaid = effects.contains { if case .settle = $0 { true } else { false } }
        guard isPaid || phase == .closed || spend(at: now) else { return close(.tooManyMessages) }
        return effects
    }

    private mutating func effects(of request: AutopushRequest) -> [Effect] {
        switch (phase, request) {
        case (.awaitingHello, .hello(let identity)):
            phase = .identifying
            return [.identify(identity)]
        case (.ready, .register(let channel, let key)):
            return pend(.register(channel: channel, key: key))
        case (.ready, .registerWithInvalidKey(let channel)):
            return [.send(AutopushResponse.registrationFailed(channel: channel, status: 400).bytes)]
        case (.ready, .unregister(let channel)):
            return pend(.unregister(channel: channel))
        case (.ready, .acknowledge(let acknowledgements)):
            return acknowledgements.flatMap { acknowledgement in
                switch acknowledgement.code {
                case 100: settle(acknowledgement.version, .delivered)
                case 101: settle(acknowledgement.version, .undecryptable)
                default: settle(acknowledgement.version, .refused)
                }
            }
        case (.ready, .reject(let version)):
            return settle(version, .refused)
        case (.ready, .broadcastSubscribe):
            return []
        case (.ready, .ping):
            return [.send(AutopushResponse.ping.bytes)]
        case (.awaitingHello, _), (.identifying, _), (.ready, .hello), (.closed, _):
            return close(.unexpected)
        }
    }

    /// The relay has found or created the device.
    package mutating func identified(as identity: String) -> [Effect] {
        guard phase == .identifying else { return [] }
        phase = .ready
        return [.send(AutopushResponse.hello(identity: identity).bytes)]
    }

    /// The relay has created a subscription, or had it already.
    package mutating func registered(_ channel: String, at endpoint: String) -> [Effect] {
        answer(.registered(channel: channel, endpoint: endpoint))
    }

    /// The relay could not create a subscription.
    ///
    /// - Parameter status: a status of HTTP: 409 if the channel has another key, 429 if the device has too many, 503
    ///   if the relay cannot store it now.
    package mutating func registrationFailed(_ channel: String, status: Int) -> [Effect] {
        answer(.registrationFailed(channel: channel, status: status))
    }

    /// The relay has removed a subscription, or had none.
    package mutating func unregistered(_ channel: String) -> [Effect] {
        answer(.unregistered(channel: channel, status: 200))
    }

    /// The relay has a notification for the device. It is sent now, or when its turn comes in its channel; call this
    /// only if ``hasRoom``.
    package mutating func deliver(_ notification: AutopushNotification) -> [Effect] {
        guard hasRoom else { return [] }
        let isBusy =
            unsettled.values.contains(notification.channel)
            || waiting.contains { $0.channel == notification.channel }
        guard !isBusy else {
            waiting.append(notification)
            return []
        }
        return [send(notification)]
    }

    /// Sends the notification of this version, whose turn has come.
    package mutating func sendWaiting(_ version: String) -> [Effect] {
        guard let place = waiting.firstIndex(where: { $0.version == version }) else { return [] }
        return [send(waiting.remove(at: place))]
    }

    /// The notification of this version, whose turn has come, is not to be sent any more. The next of its channel has
    /// its turn then.
    package mutating func withdraw(_ version: String) -> [Effect] {
        guard let place = waiting.firstIndex(where: { $0.version == version }) else { return [] }
        let channel = waiting.remove(at: place).channel
        return turn(of: channel)
    }

    /// Closes the session.
    package mutating func close(_ close: AutopushClose) -> [Effect] {
        guard phase != .closed else { return [] }
        phase = .closed
        (unsettled, waiting) = ([:], [])
        return [.close(close)]
    }

    private mutating func pend(_ effect: Effect) -> [Effect] {
        guard pendingRequests < Limits.autopushPendingRequests else { return close(.tooManyMessages) }
        pendingRequests += 1
        return [effect]
    }

    private mutating func answer(_ response: AutopushResponse) -> [Effect] {
        guard phase == .ready, pendingRequests > 0 else { return [] }
        pendingRequests -= 1
        return [.send(response.bytes)]
    }

    private mutating func send(_ notification: AutopushNotification) -> Effect {
        unsettled[notification.version] = notification.channel
        return .send(AutopushResponse.notification(notification).bytes)
    }

    /// A version that was not sent, or is settled already, has no effect: after a reconnect the device may repeat
    /// acknowledgements.
    private mutating func settle(_ version: String, _ outcome: Outcome) -> [Effect] {
        guard let channel = unsettled.removeValue(forKey: version) else { return [] }
        return [.settle(version: version, outcome)] + turn(of: channel)
    }

    private func turn(of channel: String) -> [Effect] {
        waiting.first { $0.channel == channel }.map { [.turn(version: $0.version)] } ?? []
    }

    /// Takes one message from what the device may send. Returns false if nothing is left.
    private mutating func spend(at now: UInt64) -> Bool {
        let seconds = (now - min(now, filledAt)) / 1_000_000_000
        if seconds > 0 {
            let granted = Int(clamping: seconds).multipliedReportingOverflow(
                by: Limits.autopushMessages.perSecond)
            let most = Limits.autopushMessages.atOnce
            messagesLeft = granted.overflow ? most : min(most, messagesLeft + min(most, granted.partialValue))
            filledAt += seconds * 1_000_000_000
        }
        guard messagesLeft > 0 else { return false }
        messagesLeft -= 1
        return true
    }
}
