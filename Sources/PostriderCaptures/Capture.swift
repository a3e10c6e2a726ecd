public import PostriderNotifications

/// One request of a provider as it came, what it was answered, and what became of it.
public struct Capture: Sendable, Equatable {
    /// A header field.
    public struct Field: Sendable, Equatable {
        /// The name, in lower case.
        public var name: String
        /// The value.
        public var value: String

        /// A field from its parts.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The connection that it came on.
    public struct Connection: Sendable, Equatable {
        /// Its number among those of providers since the relay started, from 1 on.
        public var number: Int
        /// Where the provider is: `127.0.0.1:4711`.
        public var peer: String
        /// What ALPN agreed on; nil: the provider did not use it.
        public var alpn: String?
        /// The common name in the provider's certificate; nil: it showed none.
        public var certificate: String?
        /// SHA-256 of that certificate, in hexadecimal digits.
        public var certificateFingerprint: String?

        /// A connection from its parts.
        public init(
            number: Int, peer: String, alpn: String? = nil, certificate: String? = nil,
            certificateFingerprint: String? = nil
        ) {
            self.number = number
            self.peer = peer
            self.alpn = alpn
            self.certificate = certificate
            self.certificateFingerprint = certificateFingerprint
        }
    }

    /// The rule that decided about it.
    public struct Rule: Sendable, Equatable {
        /// Its number in its list, from 1 on.
        public var number: Int
        /// Its name.
        public var name: String?

        /// A rule from its parts.
        public init(number: Int, name: String?) {
            self.number = number
            self.name = name
        }
    }

    /// What it was answered.
    public struct Answer: Sendable, Equatable {
        /// When.
        public var at: Moment
        /// The HTTP status.
        public var status: Int
        /// The reason in the body; nil with 200.
        public var reason: String?
        /// The `timestamp` in the body of a 410.
        public var timestamp: Int64?
        /// The `retry-after` field.
        public var retryAfter: Int?

        /// An answer from its parts.
        public init(
            at: Moment, status: Int, reason: String? = nil, timestamp: Int64? = nil, retryAfter: Int? = nil
        ) {
            self.at = at
            self.status = status
            self.reason = reason
            self.timestamp = timestamp
            self.retryAfter = retryAfter
        }
    }

    /// What came of the request.
    public enum Outcome: String, CaseIterable, Sendable {
        /// It is not decided yet.
        case open
        /// The relay took it on, for a device of its own.
        case accepted
        /// The relay refused it, as APNs would.
        case refused
        /// It was answered with 200; its token is nobody's, and it goes nowhere.
        case captured
        /// A rule answered it.
        case scripted
        /// A rule had it answered with 200 and lost.
        case lost
        /// A rule had its stream reset.
        case reset
        /// A rule had its connection closed.
        case closed
        /// The provider gave it up before it was answered.
        case abandoned
    }

    /// Something that happened to the push after it was accepted.
    public struct Event: Sendable, Equatable {
        /// What, as `postrider trace` calls it.
        public var kind: String
        /// When.
        public var at: Moment

        /// An event from its parts.
        public init(kind: String, at: Moment) {
            self.kind = kind
            self.at = at
        }
    }

    /// Its number among all that were captured, from 1 on.
    public internal(set) var number = 0
    /// When all of it had come.
    public var at: Moment
    /// The environment whose port it came to.
    public var environment: Environment
    /// The connection.
    public var connection: Connection
    /// The HTTP/2 stream.
    public var stream: Int32
    /// All header fields in the order of the wire, the secret of `authorization` masked unless it was asked for.
    public var headers: [Field]
    /// What the provider token says; nil: there was none that can be read.
    public var claims: TokenClaims?
    /// The body, as far as the relay keeps one.
    public var body: [UInt8]
    /// Bytes of the body as it was sent.
    public var bodyByteCount: Int
    /// The `apns-id` of the answer.
    public var identity: String
    /// The rule that decided about it; nil: none did.
    public var rule: Rule?
    /// What it was answered; nil: nothing yet, or nothing at all.
    public var answer: Answer?
    /// What came of it.
    public var outcome = Outcome.open
    /// What happened to the push after it was accepted.
    public internal(set) var events: [Event] = []

    /// A capture of a request that has just come.
    public init(
        at moment: Moment, environment: Environment, connection: Connection, stream: Int32, headers: [Field],
        claims: TokenClaims?, body: [UInt8], bodyByteCount: Int, identity: String
    ) {
        at = moment
        self.environment = environment
        self.connection = connection
        self.stream = stream
        self.headers = headers
        self.claims = claims
        self.body = body
        self.bodyByteCount = bodyByteCount
        self.identity = identity
    }

    /// The value of the first field with a name.
    public func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }

    /// The device token that the path names, in lower case; nil: the path is no device's.
    public var token: String? {
        guard let path = header(":path"), path.hasPrefix("/3/device/") else { return nil }
        return String(path.dropFirst("/3/device/".count)).lowercased()
    }

    /// What it takes of the memory for captures.
    var byteCount: Int {
        headers.reduce(400 + body.count) { $0 + $1.name.utf8.count + $1.value.utf8.count + 32 }
    }
}
