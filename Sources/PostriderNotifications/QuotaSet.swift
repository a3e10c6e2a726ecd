import Synchronization

/// The quotas of a relay after its last reload, with a meter for each team and app that has one.
public final class QuotaSet: Sendable {
    private let quotas: [Quota.Subject: Quota]
    /// The quotas for each team and for each app that has none of its own.
    private let usual: (team: Quota?, topic: Quota?)
    /// The meters that exist, in the order in which they were made.
    private let meters: Mutex<(all: [QuotaMeter], bySubject: [Quota.Subject: QuotaMeter])>
    /// The meters of the time before, whose use continues.
    private let earlier: [Quota.Subject: QuotaMeter]

    /// Meters for these quotas, of which each has another subject.
    ///
    /// - Parameter earlier: the set that this one replaces: what was counted there counts on.
    public init(_ quotas: [Quota], after earlier: QuotaSet? = nil) {
        var bySubject: [Quota.Subject: Quota] = [:]
        for quota in quotas {
            guard let subject = quota.subject else { continue }
            bySubject[subject] = quota
        }
        self.quotas = bySubject
        usual = (
            quotas.first { $0.subject == nil && $0.isOfTeams },
            quotas.first { $0.subject == nil && !$0.isOfTeams }
        )
        self.earlier = earlier?.meters.withLock { $0.bySubject } ?? [:]
        meters = Mutex(([], [:]))
        for quota in quotas { _ = quota.subject.flatMap(meter) }
    }

    /// Whether nothing has a quota.
    public var isEmpty: Bool { quotas.isEmpty && usual.team == nil && usual.topic == nil }

    /// The meters of all teams and apps that have a quota and were seen.
    public var all: [QuotaMeter] { meters.withLock { $0.all } }

    /// The quotas that a topic's pushes and devices count for; nil if there is none. It takes a lock, so shards keep
    /// the answer.
    package func quotas(of topic: Topic, _ team: String?) -> TopicQuotas? {
        TopicQuotas(
            team: team.flatMap { meter(.team($0)) },
            topic: meter(.topic(topic)) ?? (topic.suffixType == nil ? nil : meter(.topic(topic.bundle))))
    }

    /// The meter of a team or app, which is made if it has a quota.
    private func meter(_ subject: Quota.Subject) -> QuotaMeter? {
        let own = quotas[subject]
        guard let quota = own ?? usual(for: subject) else { return nil }
        return meters.withLock { meters in
            if let known = meters.bySubject[subject] { return known }
            let meter = QuotaMeter(subject, quota, after: earlier[subject])
            meters.all.append(meter)
            meters.bySubject[subject] = meter
            return meter
        }
    }

    private func usual(for subject: Quota.Subject) -> Quota? {
        switch subject {
        case .team: usual.team
        // A topic with a suffix counts for its app.
        case .topic(let topic): topic.suffixType == nil ? usual.topic : nil
        }
    }
}

/// The quotas that the pushes and devices of one topic count for: its team's and its app's.
package final class TopicQuotas: Sendable {
    private let team: QuotaMeter?
    private let topic: QuotaMeter?

    /// Nil if there is neither.
    init?(team: QuotaMeter?, topic: QuotaMeter?) {
        guard team != nil || topic != nil else { return nil }
        (self.team, self.topic) = (team, topic)
    }

    /// Why a push is refused.
    package enum Refusal: Equatable, Sendable {
        /// Its payload is larger than the quota allows.
        case payload
        /// There were too many pushes; one more has room after this time, rounded up.
        case rate(retryAfterSeconds: Int)
    }

    /// Counts one push or broadcast, unless a quota refuses it.
    ///
    /// - Parameter now: monotonic nanoseconds.
    package func takePush(payloadBytes: Int, now: UInt64) -> Refusal? {
        guard team?.fits(payloadBytes) ?? true, topic?.fits(payloadBytes) ?? true else { return .payload }
        var wait = team?.takePush(now: now) ?? 0
        if wait == 0, let topic {
            wait = topic.takePush(now: now)
            if wait > 0 { team?.giveBackPush() }
        }
        return wait == 0 ? nil : .rate(retryAfterSeconds: Int((wait + 999_999_999) / 1_000_000_000))
    }

    /// Whether one more notification may wait. Shards that ask at the same moment may exceed the quota by one each.
    package func hasRoomForPending() -> Bool {
        (team?.hasRoomForPending() ?? true) && (topic?.hasRoomForPending() ?? true)
    }

    /// Whether one more device may have a token. Devices that ask at the same moment may exceed the quota.
    package func hasRoomForDevice() -> Bool {
        (team?.hasRoomForDevice() ?? true) && (topic?.hasRoomForDevice() ?? true)
    }

    /// So many more notifications wait.
    package func add(pending change: Int) {
        team?.add(pending: change)
        topic?.add(pending: change)
    }

    /// So many more devices have a valid token.
    package func add(devices change: Int) {
        team?.add(devices: change)
        topic?.add(devices: change)
    }
}
