public import PostriderCaptures
public import PostriderNotifications
public import PostriderRules
import PostriderTransport
import Synchronization

/// The part of a relay that serves tests: it captures the requests of providers, and does to pushes what rules say. All
/// shards share it. A relay in production has none, and pays nothing for it.
public final class TestBench: Sendable {
    /// The fault of a list of rules, as one sentence with its place.
    public struct RuleMistake: Error {
        /// The sentence: the fault, its place, and the remedy.
        public let sentence: String

        /// Creates a mistake from its sentence.
        public init(_ sentence: String) { self.sentence = sentence }
    }

    /// Reads a list of rules that is sent to a running relay.
    public typealias ReadRules = @Sendable (String) throws(RuleMistake) -> RuleList

    private struct State {
        var ring = CaptureRing()
        var book: RuleBook
        var planned = PlannedEffects()
    }

    /// The provider ports' TLS, and the context with an expired certificate.
    private struct Certificates {
        let ports: RenewableTLS
        let expired: any TLSProvider
    }

    /// Whether pushes to device tokens that the relay never gave out are answered with 200.
    let acceptsAnyToken: Bool
    /// The server that requests are passed on to; nil if this relay answers them itself.
    let upstream: (any Upstream)?
    /// Whether captures contain the whole `authorization` field, with its secret.
    private let keepsSecrets: Bool
    private let readRules: ReadRules
    private let state: Mutex<State>
    private let lastConnection = Atomic(0)
    private let waiting = Atomic(0)
    /// Nil if the relay has no expired certificate to show.
    private let certificates = Mutex<Certificates?>(nil)
    private let watchers = Mutex<(last: Int, calls: [Int: @Sendable () -> Void])>((0, [:]))

    /// A bench with these rules and no captures.
    ///
    /// - Parameters:
    ///   - acceptsAnyToken: whether pushes to tokens of 64 to 200 digits that the relay never gave out are answered
    ///     with 200.
    ///   - keepsSecrets: whether captures contain the signatures of provider tokens.
    ///   - upstream: the server that requests are passed on to; nil if this relay answers them itself.
    ///   - readRules: reads rules that replace the first ones later.
    public init(
        rules: RuleList = RuleList(), acceptsAnyToken: Bool = false, keepsSecrets: Bool = false,
        upstream: (any Upstream)? = nil, readRules: @escaping ReadRules
    ) {
        self.acceptsAnyToken = acceptsAnyToken
        self.keepsSecrets = keepsSecrets
        self.upstream = upstream
        self.readRules = readRules
        state = Mutex(State(book: RuleBook(rules)))
    }

    // MARK: Captures

    /// A number for a provider's connection.
    func drawConnection() -> Int { lastConnection.add(1, ordering: .relaxed).newValue }

    /// Adds a captured request, and returns its number.
    func add(_ capture: Capture) -> Int {
        var capture = capture
        if !keepsSecrets {
            for index in capture.headers.indices where capture.headers[index].name == "authorization" {
                capture.headers[index].value = TokenClaims.masked(capture.headers[index].value)
            }
        }
        let kept = capture
        return state.withLock { $0.ring.add(kept) }
    }

    /// Changes a captured request.
    func note(_ number: Int, _ change: (inout Capture) -> Void) {
        state.withLock { $0.ring.update(number, change) }
    }

    /// A push is about to be sent to the home of its device: the capture waits for the push's trace.
    func expectLife(of number: Int) { state.withLock { $0.ring.expectLife(of: number) } }

    /// Adds what the trace records about pushes.
    func noteLives(_ records: [TraceRecord]) { state.withLock { $0.ring.note(records) } }

    /// The JSON answer to a query.
    public func json(_ query: CaptureQuery) -> [UInt8] { state.withLock { $0.ring.json(query) } }

    /// Whether the captures that a query waits for are there.
    public func isComplete(_ query: CaptureQuery) -> Bool { state.withLock { $0.ring.isComplete(query) } }

    /// The captures of a query. It does not wait.
    public func captures(_ query: CaptureQuery) -> [Capture] {
        state.withLock { $0.ring.captures(query.filter, last: query.last) }
    }

