import Foundation
import PostriderCourier
import PostriderNotifications
import PostriderTransport
import Testing

@testable import PostriderAgent

/// A temporary directory for one test, removed with this object.
final class Scratch: Sendable {
    let path = FileManager.default.temporaryDirectory.path + "/agent-" + UUID().uuidString.prefix(8)
    /// The path for an agent's state; it does not exist yet.
    var state: String { path + "/state" }
    /// The path of an agent's socket.
    var socket: String { path + "/agent.sock" }

    init() {
        StrayChildren.watch
        try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Copies the state's files as they are now, as a killed agent would leave them.
    func copyState(to target: String) throws {
        try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: true)
        for name in try FileManager.default.contentsOfDirectory(atPath: state) where !name.hasSuffix("-shm") {
            try FileManager.default.copyItem(atPath: state + "/" + name, toPath: target + "/" + name)
        }
    }
}

/// A clock that the test moves, and timers that only record whether they are armed.
final class StandingClock: Scheduler {
    final class Timer: LoopTimer {
        let fire: () -> Void
        var isArmed = false
        init(_ fire: @escaping () -> Void) { self.fire = fire }
        func arm(afterMilliseconds milliseconds: Int) { isArmed = true }
        func disarm() { isArmed = false }
    }

    var now: UInt64 = 0
    var wallMilliseconds: Int64 = 1_800_000_000_000

    private var timers: [() -> Timer?] = []

    func makeTimer(_ fire: @escaping () -> Void) -> any LoopTimer {
        let timer = Timer(fire)
        timers.append { [weak timer] in timer }
        return timer
    }

    /// Advances the time; no timer fires.
    func pass(milliseconds: Int64) {
        now += UInt64(milliseconds) * 1_000_000
        wallMilliseconds += milliseconds
    }

    /// Advances the time until every armed timer has fired.
    func fireTimers() {
        for timer in timers.compactMap({ $0() }) where timer.isArmed {
            timer.isArmed = false
            timer.fire()
        }
    }
}

/// A link to the relay that records the calls.
final class RecordedLink: OutboundLink {
    var subscriptions: [Subscribe] = []
    var unsubscribed: [ChannelIdentity] = []
    var asked: [String] = []
    /// The registrations for Web Push that were asked for: by topic, the sender's key.
    var webPush: [String: [UInt8]] = [:]
    var acknowledged: [UInt64] = []
    /// Whether the link accepts reports.
    var isUp = true
    var place: String? { isUp ? "relay.example.org:5223" : nil }
    var reports: [Report] = []
    /// Whether the relay answers confirmations, and how many were asked for.
    var confirms = false
    var confirmations = 0

    var receptions: [Reception] = []
    var fetches = 0

    func confirm() -> Bool {
        guard isUp, confirms else { return false }
        confirmations += 1
        return true
    }

    @discardableResult
    func send(_ message: DeviceMessage) -> Bool {
        switch message {
        case .register(let topic, let environment):
            asked.append("register \(topic)\(environment == .production ? "" : " in development")")
        case .registerWebPush(let wish):
            webPush[wish.topic] = wish.senderKey
            asked.append("register web push")
        case .unregister(let topic): asked.append("unregister \(topic)")
        case .acknowledge(let deliveries): acknowledged += deliveries
        case .subscribe(let subscription): subscriptions.append(subscription)
        case .unsubscribe(let channel): unsubscribed.append(channel)
        case .report(let report):
            guard isUp else { return false }
            reports.append(report)
        case .reception(let reception): receptions.append(reception)
        case .fetch: fetches += 1
        case .hello, .goodbye, .unknown: Issue.record("the agent asked for \(message)")
        }
        return true
    }

    func startAnew() { asked.append("start anew") }

    var whenAsleep: () -> Void = {}
    var whenAwake: () -> Void = {}
    func sleep() { whenAsleep() }
    func wake() { whenAwake() }
}

extension Deliver {
    /// Returns a delivery that differs from others in its numbers.
    static func sample(
        _ delivery: UInt64, identity: UInt64, topic: String = "com.example.one",
        priority: Priority = .immediate,
        payload: String = "{}", channel: ChannelIdentity? = nil, collapse: String? = nil,
        wantsReport: Bool = false
    ) -> Deliver {
        Deliver(
            delivery: delivery,
            identity: NotificationIdentity(high: 7, low: identity),
            topic: topic,
            payload: Array(payload.utf8),
            priority: priority,
            expiration: .nowOrNever,
            collapseIdentifier: collapse,
            pushType: nil,
            acceptedAt: Moment(milliseconds: 1),
            channel: channel,
            wantsReport: wantsReport
        )
    }
}

extension DeviceToken {
    /// Returns a token that differs from others in its number.
    static func sample(_ number: UInt64) -> DeviceToken { DeviceToken(words: [number, 1, 2, 3]) }
}

/// An agent's state on the disk, which can be left as a killed process leaves it.
final class StateFixture {
    private(set) var scratch = Scratch()
    private(set) var state: AgentState

    init() throws { state = try AgentState(directory: scratch.state, log: .none) }

    /// Kills the process at this point and continues with what is on the disk.
    func kill() throws {
        let next = Scratch()
        try scratch.copyState(to: next.state)
        state = try AgentState(directory: next.state, log: .none)
        scratch = next
    }
}
