public import PostriderClients
public import PostriderNotifications
public import PostriderTLS
public import PostriderTransport

/// The server that a load run drives, and the credentials for it.
public struct LoadTarget: Sendable {
    /// The device port, and the credentials of devices.
    public struct DevicePort: Sendable {
        /// Its address.
        public var address: SocketAddress
        /// The TLS settings of its clients.
        public var tls: TLSContext
        /// The name that its certificate must carry.
        public var name: String
        /// The enrolment key of the devices.
        public var enrolmentKey: String
        /// The beginning of the devices' names.
        public var namePrefix = "load"
        /// The devices' tags. Devices with tags are there for pushes of others too: they report that they have taken
        /// them, if the relay asks for reports.
        public var tags: [String] = []

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
    /// The TLS settings of its clients.
    public var providerTLS: TLSContext
    /// The name that its certificate must carry.
    public var providerName: String
    /// Signs provider tokens; nil if requests carry none.
    public var signer: ProviderTokenMaker?
    /// The topics of the apps, one for each app on a device.
    public var topics: [Topic]
    /// The device port; nil if there are only providers, which push to ``tokens``.
    public var devices: DevicePort?
    /// Device tokens in hexadecimal digits, all of one length. If there are devices, their tokens are used instead.
    public var tokens: [String] = []
    /// The relay's process, if it runs on this machine and may be read in /proc.
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
