/// What the relay does to a push that a rule matches.
public struct RuleEffect: Sendable, Equatable {
    /// What comes of the push.
    public enum Outcome: Sendable, Equatable {
        /// What comes of it without the rule.
        case pass
        /// It is answered so, and goes nowhere.
        case answer(ScriptedAnswer)
        /// It is answered with 200, and lost.
        case lose
        /// Its token is unregistered from now on: 410, for this push and those after it.
        case unregister
        /// Its stream is reset with this code (RFC 9113, section 7).
        case reset(UInt32)
        /// Its connection is closed without an answer: with TLS's close_notify, or as if a cable were cut.
        case close(notifies: Bool)
    }

    /// What comes of the push.
    public var outcome: Outcome
    /// How long it is held back before that; nil: not at all.
    public var delay: Delay?
    /// A GOAWAY beside it; nil: none.
    public var goaway: Goaway?

    /// An effect from its parts.
    public init(_ outcome: Outcome = .pass, delay: Delay? = nil, goaway: Goaway? = nil) {
        self.outcome = outcome
        self.delay = delay
        self.goaway = goaway
    }
}

/// An answer as a rule dictates it.
public struct ScriptedAnswer: Sendable, Equatable {
    /// What `retry-after` says (RFC 9110, section 10.2.3).
    public enum RetryAfter: Sendable, Equatable {
        /// So many seconds.
        case seconds(Int)
        /// The seconds until the rule no longer holds.
        case rest
    }

    /// For how long the end of the body is held back.
    public enum Stall: Sendable, Equatable {
        /// Until the provider gives up.
        case forever
        /// So many milliseconds.
        case milliseconds(Int)
    }

    /// The HTTP status; not 200.
    public var status: Int
    /// The reason in the body.
    public var reason: String
    /// The `timestamp` in the body of a 410, in milliseconds since the epoch; nil: the moment of the answer.
    public var timestamp: Int64?
    /// The `retry-after` field; nil: none.
    public var retryAfter: RetryAfter?
    /// Whether half of the body is sent, and its end held back; nil: all is sent at once.
    public var stall: Stall?

    /// An answer from its parts.
    public init(
        status: Int, reason: String, timestamp: Int64? = nil, retryAfter: RetryAfter? = nil,
        stall: Stall? = nil
    ) {
        self.status = status
        self.reason = reason
        self.timestamp = timestamp
        self.retryAfter = retryAfter
        self.stall = stall
    }
}

/// A GOAWAY that a rule has the relay send (RFC 9113, section 6.8). The connection is closed when its open pushes are
/// answered.
public struct Goaway: Sendable, Equatable {
    /// When it leaves.
    public enum Time: String, CaseIterable, Sendable {
        /// Before the push is answered.
        case before
        /// After that.
        case after
    }

    /// When it leaves.
    public var time: Time
    /// Its error code.
    public var code: UInt32
    /// The reason in its debug data, as APNs writes one (`{"reason":"Shutdown"}`); nil: there is none.
    public var reason: String?

    /// A GOAWAY from its parts.
    public init(_ time: Time, code: UInt32 = 0, reason: String? = nil) {
        self.time = time
        self.code = code
        self.reason = reason
    }
}
