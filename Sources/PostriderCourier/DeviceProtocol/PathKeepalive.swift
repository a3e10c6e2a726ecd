import PostriderNotifications

/// Decides how often a device sends PINGs over one network path: at the interval that the relay grants, or at a
/// shorter one if something on the path, such as a proxy or a NAT, drops connections that are silent for that long.
///
///     granted ──cut in silence──▶ shorter ──held for an hour──▶ a quarter longer, on trial ──▶ … ──▶ granted
///                                    ▲                                   │
///                                    └──────cut again: trials come ──────┘
///                                           half as often
///
/// It has no I/O and no clock: callers report what happened, in seconds.
public struct PathKeepalive: Hashable, Sendable {
    /// How a connection was cut.
    public enum Cut: Hashable, Sendable {
        /// The connection was closed without a goodbye after this many seconds of silence.
        case closed(silentSeconds: Int)
        /// The PING after this many seconds of silence was not answered.
        case unanswered(silentSeconds: Int)

        /// What the end of a connection says about its path; nil if it says nothing.
        ///
        /// - Parameters:
        ///   - isUnanswered: whether a PING was not answered.
        ///   - silentSeconds: the silence before the end, or before that PING.
        ///   - borneSeconds: the longest silence that the connection survived before. A silence that is not longer
        ///     did not cause the end, and neither did one below the shortest interval.
        public init?(isUnanswered: Bool, silentSeconds: Int, borneSeconds: Int) {
            guard silentSeconds > borneSeconds, silentSeconds >= Limits.shortenedKeepaliveSeconds else {
                return nil
            }
            self =
                isUnanswered
                ? .unanswered(silentSeconds: silentSeconds) : .closed(silentSeconds: silentSeconds)
        }
    }

    /// Seconds between PINGs if they must be fewer than granted; nil if the path permits the granted interval.
    public private(set) var shortened: Int?
    /// Seconds for which an interval has to hold before a longer one is tried.
    private var trialSeconds = Limits.keepaliveTrialSeconds.least
    /// The longest silence that a connection survived on the path; 0 if that is unknown or in doubt.
    private var longestSeconds = 0
    /// Seconds for which the present interval has held.
    private var borneSeconds = 0
    private var isOnTrial = false

    /// Creates the state of an unknown path.
    public init() {}

    /// Seconds between PINGs, given the interval that the relay grants.
    public func seconds(granted: Int) -> Int { min(granted, shortened ?? granted) }

    /// A PING after this many seconds of silence was answered. Returns true if the interval is longer now, on trial.
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

    /// A connection was cut after a silence. Returns true if the interval is shorter now. If the path has survived a
    /// silence of this length before, the first such cut changes nothing, because the relay itself may have ended.
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

/// What a device knows of the paths that it used last. A path is named by its two addresses.
public struct PathKeepalives: Sendable {
    private var known: [(path: String, keepalive: PathKeepalive)] = []

    /// Creates an empty collection.
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
