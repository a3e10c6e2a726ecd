import FoundationEssentials
import PostriderCrypto
import PostriderFileTrust
import PostriderHTTP1
import PostriderTransport

/// Where a service tells its metrics, and who may ask.
struct MetricsArguments: Sendable {
    /// Where it listens.
    let address: SocketAddress
    /// What the bearer tokens are that somebody must show one of; empty: everybody may ask who can connect.
    let tokens: MetricsTokens
    /// The certificate and its key; nil: plain HTTP, of this machine alone.
    let certificate: CertificateFiles?

    /// The files of a certificate.
    struct CertificateFiles: Sendable {
        let chain: String
        let key: String
        let keyReaders: Set<UInt32>

        /// Reads both.
        func read() throws -> HTTP1Certificate {
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
    /// Whether only this machine reaches it.
    var isOfThisMachine: Bool {
        guard let host else { return true }
        return host.hasPrefix("127.") || host == "::1"
    }
}

extension Settings {
    /// Where the relay's metrics are told unless somebody says otherwise: beside the providers' usual ports.
    static let usualMetricsAddress = "127.0.0.1:2199"

    /// Where the relay tells its metrics; nil: nowhere.
    ///
    /// - Throws: at the first mistake; one is an address that other machines reach, without a token.
    func metrics(certificate: String, privateKey: String, readers: Set<UInt32>) throws -> MetricsArguments? {
        let form = "off, an address with its port such as \(Self.usualMetricsAddress), or unix: and a path"
        let text = texts[.metricsAddress] ?? Self.usualMetricsAddress
        guard text != "off" else { return nil }
        let set = try texts.value(.metricsAddress, form: form) { try? SocketAddress($0) }
        let address = try set ?? SocketAddress(text)
        let tokens = try texts[.metricsToken].map(MetricsTokens.init(file:))
        guard tokens != nil || address.isOfThisMachine else {
            throw texts.mistake(
                .metricsAddress,
                "is \(address), which other machines reach: set metrics-token as well, to a file with the "
                    + "SHA-256 of a bearer token, or choose an address of this machine alone, such as "
                    + Self.usualMetricsAddress)
        }
        return MetricsArguments(
            address: address, tokens: tokens ?? MetricsTokens(),
            certificate: address.isOfThisMachine
                ? nil : .init(chain: certificate, key: privateKey, keyReaders: readers))
    }
}