    /// The number of the latest capture; 0 if there was none.
    public var lastNumber: Int { state.withLock { $0.ring.lastNumber } }

    /// Forgets all captures.
    func removeCaptures() { state.withLock { $0.ring.removeAll() } }

    /// Whether anybody waits for captures.
    var isAwaited: Bool { waiting.load(ordering: .acquiring) > 0 }

    /// Changes the number of callers that wait for captures by `change`: 1 or -1.
    func countWaiting(_ change: Int) { waiting.add(change, ordering: .acquiringAndReleasing) }

    /// Calls `notify`, on any thread, whenever a captured request gets its outcome. ``unwatch(_:)`` with the returned
    /// number ends that.
    public func watch(_ notify: @escaping @Sendable () -> Void) -> Int {
        countWaiting(1)
        return watchers.withLock { watchers in
            watchers.last += 1
            watchers.calls[watchers.last] = notify
            return watchers.last
        }
    }

    /// Ends the calls for this number. A call that is already under way may still arrive.
    public func unwatch(_ number: Int) {
        guard watchers.withLock({ $0.calls.removeValue(forKey: number) }) != nil else { return }
        countWaiting(-1)
    }

    /// Notifies the watchers that a captured request has got its outcome.
    func captureEnded() {
        let calls = watchers.withLock { Array($0.calls.values) }
        for call in calls { call() }
    }

    // MARK: Rules

    /// What the rules decide about a new push; nil if no rule applies.
    func decide(_ push: PushFacts, at now: Moment) -> RuleDecision? {
        state.withLock { $0.book.decide(push, at: now) }
    }

    /// Counts the phases of the present rules from this time, and not from the first push. Has no effect after the
    /// first push.
    public func beginRules(at now: Moment) { state.withLock { $0.book.begin(at: now) } }

    /// Replaces the rules. Counts begin anew, tokens that rules had unregistered are valid again, and devices are left
    /// alone. What was done to a connection lasts.
    func replaceRules(_ text: String) throws(RuleMistake) {
        let list = try readRules(text)
        let showsExpired = list.rules.contains { $0.effect.connection.expiredCertificates > 0 }
        guard !showsExpired || certificates.withLock({ $0 != nil }) else {
            throw RuleMistake(
                "rules: 'expiredCertificate' needs a certificate that has expired. Only an authority can "
                    + "sign one, and only 'postrider dev' has its own; use that, or remove the rule")
        }
        state.withLock {
            $0.book = RuleBook(list)
            $0.planned = PlannedEffects()
        }
        showExpiredCertificate(forNext: 0)
    }

    // MARK: What rules do

    /// Lets rules show this expired certificate to the next connections to the provider ports.
    func attach(_ ports: RenewableTLS, expired: any TLSProvider) {
        certificates.withLock { $0 = Certificates(ports: ports, expired: expired) }
    }

    /// Shows the expired certificate to this many connections that begin from now on.
    func showExpiredCertificate(forNext connections: Int) {
        guard let certificates = certificates.withLock(\.self) else { return }
        certificates.ports.substitute(certificates.expired, forNext: connections)
    }

    /// Remembers what is to be done to the device of a push. An absence begins now.
    func plan(_ effect: DeviceEffect, for notification: Notification, at now: Moment) {
        state.withLock { $0.planned.plan(effect, for: notification, at: now) }
    }

    /// Whether the device of a push is kept away from this push on. Returns true once.
    func takeAbsence(with notification: Notification) -> Bool {
        state.withLock { $0.planned.takeAbsence(with: notification) }
    }

    /// For how many more milliseconds a device is kept away; nil if it is not.
    func absenceLeft(of device: DeviceIdentity, at now: Moment) -> UInt32? {
        state.withLock { $0.planned.absenceLeft(of: device, at: now) }
    }

    /// What is to be done to this delivery; nil for nothing. It is returned once.
    func takeEffect(on notification: Notification) -> DeviceEffect? {
        state.withLock { $0.planned.takeEffect(on: notification) }
    }

    /// How often each rule has matched, in their order.
    public var ruleCounts: [RuleBook.Count] { state.withLock { $0.book.counts } }
}
