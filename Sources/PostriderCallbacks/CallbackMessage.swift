import Synchronization

/// One callback: what is told to whom.
public struct CallbackMessage: Sendable, Equatable {
    /// The value of `webhook-id`: the same for each attempt, and different for each message of a relay.
    public let id: String
    /// The receiver.
    public let url: CallbackURL
    /// The JSON.
    public let body: [UInt8]

    /// A message from its parts.
    public init(id: String, url: CallbackURL, body: [UInt8]) {
        self.id = id
        self.url = url
        self.body = body
    }
}

/// What the relay knows of callbacks: which URLs are allowed, and who sends them.
public struct CallbackConfiguration: Sendable {
    /// The URLs that are allowed.
    public let policy: CallbackPolicy
    /// Counts for metrics.
    public let counts: CallbackCounts
    /// Takes messages to be sent. It returns at once, on any thread.
    public let send: @Sendable ([CallbackMessage]) -> Void
    /// Keeps what is owed beyond the end of the relay; nil if it is kept in memory only.
    package let store: (any CallbackStore)?

    /// A configuration from its parts.
    package init(
        policy: CallbackPolicy, counts: CallbackCounts, store: (any CallbackStore)? = nil,
        send: @escaping @Sendable ([CallbackMessage]) -> Void
    ) {
        self.policy = policy
        self.counts = counts
        self.store = store
        self.send = send
    }
}

/// How many callbacks there were since the relay started. Any thread may count.
public final class CallbackCounts: Sendable {
    /// What is counted.
    public enum Kind: Int, CaseIterable, Sendable {
        /// Callbacks that a receiver has answered with 2xx.
        case sent
        /// Attempts that failed.
        case failed
        /// Callbacks that were given up after the last attempt, or because the receiver said 410.
        case abandoned
        /// Callbacks for which there was no room.
        case dropped
        /// Pushes whose URL is not allowed.
        case ignored
    }

    private let counts = Mutex([UInt64](repeating: 0, count: Kind.allCases.count))

    /// Counts from 0.
    public init() {}

    /// Counts more of a kind.
    public func add(_ count: Int, _ kind: Kind) { counts.withLock { $0[kind.rawValue] += UInt64(count) } }

    /// Counts one more of a kind.
    public func add(_ kind: Kind) { add(1, kind) }

    /// The count of a kind.
    public subscript(kind: Kind) -> UInt64 { counts.withLock { $0[kind.rawValue] } }
}
