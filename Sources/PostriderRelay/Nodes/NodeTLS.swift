import PostriderCrypto
import PostriderTLS
import PostriderTransport

/// The TLS contexts of the links between nodes: both ends present certificates of the cluster's authority.
final class NodeTLS: Sendable {
    /// For links that other nodes open.
    let accepting: RenewableTLS
    /// For links that this node opens.
    let dialling: RenewableTLS

    /// Reads the files.
    ///
    /// - Throws: a sentence that names the faulty file.
    init(_ cluster: RelayConfiguration.Cluster) throws(CryptoError) {
        accepting = RenewableTLS(try cluster.loadServer())
        dialling = RenewableTLS(try cluster.loadClient())
    }

    /// Reads the files again, for new links. If it throws, nothing has changed.
    func renew(_ cluster: RelayConfiguration.Cluster) throws(CryptoError) {
        let (server, client) = (try cluster.loadServer(), try cluster.loadClient())
        accepting.renew(server)
        dialling.renew(client)
    }
}
