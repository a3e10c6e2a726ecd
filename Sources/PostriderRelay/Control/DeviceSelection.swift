import PostriderNotifications

/// The query of `GET /v1/devices`: the selected devices and their order.
struct DeviceSelection {
    /// The orders in which devices can be sorted.
    enum Order: String, CaseIterable {
        /// By the time of enrolment, oldest first.
        case enrolled
        /// By name.
        case name
        /// By the time since the last change of the presence, longest first.
        case since
        /// By the number of waiting notifications, most first.
        case pending
    }

    /// The conditions that every shard can check for its devices.
    var filter = DeviceFilter()
    /// Only devices with one of these names or identities, or with one of these tags, if any are given.
    var names: [String] = []
    var tags: Set<DeviceTag> = []
    var order = Order.enrolled
    /// The most devices of the answer; nil for all.
    var most: Int?

    /// The fault of a query, as one sentence.
    struct Mistake: Error {
        let sentence: String
    }

    /// Parses a query such as `away-for=300&tag=lobby&sort=since`.
    init(_ query: Substring) throws(Mistake) {
        for part in query.split(separator: "&") {
            let pair = part.split(separator: "=", maxSplits: 1).map(String.init)
            let value = pair.count == 2 ? pair[1] : ""
            switch pair.first {
            case "connected":
                guard let flag = Bool(value) else {
                    throw Mistake(sentence: "'connected' is true or false, not '\(value)'.")
                }
                filter.isConnected = flag
            case "away-for":
                guard let seconds = Int64(value), 0...Self.mostSeconds ~= seconds else {
                    throw Mistake(
                        sentence:
                            "'away-for' is a number of seconds from 0 to \(Self.mostSeconds), not '\(value)'."
                    )
                }
                filter.awaySeconds = seconds
            case "device": names.append(value)
            case "tag":
                guard let tag = DeviceTag(value) else {
                    throw Mistake(sentence: "A tag is \(DeviceTag.rule), unlike '\(value)'.")
                }
                tags.insert(tag)
            case "topic":
                guard let topic = Topic(value) else {
                    throw Mistake(sentence: "A topic is a bundle identifier, not '\(value)'.")
                }
                filter.topic = topic
            case "sort":
                guard let named = Order(rawValue: value) else {
                    let names = Order.allCases.map(\.rawValue).joined(separator: ", ")
                    throw Mistake(sentence: "'sort' is one of \(names), not '\(value)'.")
                }
                order = named
            case "limit":
                guard let count = Int(value), count > 0 else {
                    throw Mistake(sentence: "'limit' is a number of devices, at least 1, not '\(value)'.")
                }
                most = count
            default:
                throw Mistake(
                    sentence:
                        "Devices are asked for with connected, away-for, device, tag, topic, sort and limit."
                )
            }
        }
    }

    /// The longest time that may be asked for: one hundred years. A longer one is a mistake, and could overflow.
    private static let mostSeconds: Int64 = 3_155_760_000

    /// Returns the devices in the selected order, only the first of them if there is a limit. Devices that are equal in
    /// that order are ordered by enrolment.
    func sorted(_ devices: [Control.Device]) -> ArraySlice<Control.Device> {
        let sorted = devices.sorted { left, right in
            switch order {
            case .name where left.name != right.name: left.name < right.name
            case .since where left.since != right.since: left.since < right.since
            case .pending where left.pending != right.pending: left.pending > right.pending
            default: (left.enrolledAt, left.identity) < (right.enrolledAt, right.identity)
            }
        }
        return sorted.prefix(most ?? sorted.count)
    }
}
