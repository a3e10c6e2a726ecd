package import PostriderCourier
package import PostriderNotifications

/// The device's preference for notifications of one app.
package enum Filter {
    case enabled
    /// Send them only when the device is awake anyway.
    case opportunistic
    /// Do not send them.
    case ignored
}

/// The delivery preferences of the device on this link. Most devices have none.
package struct LinkReception {
    package internal(set) var savesPower = false
    var filters: [Topic: Filter] = [:]

    init() {}

    init(_ reception: Reception) {
        savesPower = reception.savesPower
        for topic in reception.opportunistic { set(.opportunistic, for: topic) }
        for topic in reception.ignored { set(.ignored, for: topic) }
    }

    private mutating func set(_ filter: Filter, for topic: String) {
        if let topic = Topic(topic) { filters[topic] = filter }
    }

    /// The preference for an app.
    func filter(of topic: Topic) -> Filter { filters[topic] ?? .enabled }
}

/// Holding back: which notifications wait although the device is connected, and until when.
///
/// The device is *awake* from the beginning of a link, from its request, and from the first notification that is sent
/// to it, until nothing is left to send: whatever wakes a device brings everything else with it. Notifications that are
/// held back keep their order; those that are sent at once overtake them.
extension Device {
    /// Until when a notification is held back.
    enum Hold {
        /// Until the device is awake, or at the latest until the group is due.
        case grouped
        /// Until the device is awake.
        case untilAwake
        /// Until the device changes its preference for the app.
        case ignored
    }

    /// How a notification is held back; nil if it is not. It does not matter here whether the device is awake.
    func hold(on pending: Pending) -> Hold? {
        if link?.reception.filters.isEmpty == false {
            switch registrations[pending.registration]?.filter {
            case .ignored: return .ignored
            case .opportunistic: return .untilAwake
            case .enabled, nil: break
            }
        }
        return switch pending.priority {
        case .immediate: nil
        // A notification that is not to be stored cannot be sent later.
        case .considerate: link?.reception.savesPower == true && pending.expiresAt != nil ? .grouped : nil
        case .low: .untilAwake
        }
    }

    /// Whether a notification that is not to be stored may be sent now.
    func isToBeSentNow(_ notification: Notification) -> Bool {
        guard let link, !link.isClosing else { return false }
        let filter = registrations[notification.registration]?.filter
        guard filter != .ignored else { return false }
        return link.isAwake || filter != .opportunistic && notification.priority != .low
    }

    /// Holds back the next notification of the queue.
    mutating func holdNext(_ hold: Hold, _ pending: Pending, _ now: Moment) {
        queue.hold(ignored: hold == .ignored)
        if hold == .grouped, link?.groupedSince == nil { link?.groupedSince = now }
    }

    /// Ends the time in which the device is awake, if everything was sent that is not held back.
    mutating func rest() {
        guard link?.isAwake == true else { return }
        link?.isAwake = false
        link?.groupedSince = nil
    }

    /// Sends what is held back, because the device asks for it or its group is due.
    package mutating func fetch(now: Moment, _ tally: inout Tally, _ effects: inout [Effect]) {
        link?.isAwake = true
        sendNext(now, &tally, &effects)
    }

    /// Whether a group has waited for long enough, or the clock was put back.
    package func isGroupDue(at now: Moment) -> Bool {
        guard let since = link?.groupedSince else { return false }
        return now < since || now >= since.advanced(byMilliseconds: Limits.groupMilliseconds)
    }

    /// The device has sent new preferences. It is awake at this moment.
    package mutating func receive(
        by reception: Reception, now: Moment, _ tally: inout Tally, _ effects: inout [Effect]
    ) {
        setReception(reception)
        queue.release()
        fetch(now: now, &tally, &effects)
    }

    /// Stores the device's preferences.
    mutating func setReception(_ reception: Reception) {
        let wishes = LinkReception(reception)
        let isPlain = wishes.filters.isEmpty && link?.reception.filters.isEmpty ?? true
        link?.reception = wishes
        guard !isPlain || registrations.values.contains(where: { $0.filter != .enabled }) else { return }
        for place in registrations.indices {
            registrations.update(at: place) { $0.filter = wishes.filter(of: $0.topic) }
        }
    }
}
