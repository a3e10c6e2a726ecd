public import PostriderCrypto
import Synchronization

/// The key with which a relay signs evidence, and the relay's name. Any thread may use it.
public final class EvidenceSigner: Sendable {
    /// The relay's name in statements.
    public let name: String
    private let loaded = Mutex<Result<ES256.PrivateKey, Unavailable>>(
        .failure(Unavailable("This relay has no key for evidence.")))

    /// Why there is no key, as a sentence.
    public struct Unavailable: Error, Equatable, Sendable, CustomStringConvertible {
        /// The sentence.
        public let description: String

        /// An error with this sentence.
        public init(_ description: String) { self.description = description }
    }

    /// A signer without a key.
    public init(name: String) { self.name = name }

    /// Gives the signer its key, or says why there is none.
    public func use(_ key: Result<ES256.PrivateKey, Unavailable>) { loaded.withLock { $0 = key } }

    /// The key.
    ///
    /// - Throws: ``Unavailable``.
    public func key() throws(Unavailable) -> ES256.PrivateKey { try loaded.withLock { $0 }.get() }
}
