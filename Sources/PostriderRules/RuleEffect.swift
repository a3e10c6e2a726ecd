/// What the relay does with a push that a rule matches.
public struct RuleEffect: Sendable, Equatable {
    /// What happens to the push.
    public enum Outcome: Sendable, Equatable {
        /// The push is handled as without the rule.
        case pass
        /// The push gets this answer, and is not delivered.
        case answer(ScriptedAnswer)
        /// The push gets the status 200, and is not delivered.
        case lose
        /// The device token is unregistered: this push and later ones get the status 410.
        case unregister
        /// The stream of the push is reset with this error code (RFC 9113, section 7).
        case reset(UInt32)
        /// The connection is closed without an answer, with TLS's close_notify or without it.
        case close(notifies: Bool)
    }

    /// What happens to the push.
    public var outcome: Outcome
    /// The delay before that; nil for none.
    public var delay: Delay?
    /// A GOAWAY that is sent as well; nil for none.
    public var goaway: Goaway?
    /// What is done to the connection.
    public var connection = ConnectionEffect()
    /// What is done to the device of the push; nil for nothing.
    public var device: DeviceEffect?

    /// Creates an effect from its parts.
    public init(
        _ outcome: Outcome = .pass, delay: Delay? = nil, goaway: Goaway? = nil,
        connection: ConnectionEffect = ConnectionEffect(), device: DeviceEffect? = nil
    ) {
        self.outcome = outcome
        self.delay = delay
        self.goaway = goaway
        self.connection = connection
        self.device = device
    }
}

/// An answer that a rule dictates.
public struct ScriptedAnswer: Sendable, Equatable {
    /// The value of `retry-after` (RFC 9110, section 10.2.3).
    public enum RetryAfter: Sendable, Equatable {
        /// This many seconds.
        case seconds(Int)
        /// The seconds until the rule no longer applies.
        case rest
    }

    /// For how long the end of the body is held back.
    public enum Stall: Sendable, Equatable {
        /// Until the provider gives up.
        case forever
        /// This many milliseconds.
        case milliseconds(Int)
    }

    /// The HTTP status. It is not 200.
    public var status: Int
    /// The reason in the body.
    public var reason: String
    /// The `timestamp` in the body of a 410, in milliseconds since 1970; nil for the time of the answer.
    public var timestamp: Int64?
    /// The value of `retry-after`; nil for none.
    public var retryAfter: RetryAfter?
    /// For how long the second half of the body is held back; nil to send it at once.
    public var stall: Stall?

    /// Creates an answer from its parts.
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

/// A GOAWAY that a rule makes the relay send (RFC 9113, section 6.8). The connection is closed when its open pushes
/// are answered.
public struct Goaway: Sendable, Equatable {
    /// When the GOAWAY is sent.
    public enum Time: String, CaseIterable, Sendable {
        /// Before the push is answered.
        case before
        /// After the push is answered.
        case after
    }

    /// When the GOAWAY is sent.
    public var time: Time
    /// The error code.
    public var code: UInt32
    /// The reason in the debug data, in the form of APNs (`{"reason":"Shutdown"}`); nil for none.
    public var reason: String?
    /// The last stream that it names.
    public var lastStream: LastStream

    /// The last stream that a GOAWAY names. The provider may repeat the pushes on later ones.
    public enum LastStream: Sendable, Equatable {
        /// The last stream that the provider has begun.
        case latest
        /// The stream before that of the push.
        case previous
        /// The stream with this number, or the last one that the provider has begun if that is earlier.
        case number(Int32)
    }

    /// Creates a GOAWAY from its parts.
    public init(
        _ time: Time, code: UInt32 = 0, reason: String? = nil, lastStream: LastStream = .latest
    ) {
        self.time = time
        self.code = code
        self.reason = reason
        self.lastStream = lastStream
    }

    /// The stream that the GOAWAY names if it is sent for a push on `stream`; the greatest number for the last one of
    /// the connection.
    public func namedStream(for stream: Int32) -> Int32 {
        switch lastStream {
        case .latest: .max
        case .previous: max(0, stream - 2)
        case .number(let number): number
        }
    }
}
