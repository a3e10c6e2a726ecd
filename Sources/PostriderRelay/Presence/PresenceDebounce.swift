import PostriderNotifications

/// Which events of devices the operator's program is told: a device that leaves and comes back at once is not told, and
/// neither are all devices when the relay was started anew and they come back. Pure: the time comes in as an argument,
/// in milliseconds of any clock that does not go back.
struct PresenceDebounce {
    private struct Change {
        let event: Control.DeviceEvent
        /// When the program is told, if nothing else has happened until then.
        var dueAt: Int64
        /// When the device first changed since it was told last.
        let firstAt: Int64
    }

    /// Whether the program was told last that a device is connected.
    private var told: [String: Bool] = [:]
    private var waiting: [String: Change] = [:]
    /// To be told without waiting.
    private var ready: [Control.DeviceEvent] = []
    /// Events for which there was no room since this was last asked.
    private var dropped = 0

    /// Milliseconds that a device must stay as it is, and for which it is waited at most.
    static let settle = (milliseconds: Int64(5_000), most: Int64(60_000))
    /// Milliseconds that devices have to come back after a start of the relay.
    static let returnMilliseconds: Int64 = 120_000

    /// - Parameter before: the leaving of each device that was connected when the relay ran last.
    init(before: [Control.DeviceEvent], now: Int64) {
        for event in before {
            told[event.identity] = true
            let due = now + Self.returnMilliseconds
            waiting[event.identity] = Change(event: event, dueAt: due, firstAt: due)
        }
    }

    /// When something is to be told next; nil: nothing is.
    var nextDue: Int64? { ready.isEmpty ? waiting.values.map(\.dueAt).min() : .min }

    /// Takes the number of events out for which there was no room.
    mutating func takeDropped() -> Int {
        defer { dropped = 0 }
        return dropped
    }

    /// This has happened.
    mutating func take(_ event: Control.DeviceEvent, now: Int64) {
        switch event.what {
        case .enrolled, .removed:
            if event.what == .removed {
                told[event.identity] = nil
                waiting[event.identity] = nil
            }
            guard ready.count < Limits.presencesWaiting else { return dropped += 1 }
            ready.append(event)
        case .connected, .away:
            let first = waiting[event.identity].map { min($0.firstAt, now) } ?? now
            guard waiting[event.identity] != nil || waiting.count < Limits.presencesWaiting else {
                return dropped += 1
            }
            waiting[event.identity] = Change(
                event: event, dueAt: min(now + Self.settle.milliseconds, first + Self.settle.most),
                firstAt: first)
        }
    }

    /// Takes out what is to be told now, in the order in which it happened.
    mutating func takeDue(now: Int64) -> [Control.DeviceEvent] {
        for (identity, change) in waiting where change.dueAt <= now {
            waiting[identity] = nil
            let isConnected = change.event.what == .connected
            guard told[identity] != isConnected else { continue }
            told[identity] = isConnected
            ready.append(change.event)
        }
        ready.sort { ($0.at, $0.identity) < ($1.at, $1.identity) }
        let some = Array(ready.prefix(Limits.presencesPerRun))
        ready.removeFirst(some.count)
        return some
    }
}
