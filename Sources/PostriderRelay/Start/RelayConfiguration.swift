public import PostriderCallbacks
public import PostriderConsole
public import PostriderEvidence
public import PostriderNotifications
public import PostriderSpans
public import PostriderTLS
public import PostriderTransport

/// The configuration of a relay, from the command line and the configuration file.
public struct RelayConfiguration: Sendable {
    /// The provider addresses for the production environment; at least one. For port 0 the kernel chooses a port, the
    /// same for all such addresses of a list.
    public var providerAddresses: [SocketAddress]
    /// The provider addresses for the development environment; empty for none.
    public var developmentProviderAddresses: [SocketAddress] = []
    /// The addresses for devices; at least one.
    public var deviceAddresses: [SocketAddress]
    /// Sockets that the service manager has opened for these addresses; nil if it has opened none.
    public var sockets: InheritedSockets?
    /// The Unix socket for the operator's commands.
    public var controlAddress: SocketAddress
    /// The relay's certificate and its intermediate certificates, PEM.
    public var certificateChainFile: String
    /// The key of the certificate, PEM.
    public var privateKeyFile: String
    /// The groups, by number, whose members may read the key, besides root's.
    public var privateKeyReaders: Set<UInt32> = []
    /// The certificate authorities, PEM, that providers' client certificates must lead to; nil if providers use tokens
    /// only.
    public var providerTrustFile: String?
    /// How long a provider's connection may stay without a request.
    public var providerIdleSeconds = Limits.providerIdleSeconds.usual
    /// How closely the relay follows Apple.
    public var fidelity = APNsCompatibility()
    /// Whose code handles HTTP/2.
    public var protocolCode = ProtocolCode()
    /// Pushes a second that one device token takes on average; ten times as many in a burst. Nil for no limit.
    public var pushesPerSecond: Int? = Limits.pushesPerSecond
    /// The quotas of teams and topics, each of another one.
    public var quotas: [Quota] = []
    /// How many devices a shard reads stored notifications for at once; others that return meanwhile are told when to
    /// come back.
    public var deviceFetches = Limits.fetches.usual
    /// Days without a connection after which a device's tokens expire, until it returns; nil if they never do.
    public var deviceExpiryDays: Int?
    /// Milliseconds after the start in which no token expires.
    var returnMilliseconds = Limits.clockMilliseconds
    /// One of this many pushes is traced; nil for none.
    public var traceSample: Int? = 1
    /// MiB of disk space that the trace takes at most.
    public var traceMebibytes = Limits.traceMebibytes.usual
    /// What is run for devices that connect and leave; nil: nothing is.
    public var onPresence: OperatorProgram?
    /// The callbacks that the operator allows; nil if they are off. They need a trace of every push.
    public var callbacks: CallbackConfiguration?
    /// The spans that pushes have; nil if they are off.
    public var spans: SpanConfiguration?
    /// The identifiers of the providers' keys that may look up device tokens by the names and tags of devices.
    public var lookupKeys: Set<String> = []
    /// The identifiers of the providers' keys that may also list every device of an app.
    public var lookupAllKeys: Set<String> = []
    /// Signs statements about pushes; nil: none are signed.
    public var signer: EvidenceSigner?
    /// Called on shard 0 with each change that an operator has asked for and its outcome, before the answer; must not
    /// wait. Nil if nothing is recorded.
    public var audit: (@Sendable (OperatorChange) -> Void)?
    /// The console; nil if it is off.
    public var console: Console?
    /// The web port; nil if it is off.
    public var web: Web?
    /// What makes the relay a node of a cluster; nil if it has its store alone.
    public var cluster: Cluster?
    /// Captures requests and applies rules to pushes, for tests; nil in production.
    public var bench: TestBench?
    /// A certificate that has expired, PEM, for the relay's key; rules may show it to providers. Nil: they cannot.
    public var expiredCertificateFile: String?
    /// What protects TLS 1.3 records after the handshake, on both ports: our code or OpenSSL.
    public var tlsRecords = TLSRecords.own
    /// The number of event loops; each has a thread of its own.
    public var shards: Int
    /// For how many microseconds a shard polls for more work, after it had some, before it sleeps.
    public var busyPollingMicroseconds = 0
    /// The user who may use the control socket, besides root.
    public var user: UInt32
    /// Connections that one source address may have open; nil for half of the process's limit.
    public var sourceConnections: Int?
    /// Connections that one source address may open in a second.
    public var sourceRate = Limits.sourceRate

