/// A browser over all its WebSockets: its identity, its subscriptions, and the messages that it has stored.
final class SimulatedBrowser {
    let index: Int
    private let findings: Findings
    /// The identity that the relay gave to the browser, in the spelling of the protocol.
    private(set) var identity: String?
    /// The UUIDs of the channels that its pages use.
    let channels: [String]
    private(set) var wanted: Set<String> = []
    /// The channels of which the relay may have a subscription without the browser's knowledge.
    private var uncertain: Set<String> = []
    /// The addresses of its present subscriptions, by channel.
    private(set) var subscriptions: [String: String] = [:]
    /// All addresses that it ever had.
    private(set) var addresses: [String: Address] = [:]
    /// The identities that the operator has removed or tried to remove.
    var removals: Set<String> = []
    /// The observer's knowledge: the numbers of messages that have arrived, stored or not.
    var seen: Set<Int> = []
    /// The numbers of messages that the browser has stored.
    private(set) var kept: Set<Int> = []
    var session: SimulatedBrowserSession?
    /// The time at which the browser may come back after the relay could not serve it, in milliseconds of the run.
    var returnsAt: Int64 = 0

    /// The address of a subscription.
    struct Address {
        let channel: String
        let identity: String
        /// Whether the browser has asked for the end of the subscription.
        var isEndingAsked = false
        /// The number of the event in which the browser heard that the subscription has ended.
        var endedAt: Int?
    }

    init(index: Int, findings: Findings) {
        self.index = index
        self.findings = findings
        channels = (1...3).map { "00000000-0000-4000-8000-0000000000\(index)\($0)" }
    }

    /// Takes the identity in the answer to hello. With another one than it had, it forgets its subscriptions.
    func greeted(as identity: String) {
        guard self.identity != identity else { return }
        findings.expect(
            self.identity.map(removals.contains) ?? true, .conduct,
            "browser \(index) gets another identity, and nobody has removed it")
        subscriptions = [:]
        uncertain = []
        self.identity = identity
    }

    func want(_ channel: String) { wanted.insert(channel) }

    func giveUp(_ channel: String) { wanted.remove(channel) }

    /// The browser asks for a subscription of the channel.
    func asksForSubscription(_ channel: String) { uncertain.insert(channel) }

    /// The browser asks for the end of the channel's subscription.
    func asksForEnd(_ channel: String) {
        if let address = subscriptions[channel] { addresses[address]?.isEndingAsked = true }
    }

    /// Whether the relay may have a subscription of the channel.
    func maySubscribe(_ channel: String) -> Bool {
        subscriptions[channel] != nil || uncertain.contains(channel)
    }

    /// Whether a subscription of the channel has ended.
    func hasEnded(_ channel: String) -> Bool {
        addresses.values.contains { $0.channel == channel && $0.endedAt != nil }
    }

    /// Takes the address of a subscription. `isEnding` is whether the browser has asked for its end already.
    func subscribed(_ channel: String, at address: String, isEnding: Bool) {
        guard let identity else { return }
        if let known = subscriptions[channel], known != address {
            findings.expect(
                addresses[known]?.isEndingAsked ?? false, .answers,
                "browser \(index) gets another address for a channel whose subscription has not ended")
        }
        findings.expect(
            addresses[address]?.endedAt == nil, .answers,
            "browser \(index) gets the address of an ended subscription again")
        subscriptions[channel] = address
        if addresses[address] == nil { addresses[address] = Address(channel: channel, identity: identity) }
        if isEnding { asksForEnd(channel) } else { uncertain.remove(channel) }
    }

    func unsubscribed(_ channel: String, _ event: Int) {
        uncertain.remove(channel)
        guard let address = subscriptions.removeValue(forKey: channel) else { return }
        addresses[address]?.endedAt = event
    }

    /// Stores a message, unless the browser had it before.
    func keep(_ number: Int) { kept.insert(number) }
}
