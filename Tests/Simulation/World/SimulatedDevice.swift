import PostriderCourier
import PostriderNotifications

/// A device over all its connections: who it is, what it has made safe, and its apps.
final class SimulatedDevice {
    let index: Int
    private let findings: Findings
    var identity: DeviceIdentity?
    var secret: [UInt8] = []
    /// The numbers of pushes that have come, safe or not: what the observer knows.
    var seen: Set<Int> = []
    /// What it has made safe: the numbers of pushes.
    private(set) var known: Set<Int> = []
    /// How often the app was handed each.
    private var handed: [Int: Int] = [:]
    /// What is registered as far as it knows, by topic.
    private(set) var registrations: [String: Registered] = [:]
    /// The tokens of former registrations, with what they were for.
    private(set) var deadTokens: [DeviceToken: Dead] = [:]
    /// The environment in which each topic is to be registered; and topics that were given up.
    private(set) var wanted: [String: PostriderNotifications.Environment]
    private(set) var unwanted: Set<String> = []
    var session: SimulatedDeviceSession?
    /// When it may come back, in milliseconds of the world, after it was not let in.
    var returnsAt: Int64 = 0
    /// How it wants to be sent what waits, and whether it ever wants that otherwise than usual.
    var reception = Reception.usual
    let hasWishes: Bool
    /// The channels that it wants, by their places in the world's list.
    var channels: Set<Int> = []
    var lastBroadcast: [ChannelIdentity: NotificationIdentity] = [:]
    var knownBroadcasts: Set<Int> = []
    /// By channel: when the youngest broadcast that it has received was sent.
    var youngestBroadcast: [Int: Int] = [:]
    /// By topic: when the end of a registration was asked for first.
    private(set) var endingAskedAt: [String: Stamp] = [:]
    /// Whom the operator has removed, or wanted to: identities that it had.
    var removals: Set<DeviceIdentity> = []

    /// A token that is not good any more.
    struct Dead {
        let topic: String
        let environment: PostriderNotifications.Environment
        let incarnation: DeviceIdentity
    }

    init(index: Int, wanted: [String: PostriderNotifications.Environment], findings: Findings) {
        self.index = index
        hasWishes = index % 3 == 2
        self.wanted = wanted
        self.findings = findings
    }

    // MARK: Registrations

    /// The relay says how a topic is registered. A token that was replaced is never good again.
    func note(_ registered: Registered) {
        if registrations[registered.topic] != registered { lose(registered.topic) }
        registrations[registered.topic] = registered
        findings.expect(
            deadTokens[registered.deviceToken] == nil, .answers,
            "a token of \(registered.topic) rose again")
    }

    /// A registration has ended.
    func lose(_ topic: String) {
        guard let lost = registrations.removeValue(forKey: topic), let identity else { return }
        deadTokens[lost.deviceToken] = Dead(
            topic: topic, environment: lost.environment, incarnation: identity)
    }

    /// The relay says which registrations there are.
    func note(all: [Registered]) {
        for topic in registrations.keys.sorted() where !all.contains(where: { $0.topic == topic }) {
            lose(topic)
        }
        for registered in all { note(registered) }
    }

    func want(_ topic: String, in environment: PostriderNotifications.Environment, at stamp: Stamp) {
        if let known = wanted[topic], known != environment { noteEndingAsked(topic, stamp) }
        wanted[topic] = environment
        unwanted.remove(topic)
    }

    func giveUp(_ topic: String, at stamp: Stamp) {
        noteEndingAsked(topic, stamp)
        wanted[topic] = nil
        unwanted.insert(topic)
    }

    private func noteEndingAsked(_ topic: String, _ stamp: Stamp) {
        if endingAskedAt[topic] == nil { endingAskedAt[topic] = stamp }
    }

    /// The relay says that it is not enrolled any more.
    func removed() {
        findings.expect(
            identity.map(removals.contains) ?? true, .conduct,
            "device \(index) is told that it was removed, and nobody wanted that")
        for topic in registrations.keys.sorted() { lose(topic) }
        identity = nil
        secret = []
    }

    // MARK: Notifications

    /// Whether it has made a push safe.
    func isKept(_ number: Int) -> Bool { known.contains(number) }

    /// Makes a push safe, and hands it to the app if it has not been here before.
    func keep(_ number: Int, doubles: Bool) {
        guard known.insert(number).inserted || doubles else { return }
        handed[number, default: 0] += 1
        findings.expect(
            handed[number] == 1, .repetition, "the app on device \(index) was handed push \(number) twice")
    }
}
