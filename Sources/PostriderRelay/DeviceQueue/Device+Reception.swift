import PostriderCourier
import PostriderNotifications

/// How a device wants to be sent what is for one of its apps.
enum Filter {
    case enabled
    /// Only when the device is awake anyway.
    case opportunistic
    /// Not at all.
    case ignored
}

/// What a link knows of the device's wishes. Most devices have none.
struct LinkReception {
    var savesPower = false
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

    /// How what is for an app is to be sent.
    func filter(of topic: Topic) -> Filter { filters[topic] ?? .enabled }
}

/// What is held back, for how long, and what ends it.
///
/// The device is *awake* from the beginning of a link, from its question and from the first notification that is sent
/// to it, until nothing is left to send: what wakes a device brings everything else with it. What is held back keeps
/// its order among its like; what is at once overtakes it.
extension Device {
    /// For how long a notification is held back.
    enum Hold {
        /// Until the device is awake, or at the latest until the group is due.
        case grouped
        /// Until the device is awake.
        case untilAwake
        /// Until the device wants what is for the app.
        case ignored
    }

    /// Whether a notification is to be held back, whether the device is awake or not.
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
        // Now or never has no later.
        case .considerate: link?.reception.savesPower == true && pending.expiresAt != nil ? .grouped : nil
        case .low: .untilAwake
        }
    }

    /// Whether the one attempt of a notification that is now or never can be made.
    func isToBeSentNow(_ notification: Notification) -> Bool {
        guard let link, !link.isClosing else { return false }
        let filter = registrations[notification.registration]?.filter
        guard filter != .ignored else { return false }
        return link.isAwake || filter != .opportunistic && notification.priority != .low
    }

    /// Holds the next notification back.
    mutating func holdNext(_ hold: Hold, _ pending: Pending, _ now: Moment) {
        queue.hold(ignored: hold == .ignored)
        if hold == .grouped, link?.groupedSince == nil { link?.groupedSince = now }
    }

    /// Nothing is left to send, unless it is held back.
    mutating func rest() {
        guard link?.isAwake == true else { return }
        link?.isAwake = false
        link?.groupedSince = nil
    }

    /// The device asks for what is held back, or its group is due.
    mutating func fetch(now: Moment, _ tally: inout Tally, _ effects: inout [Effect]) {
        link?.isAwake = true
        sendNext(now, &tally, &effects)
    }

    /// Whether a group has waited for as long as it may, or the clock was put back.
    func isGroupDue(at now: Moment) -> Bool {
        guard let since = link?.groupedSince else { return false }
        return now < since || now >= since.advanced(byMilliseconds: Limits.groupMilliseconds)
    }

    /// The device says anew how it wants to be sent what waits. It is awake, then.
    mutating func receive(
        by reception: Reception, now: Moment, _ tally: inout Tally, _ effects: inout [Effect]
    ) {
        setReception(reception)
        queue.release()
        fetch(now: now, &tally, &effects)
    }

    /// Takes the device's wishes on.
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
