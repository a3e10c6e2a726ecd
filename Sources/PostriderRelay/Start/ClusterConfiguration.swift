public import PostriderCluster
package import PostriderCrypto
public import PostriderNotifications
package import PostriderTLS
public import PostriderTransport

extension RelayConfiguration {
    /// What makes a relay a node of a cluster.
    public struct Cluster: Sendable {
        /// The node's name.
        public var name: NodeName
        /// Where it listens for the other nodes.
        public var address: SocketAddress
        /// Where the other nodes reach it (``ClusterNode/address``).
        public var publicAddress: String
        /// The node's certificate for both ends of links, and its intermediate certificates, PEM.
        public var certificateChainFile: String
        /// The key of the certificate, PEM.
        public var privateKeyFile: String
        /// The authorities of the nodes' certificates, PEM.
        public var trustFile: String
        /// How often it shows that it is alive, and how long it counts as that.
        public var lease = Lease.usual
        /// Opens the cluster's database for the node's membership, on the thread that then keeps it.
        public var openMembership: @Sendable (Log) throws(StoreError) -> any ClusterStore
        /// Opens the store of the node's ledger with the claim of a membership, on the ledger's thread. Each membership
        /// needs another one.
        public var openStore: @Sendable (MemberClaim, Log) throws(StoreError) -> any PartitionStore
        /// Called with a part of a sentence when other nodes have declared this one dead and may have its devices. The
        /// relay serves nobody any more, and is to be stopped.
        public var whenLost: @Sendable (String) -> Void = { _ in }

        /// Creates the configuration of a node.
        public init(
            name: NodeName, address: SocketAddress, publicAddress: String, certificateChainFile: String,
            privateKeyFile: String, trustFile: String,
            openMembership: @escaping @Sendable (Log) throws(StoreError) -> any ClusterStore,
            openStore: @escaping @Sendable (MemberClaim, Log) throws(StoreError) -> any PartitionStore
        ) {
            self.name = name
            self.address = address
            self.publicAddress = publicAddress
            self.certificateChainFile = certificateChainFile
            self.privateKeyFile = privateKeyFile
            self.trustFile = trustFile
            self.openMembership = openMembership
            self.openStore = openStore
        }
    }
}

extension RelayConfiguration.Cluster {
    /// Loads the context with which the node accepts links.
    ///
    /// - Throws: a sentence that names the faulty file.
    package func loadServer() throws(CryptoError) -> TLSContext {
        try TLSContext.server(
            certificateChainFile: certificateChainFile, privateKeyFile: privateKeyFile, alpn: ["h2"],
            allowsMissingALPN: false, clientCertificates: .requested(trustFile: trustFile))
    }

    /// Loads the context with which the node opens links.
    ///
    /// - Throws: a sentence that names the faulty file.
    package func loadClient() throws(CryptoError) -> TLSContext {
        try TLSContext.client(
            trustFile: trustFile, alpn: ["h2"], certificateChainFile: certificateChainFile,
            privateKeyFile: privateKeyFile)
    }
}
