/// The promises that the observer checks. `FaultTests` shows that each check can fail.
enum Checker: String, CaseIterable {
    /// A push with a 200 is on the disk or with its device; at the end it is with its device, or over.
    case loss
    /// An app gets a notification once.
    case repetition
    /// For each device and priority, notifications arrive in the order in which they were accepted.
    case order
    /// The latest notification of a slot replaces the others. A slot is a collapse identifier, or an app if only its
    /// latest notification is stored.
    case newest
    /// Nothing is sent after its expiration, by the relay's clock.
    case expiration
    /// Every accepted notification is accounted for; counters, trace and disk agree.
    case conservation
    /// Stored notifications and deliveries under way stay within their limits.
    case bounds
    /// Every request has one answer, which the contract allows.
    case answers
    /// Both ends follow the protocols.
    case conduct
    /// Dead links are detected, and the world comes to rest.
    case rest
    /// Subscribers of a channel receive its broadcasts, and a stored broadcast is available.
    case channels
    /// A device does not get the notifications of ignored apps.
    case wishes
    /// A message of Web Push that was accepted is on the disk or with its browser; at the end it is with its browser,
    /// or over.
    case messages
    /// No message of Web Push is delivered after it was replaced, has expired, or its subscription has ended.
    case ended
    /// A sender gets each promised receipt once, and hears of a delivery only after the browser's acknowledgement.
    case receipts
}

/// A broken promise.
struct Finding: Error, CustomStringConvertible {
    let checker: Checker
    let sentence: String
    /// The number of the event at which it was noticed.
    let event: Int

    var description: String { "\(checker.rawValue): \(sentence) (event \(event))" }
}

/// The findings of a run so far, and the number of its events.
final class Findings {
    private(set) var all: [Finding] = []
    /// The number of events so far. An event is: bytes arrive at one end of a wire, a loop takes messages from its
    /// mailbox, a timer fires, a commit ends, or a provider, a device, the operator or a fault acts. Drawn steps that
    /// were impossible do not count.
    private(set) var events = 0

    /// The most findings that are reported.
    private static let most = 20

    var first: Finding? { all.first }

    func count() { events += 1 }

    /// Adds a finding if the condition is false.
    func expect(_ holds: Bool, _ checker: Checker, _ sentence: @autoclosure () -> String) {
        if !holds { note(checker, sentence()) }
    }

    func note(_ checker: Checker, _ sentence: String) {
        guard all.count < Self.most else { return }
        all.append(Finding(checker: checker, sentence: sentence, event: events))
    }
}
