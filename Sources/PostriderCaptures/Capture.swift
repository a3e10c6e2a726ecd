public import PostriderNotifications

/// A request of a provider as it was received, the response, and what happened to the push.
public struct Capture: Sendable, Equatable {
    /// A header field.
    public struct Field: Sendable, Equatable {
        /// The name, in lower case.
        public var name: String
        /// The value.
        public var value: String

        /// Creates a field from its parts.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The TLS parameters of a connection.
    public struct TLS: Sendable, Equatable {
        /// The version: `TLSv1.3`.
        public var version: String
        /// The cipher suite: `TLS_AES_128_GCM_SHA256`.
        public var cipher: String
        /// The host name that the provider asked for (SNI); nil if it sent none.
        public var serverName: String?

        /// Creates the parameters.
        public init(version: String, cipher: String, serverName: String?) {
            self.version = version
            self.cipher = cipher
            self.serverName = serverName
        }
    }

    /// The connection of a request.
    public struct Connection: Sendable, Equatable {
        /// Its number among the connections of providers since the relay started, from 1 on.
        public var number: Int
        /// The address of the provider: `127.0.0.1:4711`.
        public var peer: String
        /// The protocol that ALPN selected; nil if the provider did not use ALPN.
        public var alpn: String?
        /// The TLS parameters; nil if they are unknown.
        public var tls: TLS?
        /// The common name in the provider's certificate; nil if it presented none.
        public var certificate: String?
        /// SHA-256 of that certificate, in hexadecimal digits.
        public var certificateFingerprint: String?

        /// Creates a connection from its parts.
        public init(
            number: Int, peer: String, alpn: String? = nil, tls: TLS? = nil, certificate: String? = nil,
            certificateFingerprint: String? = nil
        ) {
            self.number = number
            self.peer = peer
            self.alpn = alpn
            self.tls = tls
            self.certificate = certificate
            self.certificateFingerprint = certificateFingerprint
        }
    }

    /// The HTTP/2 stream of a request.
    public struct Stream: Sendable, Equatable {
        /// Its number.
        public var number: Int32
        /// Bytes of padding in the frames of the request (RFC 9113, sections 6.1 and 6.2).
        public var padding: Int

        /// Creates a stream from its parts.
        public init(number: Int32, padding: Int = 0) {
            self.number = number
            self.padding = padding
        }
    }

    /// The rule that decided about a request.
    public struct Rule: Sendable, Equatable {
        /// Its position in the list of rules, from 1 on.
        public var number: Int
        /// Its name.
        public var name: String?

        /// Creates a rule from its parts.
        public init(number: Int, name: String?) {
            self.number = number
            self.name = name
        }
    }

    /// The response to a request.
    public struct Answer: Sendable, Equatable {
        /// When the response was sent.
        public var at: Moment
        /// The HTTP status.
        public var status: Int
        /// The reason in the body; nil for 200.
        public var reason: String?
        /// The `timestamp` in the body of a 410.
        public var timestamp: Int64?
        /// The value of `retry-after`.
        public var retryAfter: Int?
        /// All header fields of the answer of another server (``Outcome/forwarded``), in their order; empty otherwise.
        public var headers: [Field] = []
        /// The beginning of that answer's body.
        public var body: [UInt8] = []

        /// Creates an answer from its parts.
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

    /// What happened to a request.
    public enum Outcome: String, CaseIterable, Sendable {
        /// It has no outcome yet.
        case open
        /// The relay accepted it for one of its devices.
        case accepted
        /// The relay refused it, as APNs would.
        case refused
        /// It got 200. Its token belongs to no device, so it is not delivered.
        case captured
        /// A rule determined the response.
        case scripted
        /// A rule made it get 200 and be lost.
        case lost
        /// A rule made its stream be reset, or be left out of those that a GOAWAY names.
        case reset
        /// A rule made its connection be closed.
        case closed
        /// The provider cancelled it before the response.
        case abandoned
        /// Another server got it, and its response was passed back.
        case forwarded
        /// It was to be passed on to another server, which did not respond.
        case unanswered
    }

    /// An event of a push after it was accepted.
    public struct Event: Sendable, Equatable {
        /// The kind of the event, as in `postrider trace`.
        public var kind: String
        /// When it happened.
        public var at: Moment

        /// Creates an event from its parts.
        public init(kind: String, at: Moment) {
            self.kind = kind
            self.at = at
        }
    }

    /// The number of the capture, from 1 on.
    public internal(set) var number = 0
    /// When the request was completely received.
    public var at: Moment
    /// The environment of the port that received it.
    public var environment: Environment
    /// The connection on which it was received.
    public var connection: Connection
    /// The HTTP/2 stream.
    public var stream: Stream
    /// All header fields in the order in which they were received. The secret of `authorization` is masked unless
    /// configured otherwise.
    public var headers: [Field]
    /// The claims of the provider token; nil if no token can be read.
    public var claims: TokenClaims?
    /// The body, up to the length that the relay keeps.
    public var body: [UInt8]
    /// The length of the body in bytes, as it was sent.
    public var bodyByteCount: Int
    /// The `apns-id` of the answer.
    public var identity: String
    /// The rule that decided about the request; nil for none.
    public var rule: Rule?
    /// The response; nil if there is none (yet).
    public var answer: Answer?
    /// Why another server did not respond, as a clause without a full stop; nil if it did, or was not asked.
    public var upstreamError: String?
    /// What happened to the request.
    public var outcome = Outcome.open
    /// The events of the push after it was accepted.
    public internal(set) var events: [Event] = []

    /// Creates a capture of a request that was just received.
    public init(
        at moment: Moment, environment: Environment, connection: Connection, stream: Stream, headers: [Field],
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

    /// The value of the first field with a name; nil if there is none.
    public func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }

    /// The device token in the path, in lower case; nil if the path is not that of a device.
    public var token: String? {
        guard let path = header(":path"), path.hasPrefix("/3/device/") else { return nil }
        return String(path.dropFirst("/3/device/".count)).lowercased()
    }

    /// The bytes that count against the limit for captures.
    var byteCount: Int { 400 + body.count + headers.byteCount + (answer?.byteCount ?? 0) }
}

extension Capture.Answer {
    /// The bytes that an answer of another server adds to its capture.
    var byteCount: Int { body.count + headers.byteCount }
}

extension [Capture.Field] {
    fileprivate var byteCount: Int { reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 32 } }
}
