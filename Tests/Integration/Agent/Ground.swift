import Foundation
import PostriderCourier
import PostriderNotifications
import PostriderTransport
import Testing

@testable import PostriderAgent

/// A directory of one test, gone with it.
final class Scratch: Sendable {
    let path = FileManager.default.temporaryDirectory.path + "/agent-" + UUID().uuidString.prefix(8)
    /// Where an agent's state goes; not made yet.
    var state: String { path + "/state" }
    /// Where an agent listens.
    var socket: String { path + "/agent.sock" }

    init() {
        StrayChildren.watch
        try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Copies the state's files as they are at this moment: what an agent that is killed now leaves behind.
    func copyState(to target: String) throws {
        try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: true)
        for name in try FileManager.default.contentsOfDirectory(atPath: state) where !name.hasSuffix("-shm") {
            try FileManager.default.copyItem(atPath: state + "/" + name, toPath: target + "/" + name)
        }
    }
}

/// A clock that stands still until it is moved, and timers that only note that they are armed.
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

    /// So much time goes by, and no timer fires.
    func pass(milliseconds: Int64) {
        now += UInt64(milliseconds) * 1_000_000
        wallMilliseconds += milliseconds
    }

    /// So much time goes by that every timer fires that is armed now.
    func fireTimers() {
        for timer in timers.compactMap({ $0() }) where timer.isArmed {
            timer.isArmed = false
            timer.fire()
        }
    }
}

/// A link to the relay that writes down what it is asked for.
final class RecordedLine: RelayLine {
    var subscriptions: [Subscribe] = []
    var unsubscribed: [ChannelIdentity] = []
    var asked: [String] = []
    var acknowledged: [UInt64] = []
    /// Whether reports go out.
    var isUp = true
    var reports: [Report] = []

    var receptions: [Reception] = []
    var fetches = 0

    @discardableResult
    func send(_ message: DeviceMessage) -> Bool {
        switch message {
        case .register(let topic, let environment):
            asked.append("register \(topic)\(environment == .production ? "" : " in development")")
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
}

extension Deliver {
    /// A delivery that is told from others by its numbers.
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
    /// A token that is told from others by its number.
    static func sample(_ number: UInt64) -> DeviceToken { DeviceToken(words: [number, 1, 2, 3]) }
}

/// An agent's state on the disk, which can be left as a killed process leaves it.
final class Ground {
    private(set) var scratch = Scratch()
    private(set) var state: AgentState

    init() throws { state = try AgentState(directory: scratch.state, log: .none) }

    /// Goes on with what a process that is killed at this moment leaves behind.
    func kill() throws {
        let next = Scratch()
        try scratch.copyState(to: next.state)
        state = try AgentState(directory: next.state, log: .none)
        scratch = next
    }
}
