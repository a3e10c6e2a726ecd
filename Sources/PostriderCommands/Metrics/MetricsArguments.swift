import FoundationEssentials
import PostriderCrypto
import PostriderFileTrust
package import PostriderHTTP1
package import PostriderTransport

/// Where a service serves its metrics, and who may read them.
package struct MetricsArguments: Sendable {
    /// The address to listen on.
    package let address: SocketAddress
    /// The bearer tokens, one of which a reader must present. If it is empty, everybody who can connect may read.
    package let tokens: MetricsTokens
    /// The certificate and its key; nil for plain HTTP, which is only for this machine.
    package let certificate: CertificateFiles?

    /// Creates the arguments from their parts.
    package init(address: SocketAddress, tokens: MetricsTokens, certificate: CertificateFiles?) {
        (self.address, self.tokens, self.certificate) = (address, tokens, certificate)
    }

    /// The files of a certificate.
    package struct CertificateFiles: Sendable {
        package let chain: String
        package let key: String
        package let keyReaders: Set<UInt32>

        /// Names the files, and the groups whose members may read the key.
        package init(chain: String, key: String, keyReaders: Set<UInt32>) {
            (self.chain, self.key, self.keyReaders) = (chain, key, keyReaders)
        }

        /// Reads both files.
        package func read() throws -> HTTP1Certificate {
            let bytes: [UInt8]
            do throws(FileAccessError) {
                bytes = try FileAccessRule.secret(readableBy: keyReaders).open(key).read(atMost: 1 << 20)
            } catch {
                throw CommandFailure("The private key \(key) \(error.explanation).")
            }
            return HTTP1Certificate(
                chain: try FileText.read(chain, "The certificate"),
                key: String(decoding: bytes, as: UTF8.self))
        }
    }
}

extension SocketAddress {
    /// Whether only this machine can reach the address.
    package var isOfThisMachine: Bool {
        guard let host else { return true }
        return host.hasPrefix("127.") || host == "::1"
    }
}
