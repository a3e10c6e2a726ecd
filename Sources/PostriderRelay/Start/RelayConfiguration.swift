import PostriderNotifications
public import PostriderTLS
public import PostriderTransport

/// What a relay is to do, as the command line and the configuration file say it.
public struct RelayConfiguration: Sendable {
    /// Where providers connect for the production environment; at least one address. With port 0 the kernel chooses
    /// one, the same for all addresses of a list that have it.
    public var providerAddresses: [SocketAddress]
    /// Where providers connect for the development environment, likewise; nowhere if empty.
    public var developmentProviderAddresses: [SocketAddress] = []
    /// Where devices connect, likewise; at least one address.
    public var deviceAddresses: [SocketAddress]
    /// The Unix socket where the operator's commands connect.
    public var controlAddress: SocketAddress
    /// The relay's certificate and those above it, PEM.
    public var certificateChainFile: String
    /// The key of the certificate, PEM.
    public var privateKeyFile: String
    /// The groups, by number, whose members may read the key, besides root's.
    public var privateKeyReaders: Set<UInt32> = []
    /// The certificates, PEM, under which providers' client certificates are good; nil: providers are known by
    /// their tokens only.
    public var providerTrustFile: String?
    /// How long a provider's connection may stay without a request.
    public var providerIdleSeconds = Limits.providerIdleSeconds.usual
    /// How closely the relay keeps to Apple.
    public var fidelity = APNsCompatibility()
    /// Whose code carries HTTP/2.
    public var protocolCode = ProtocolCode()
    /// Pushes that one device token takes a second in the long run, and ten times as many in a row; nil: no limit.
    public var pushesPerSecond: Int? = Limits.pushesPerSecond
    /// Devices for which a shard fetches stored notifications at once; others that return meanwhile are told when to
    /// come back.
    public var deviceFetches = Limits.fetches.usual
    /// Days after which the tokens of a device that was not seen are expired until it returns; nil: they never are.
    public var deviceExpiryDays: Int?
    /// Milliseconds after the start before any are.
    var returnMilliseconds = Limits.clockMilliseconds
    /// One push of so many is traced; nil: none is.
    public var traceSample: Int? = 1
    /// What captures requests and has rules decide about pushes, for tests; nil: nothing does.
    public var bench: TestBench?
    /// Who protects the records of TLS 1.3 behind the handshake, on both ports.
    public var tlsRecords = TLSRecords.own
    /// The number of event loops; each has a thread of its own.
    public var shards: Int
    /// How long a shard looks for more to do, after it has had something to do, before it sleeps.
    public var busyPollingMicroseconds = 0
    /// The user who may use the control socket, besides root.
    public var user: UInt32
    /// Connections that one source address may have open; nil: half of what the process may have.
    public var sourceConnections: Int?
    /// Connections that one source address may begin each second.
    public var sourceRate = Limits.sourceRate

    /// A configuration from its parts.
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
    /// Every address of the Internet where the relay listens.
    var listenerAddresses: [SocketAddress] {
        providerAddresses + developmentProviderAddresses + deviceAddresses
    }

    /// What one source address may ask of all listeners together. One that has all the connections that it may have
    /// still leaves room for others.
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
