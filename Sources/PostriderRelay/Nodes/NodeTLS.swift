import PostriderCrypto
import PostriderTLS
import PostriderTransport

/// The TLS contexts of the links between nodes: both ends present certificates of the cluster's authority.
final class NodeTLS: Sendable {
    /// For links that other nodes open.
    let accepting: RenewableTLS
    /// For links that this node opens.
    let dialling: RenewableTLS

    /// The two contexts that the files of a configuration make.
    struct Contexts {
        let accepting: TLSContext
        let dialling: TLSContext

        /// Reads the files.
        ///
        /// - Throws: a sentence that names the faulty file.
        init(_ cluster: RelayConfiguration.Cluster) throws(CryptoError) {
            (accepting, dialling) = (try cluster.loadServer(), try cluster.loadClient())
        }
    }

    init(_ contexts: Contexts) {
        accepting = RenewableTLS(contexts.accepting)
        dialling = RenewableTLS(contexts.dialling)
    }

    /// New links have these contexts.
    func renew(_ contexts: Contexts) {
        accepting.renew(contexts.accepting)
        dialling.renew(contexts.dialling)
    }
}
