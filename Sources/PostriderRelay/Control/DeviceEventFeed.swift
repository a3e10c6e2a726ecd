import PostriderNotifications

/// Programs that follow the events of devices (`GET /v1/devices/events`), as server-sent events. It lives on shard 0,
/// which every shard tells of events while anybody follows.
final class DeviceEventFeed {
    /// Sends bytes on a stream. False: too much waits there, and the stream is ended.
    typealias Send = ([UInt8]) -> Bool

    private let exchange: PresenceExchange
    private var followers: [Int: Send] = [:]
    private var lastFollower = 0
    private var lastEvent = 0
    /// Is told of events as they come; nil: nobody is.
    private var observer: (([Control.DeviceEvent]) -> Void)?

    init(_ exchange: PresenceExchange) { self.exchange = exchange }

    /// Whether anybody is to be told of events.
    var isFollowed: Bool { observer != nil || !followers.isEmpty }

    /// Begins to send what happens from now on.
    ///
    /// - Returns: the follower's number; nil: there are as many as may be.
    func follow(_ send: @escaping Send) -> Int? {
        guard followers.count < Limits.eventStreams else { return nil }
        exchange.count(1)
        lastFollower += 1
        followers[lastFollower] = send
        return lastFollower
    }

    /// Has `observer` told of events, for as long as the relay runs.
    func observe(_ observer: @escaping ([Control.DeviceEvent]) -> Void) {
        self.observer = observer
        exchange.count(1)
    }

    /// A follower has gone.
    func leave(_ number: Int) {
        if followers.removeValue(forKey: number) != nil { exchange.count(-1) }
    }

    /// This has happened.
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
