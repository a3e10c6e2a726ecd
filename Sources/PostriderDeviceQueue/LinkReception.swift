import PostriderCourier
import PostriderNotifications

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
    package private(set) var savesPower = false
    private(set) var filters: [Topic: Filter] = [:]

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
