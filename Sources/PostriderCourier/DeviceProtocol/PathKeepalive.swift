import PostriderNotifications

/// How often a device sends PINGs over one network path: as often as the relay grants, or more often where something on
/// the path, such as a proxy or a NAT, forgets connections that are silent for that long.
///
///     granted ──cut in silence──▶ shorter ──borne for an hour──▶ a quarter longer, on trial ──▶ … ──▶ granted
///                                    ▲                                   │
///                                    └──────cut again: trials come ──────┘
///                                           half as often
///
/// Pure: what happened comes in, in seconds.
public struct PathKeepalive: Hashable, Sendable {
    /// How a link was cut.
    public enum Cut: Hashable, Sendable {
        /// Somebody closed the connection, without a goodbye, after so many seconds of silence.
        case closed(silentSeconds: Int)
        /// The PING after so many seconds of silence was not answered.
        case unanswered(silentSeconds: Int)

        /// What the end of a link says about its path; nil if it says nothing about it.
        ///
        /// - Parameters:
        ///   - isUnanswered: whether a PING was not answered.
        ///   - silentSeconds: the silence before the end, or before that PING.
        ///   - borneSeconds: the longest silence that the link bore before. A shorter one is not what cut it, nor is
        ///     one that is shorter than the shortest interval.
        public init?(isUnanswered: Bool, silentSeconds: Int, borneSeconds: Int) {
            guard silentSeconds > borneSeconds, silentSeconds >= Limits.shortenedKeepaliveSeconds else {
                return nil
            }
            self =
                isUnanswered
                ? .unanswered(silentSeconds: silentSeconds) : .closed(silentSeconds: silentSeconds)
        }
    }

    /// Seconds between PINGs where that is less than granted; nil where the path bears what is granted.
    public private(set) var shortened: Int?
    /// Seconds for which an interval is borne before a longer one is tried.
    private var trialSeconds = Limits.keepaliveTrialSeconds.least
    /// The longest silence that a link bore on the path; 0 if that is not known, or in doubt.
    private var longestSeconds = 0
    /// Seconds for which the present interval was borne.
    private var borneSeconds = 0
    private var isOnTrial = false

    /// A path of which nothing is known.
    public init() {}

    /// Seconds between PINGs.
    public func seconds(granted: Int) -> Int { min(granted, shortened ?? granted) }

    /// A PING after so many seconds of silence was answered. True: the interval is longer now, on trial.
    public mutating func answered(afterSeconds silentSeconds: Int, granted: Int) -> Bool {
        longestSeconds = max(longestSeconds, silentSeconds)
        guard let present = shortened else { return false }
        borneSeconds += silentSeconds
        guard borneSeconds >= trialSeconds else { return false }
        borneSeconds = 0
        isOnTrial = true
        let longer = present + max(1, present / 4)
        shortened = longer < granted ? longer : nil
        return true
    }

    /// A link was cut. True: the interval is shorter now. A path that bore as much before is forgiven once: it may have
    /// been the relay that ended.
    public mutating func cut(_ cut: Cut, granted: Int) -> Bool {
        let present = seconds(granted: granted)
        switch cut {
        case .closed(let silentSeconds), .unanswered(let silentSeconds):
            guard silentSeconds > longestSeconds else {
                longestSeconds = 0
                return false
            }
        }
        let borne =
            switch cut {
            case .closed(let silentSeconds): min(present, silentSeconds) * 4 / 5
            case .unanswered: present * 2 / 3
            }
        if isOnTrial { trialSeconds = min(trialSeconds * 2, Limits.keepaliveTrialSeconds.most) }
        isOnTrial = false
        borneSeconds = 0
        let shorter = max(borne, Limits.shortenedKeepaliveSeconds)
        guard shorter < present else { return false }
        shortened = shorter
        return true
    }
}

/// What a device knows of the paths that it used, the last ones of them. A path is named by its ends.
public struct PathKeepalives: Sendable {
    private var known: [(path: String, keepalive: PathKeepalive)] = []

    /// Nothing is known.
    public init() {}

    /// What is known of a path.
    public subscript(path: String) -> PathKeepalive {
        get { known.first { $0.path == path }?.keepalive ?? PathKeepalive() }
        set {
            known.removeAll { $0.path == path }
            known.append((path, newValue))
            if known.count > Limits.keepalivePaths { known.removeFirst() }
        }
    }
}
