import PostriderCommands
import PostriderTransport

extension Settings {
    /// The default address of the relay's metrics, next to the default ports for providers.
    static let usualMetricsAddress = "127.0.0.1:2199"

    /// Where the relay serves its metrics; nil for nowhere.
    ///
    /// - Throws: an error at the first mistake, such as an address that other machines can reach without a token.
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
