/// What the observer holds the relay to. `FaultTests` show of each that it can fail.
enum Checker: String, CaseIterable {
    /// What was answered 200 is on the disk or with its device; in the end it is with its device, or over.
    case loss
    /// An app is handed a notification once.
    case repetition
    /// Per device and priority, notifications come in the order in which they were accepted.
    case order
    /// The latest of a slot replaces the others: of a collapse identifier, or of an app where only the latest waits.
    case newest
    /// Nothing is sent after its expiration, by the relay's clock.
    case expiration
    /// Every accepted notification is accounted for; counters, trace and disk tell the same.
    case conservation
    /// What waits, and what is under way, stays within its bounds.
    case bounds
    /// Every request is answered once, with what the contract has for it.
    case answers
    /// Both ends keep the protocols.
    case conduct
    /// Dead links are found, and the world comes to rest.
    case rest
    /// Channels: who is subscribed hears what is broadcast, and a stored broadcast is there.
    case channels
    /// A device is not sent what it ignores.
    case wishes
}

/// One thing that is not as promised.
struct Finding: Error, CustomStringConvertible {
    let checker: Checker
    let sentence: String
    /// The number of the event at which it was seen.
    let event: Int

    var description: String { "\(checker.rawValue): \(sentence) (event \(event))" }
}

/// What the observer has found so far, and how far the run is.
final class Findings {
    private(set) var all: [Finding] = []
    /// How many events have happened: a piece of bytes that arrives at one end of a wire, letters that one loop takes
    /// from its mailbox, a timer that fires, a commit that ends, and everything that a provider, a device, the
    /// operator or an accident does. What was drawn and could not happen does not count.
    private(set) var events = 0

    /// More are not told.
    private static let most = 20

    var first: Finding? { all.first }

    func count() { events += 1 }

    /// Notes what should hold and does not.
    func expect(_ holds: Bool, _ checker: Checker, _ sentence: @autoclosure () -> String) {
        if !holds { note(checker, sentence()) }
    }

    func note(_ checker: Checker, _ sentence: String) {
        guard all.count < Self.most else { return }
        all.append(Finding(checker: checker, sentence: sentence, event: events))
    }
}
