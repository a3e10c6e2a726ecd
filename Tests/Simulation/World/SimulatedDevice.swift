import PostriderCourier
import PostriderNotifications

/// A device over all its connections: its identity, its stored notifications, and its apps.
final class SimulatedDevice {
    let index: Int
    private let findings: Findings
    var identity: DeviceIdentity?
    var secret: [UInt8] = []
    /// The observer's knowledge: the numbers of pushes that have arrived, stored or not.
    var seen: Set<Int> = []
    /// The numbers of pushes that the device has stored.
    private(set) var known: Set<Int> = []
    /// How often the app got each push.
    private var handed: [Int: Int] = [:]
    /// The registrations that the device knows, by topic.
    private(set) var registrations: [String: Registered] = [:]
    /// The tokens of former registrations, each with its registration.
    private(set) var deadTokens: [DeviceToken: Dead] = [:]
    /// The wanted environment of each topic; a topic that was given up is missing.
    private(set) var wanted: [String: PostriderNotifications.Environment]
    private(set) var unwanted: Set<String> = []
    var session: SimulatedDeviceSession?
    /// The time at which the device may come back after the relay asked it to wait, in milliseconds of the run.
    var returnsAt: Int64 = 0
    /// The reception that the device wants, and whether it ever wants another than the usual one.
    var reception = Reception.usual
    let hasWishes: Bool
    /// The channels that the device wants, as indices of the world's list.
    var channels: Set<Int> = []
    var lastBroadcast: [ChannelIdentity: NotificationIdentity] = [:]
    var knownBroadcasts: Set<Int> = []
    /// For each channel, the event in which the latest received broadcast was sent.
    var youngestBroadcast: [Int: Int] = [:]
    /// For each topic, the time at which the end of its registration was first requested.
    private(set) var endingAskedAt: [String: Stamp] = [:]
    /// The device's identities that the operator has removed or tried to remove.
    var removals: Set<DeviceIdentity> = []

    /// A token that is no longer valid.
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

    /// Takes the relay's answer about one registration. A replaced token never becomes valid again.
    func note(_ registered: Registered) {
        if registrations[registered.topic] != registered { lose(registered.topic) }
        registrations[registered.topic] = registered
        findings.expect(
            deadTokens[registered.deviceToken] == nil, .answers,
            "a token of \(registered.topic) rose again")
    }

    /// Records the end of a registration.
    func lose(_ topic: String) {
        guard let lost = registrations.removeValue(forKey: topic), let identity else { return }
        deadTokens[lost.deviceToken] = Dead(
            topic: topic, environment: lost.environment, incarnation: identity)
    }

    /// Takes the relay's list of all registrations.
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

    /// Records that the relay has removed the device.
    func removed() {
        findings.expect(
            identity.map(removals.contains) ?? true, .conduct,
            "device \(index) is told that it was removed, and nobody wanted that")
        for topic in registrations.keys.sorted() { lose(topic) }
        identity = nil
        secret = []
    }

    // MARK: Notifications

    /// Whether the device has stored a push.
    func isKept(_ number: Int) -> Bool { known.contains(number) }

    /// Stores a push, and delivers it to the app unless the device had it before.
    func keep(_ number: Int, doubles: Bool) {
        guard known.insert(number).inserted || doubles else { return }
        handed[number, default: 0] += 1
        findings.expect(
            handed[number] == 1, .repetition, "the app on device \(index) was handed push \(number) twice")
    }
}
