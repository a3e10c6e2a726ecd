public import PostriderClients
public import PostriderNotifications
public import PostriderTLS
public import PostriderTransport

/// Whom a load run drives, and with what it proves that it may.
public struct LoadTarget: Sendable {
    /// The device port, and what devices enrol with.
    public struct DevicePort: Sendable {
        /// Where it is.
        public var address: SocketAddress
        /// How to speak TLS with it.
        public var tls: TLSContext
        /// The name that its certificate must carry.
        public var name: String
        /// What devices enrol with.
        public var enrolmentKey: String
        /// How their names begin.
        public var namePrefix = "load"

        /// A port from its parts.
        public init(address: SocketAddress, tls: TLSContext, name: String, enrolmentKey: String) {
            self.address = address
            self.tls = tls
            self.name = name
            self.enrolmentKey = enrolmentKey
        }
    }

    /// Where providers connect.
    public var provider: Destination
    /// How to speak TLS there.
    public var providerTLS: TLSContext
    /// The name that its certificate must carry.
    public var providerName: String
    /// Signs provider tokens; nil: requests go without.
    public var signer: ProviderTokenMaker?
    /// The topics of the apps, one for each app on a device.
    public var topics: [Topic]
    /// Nil: there are only providers, and ``tokens`` says whom they push to.
    public var devices: DevicePort?
    /// Device tokens in hexadecimal digits, all of one length; where there are devices, theirs are used.
    public var tokens: [String] = []
    /// The relay's process, where it runs on this machine and may be looked at.
    public var process: Int32?

    /// A target from its parts.
    public init(
        provider: Destination, providerTLS: TLSContext, providerName: String, signer: ProviderTokenMaker?,
        topics: [Topic], devices: DevicePort?
    ) {
        self.provider = provider
        self.providerTLS = providerTLS
        self.providerName = providerName
        self.signer = signer
        self.topics = topics
        self.devices = devices
    }
}
