import PostriderNotifications

/// Sends the events of devices to programs that follow them (`GET /v1/devices/events`), as server-sent events. It
/// lives on shard 0; every shard reports events to it while anybody follows.
final class DeviceEventFeed {
    /// Sends bytes on a stream. Returns false if too much waits there; then the stream is ended.
    typealias Send = ([UInt8]) -> Bool

    private let exchange: PresenceExchange
    private var followers: [Int: Send] = [:]
    private var lastFollower = 0
    private var lastEvent = 0
    /// Called with events as they come; nil if there is no observer.
    private var observer: (([Control.DeviceEvent]) -> Void)?

    init(_ exchange: PresenceExchange) { self.exchange = exchange }

    /// Whether anybody follows events.
    var isFollowed: Bool { observer != nil || !followers.isEmpty }

    /// Begins to send the events from now on.
    ///
    /// - Returns: the follower's number; nil if the limit of followers is reached.
    func follow(_ send: @escaping Send) -> Int? {
        guard followers.count < Limits.eventStreams else { return nil }
        exchange.count(1)
        lastFollower += 1
        followers[lastFollower] = send
        return lastFollower
    }

    /// Calls `observer` with the events, as long as the relay runs.
    func observe(_ observer: @escaping ([Control.DeviceEvent]) -> Void) {
        self.observer = observer
        exchange.count(1)
    }

    /// Removes a follower.
    func leave(_ number: Int) {
        if followers.removeValue(forKey: number) != nil { exchange.count(-1) }
    }

    /// Passes events to all followers.
    func take(_ events: [Control.DeviceEvent]) {
        observer?(events)
        guard !followers.isEmpty else { return }
        var bytes: [UInt8] = []
        for event in events {
            lastEvent += 1
            bytes += Array("event: \(event.what.rawValue)\nid: \(lastEvent)\ndata: ".utf8)
            bytes += ControlHandler.answer(event).body
            bytes += Array("\n\n".utf8)
        }
        for (number, send) in followers where !send(bytes) { leave(number) }
    }
}