    /// The settings of the web port.
    public struct Web: Sendable {
        /// Where it listens, over TLS with the relay's certificate; at least one address. For port 0 the kernel
        /// chooses a port.
        public var addresses: [SocketAddress]
        /// The origin of the addresses of subscriptions, under which senders reach the port:
        /// `https://push.example.org`.
        public var origin: String

        /// Reads an origin of HTTPS: host and perhaps port. A `/` at the end is left out; nil if the text has another
        /// form.
        public static func origin(_ text: String) -> String? {
            let text = text.hasSuffix("/") ? text.dropLast() : text[...]
            guard text.lowercased().hasPrefix("https://"), case let rest = text.dropFirst(8), !rest.isEmpty,
                rest.utf8.allSatisfy({ $0.isLetterOrDigit || ".-:[]".utf8.contains($0) })
            else { return nil }
            return "https://" + rest.lowercased()
        }

        /// Creates the settings of a port.
        public init(addresses: [SocketAddress], origin: String) {
            self.addresses = addresses
            self.origin = origin
        }
    }
    /// The load balancers that say with the PROXY protocol whose connections to the ports of providers and devices they
    /// forward.
    public var loadBalancers = NetworkList()

    /// The settings of the console.
    public struct Console: Sendable {
        /// Where it listens, over TLS with the relay's certificate. For port 0 the kernel chooses a port.
        public var address: SocketAddress
        /// Who has signed in.
        public let sessions: ConsoleSessions
        /// Whether it shows captured requests, which contain payloads.
        public var showsPayloads: Bool

        /// The address that the documents name, such as for a relay of `postrider dev`.
        public static let usualAddress = "127.0.0.1:2200"

        /// A console without sessions.
        public init(
            address: SocketAddress, sessions: ConsoleSessions = ConsoleSessions(), showsPayloads: Bool
        ) {
            self.address = address
            self.sessions = sessions
            self.showsPayloads = showsPayloads
        }
    }

    /// A configuration of the settings that have no default.
    public init(
        providerAddresses: [SocketAddress],
        deviceAddresses: [SocketAddress],
        controlAddress: SocketAddress,
        certificateChainFile: String,
        privateKeyFile: String,
        shards: Int,
        user: UInt32
    ) {
        precondition((1...256).contains(shards), "a relay has from 1 to 256 shards")
        precondition(!providerAddresses.isEmpty && !deviceAddresses.isEmpty, "a relay listens for both")
        self.providerAddresses = providerAddresses
        self.deviceAddresses = deviceAddresses
        self.controlAddress = controlAddress
        self.certificateChainFile = certificateChainFile
        self.privateKeyFile = privateKeyFile
        self.shards = shards
        self.user = user
    }
}

extension RelayConfiguration {
    /// All internet addresses on which the relay listens.
    var listenerAddresses: [SocketAddress] {
        providerAddresses + developmentProviderAddresses + deviceAddresses
            + (console.map { [$0.address] } ?? []) + (web?.addresses ?? [])
            + (cluster.map { [$0.address] } ?? [])
    }

    /// The limits of one source address over all listeners together. A source that has reached its limit still leaves
    /// room for others.
    var sourceLimits: SourceLimits {
        SourceLimits(
            connections: sourceConnections ?? Descriptors.limit / 2,
            attemptsPerSecond: sourceRate,
            burst: sourceRate * Limits.sourceBurstSeconds,
            handshakesPerSource: Limits.handshakesPerSource,
            handshakes: Limits.handshakes,
            sources: Limits.sources
        )
    }
}
