import PostriderNotifications

/// Decides which events of devices the operator's program gets. It does not get a device that leaves and comes back
/// at once, nor all devices that come back after a restart of the relay. Pure: the time comes in as an argument, in
/// milliseconds of any clock that does not go back.
struct PresenceDebounce {
    private struct Change {
        let event: Control.DeviceEvent
        /// The time at which the program gets the event, if nothing else happens until then.
        var dueAt: Int64
        /// The time of the device's first change since the program's last event about it.
        let firstAt: Int64
    }

    /// Whether a device was connected in the program's last event about it.
    private var told: [String: Bool] = [:]
    private var waiting: [String: Change] = [:]
    /// The events that need not wait.
    private var ready: [Control.DeviceEvent] = []
    /// The number of events that were dropped since the last ``takeDropped()``, because there was no room.
    private var dropped = 0

    /// The milliseconds for which a device must not change, and the longest wait for that.
    static let settle = (milliseconds: Int64(5_000), most: Int64(60_000))
    /// The milliseconds that devices have to come back after a start of the relay.
    static let returnMilliseconds: Int64 = 120_000

    /// - Parameter before: the end of each connection that was open when the relay last ran.
    init(before: [Control.DeviceEvent], now: Int64) {
        for event in before { wait(for: event, now) }
    }

    private mutating func wait(for departure: Control.DeviceEvent, _ now: Int64) {
        told[departure.identity] = true
        let due = now + Self.returnMilliseconds
        waiting[departure.identity] = Change(event: departure, dueAt: due, firstAt: due)
    }

    /// Expects a device that was connected to another node of the cluster to come here. The program gets the end of
    /// its connection if it does not. The program of that node was told that it is connected.
    mutating func expect(_ departure: Control.DeviceEvent, now: Int64) {
        guard waiting[departure.identity] != nil || waiting.count < Limits.presencesWaiting else {
            told[departure.identity] = true
            return dropped += 1
        }
        wait(for: departure, now)
    }

    /// The time of the next event for the program; nil if there is none.
    var nextDue: Int64? { ready.isEmpty ? waiting.values.map(\.dueAt).min() : .min }

    /// Returns the number of dropped events, and resets it.
    mutating func takeDropped() -> Int {
        defer { dropped = 0 }
        return dropped
    }

    /// Adds an event.
    mutating func take(_ event: Control.DeviceEvent, now: Int64) {
        switch event.what {
        case .enrolled, .removed:
            if event.what == .removed {
                told[event.identity] = nil
                waiting[event.identity] = nil
            }
            guard ready.count < Limits.presencesWaiting else { return dropped += 1 }
            ready.append(event)
        case .away where event.ending == DevicePresence.Ending.moved.rawValue: forget(event.identity)
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

    /// Another node serves a device from now on, and its program goes on from here: it takes the device for one that
    /// was told to be connected.
    private mutating func forget(_ identity: String) {
        let wasTold = told.removeValue(forKey: identity) ?? false
        guard let change = waiting.removeValue(forKey: identity), change.event.what == .connected, !wasTold
        else { return }
        guard ready.count < Limits.presencesWaiting else { return dropped += 1 }
        ready.append(change.event)
    }

    /// Removes and returns the events for the program that are due, in their order.
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
