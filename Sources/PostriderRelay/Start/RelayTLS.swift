package import PostriderCrypto
import PostriderNotifications
package import PostriderTLS
import PostriderTransport

/// The TLS contexts of a relay's listeners, made from the files that the configuration names, and made again when the
/// files have changed.
///
/// All ports present the same certificate. A provider may present one of its own, a device never does: its secret
/// identifies it.
final class RelayTLS: Sendable {
    /// The context of the provider ports.
    let provider: RenewableTLS
    /// The context of the device port.
    let device: RenewableTLS
    /// The context of the web port.
    let web: RenewableTLS

    private let log: Log

    /// When the certificate expires, in seconds since 1970; nil if that is unknown.
    var certificateExpiry: Int? { (device.current as? TLSContext)?.certificateExpiry }

    /// Reads the files.
    ///
    /// - Throws: a sentence that names the faulty file.
    init(_ configuration: RelayConfiguration, log: Log) throws(CryptoError) {
        provider = RenewableTLS(try Self.providerContext(configuration))
        let device = try Self.deviceContext(configuration)
        self.device = RenewableTLS(device)
        web = RenewableTLS(try Self.webContext(configuration))
        self.log = log
        if let bench = configuration.bench, configuration.expiredCertificateFile != nil {
            bench.attach(provider, expired: try configuration.loadExpiredCertificate())
        }
        lookAtCertificate(of: device, configuration)
    }

    /// Reads the files again, for new connections. If it throws, nothing has changed.
    func renew(_ configuration: RelayConfiguration) throws(CryptoError) {
        let provider = try Self.providerContext(configuration)
        let device = try Self.deviceContext(configuration)
        let web = try Self.webContext(configuration)
        self.provider.renew(provider)
        self.device.renew(device)
        self.web.renew(web)
        lookAtCertificate(of: device, configuration)
    }

    /// Logs a certificate that no client accepts. It is served all the same, because the clock may be what is wrong.
    private func lookAtCertificate(of device: TLSContext, _ configuration: RelayConfiguration) {
        guard let mistake = device.mistakeInCertificate() else { return }
        log.warning(
            "the certificate \(configuration.certificateChainFile) \(mistake), so that providers and devices "
                + "refuse it: replace it and its key, and reload")
    }

    private static func providerContext(_ configuration: RelayConfiguration) throws(CryptoError) -> TLSContext
    {
        try configuration.loadCertificate(
            configuration.providerTrustFile.map { .requested(trustFile: $0) } ?? .none)
    }

    private static func webContext(_ configuration: RelayConfiguration) throws(CryptoError) -> TLSContext {
        try configuration.loadCertificate(protocols: ["h2", "http/1.1"])
    }

    private static func deviceContext(_ configuration: RelayConfiguration) throws(CryptoError) -> TLSContext {
        try configuration.loadCertificate()
    }
}

extension RelayConfiguration {
    /// Loads the certificate that rules may show.
    fileprivate func loadExpiredCertificate() throws(CryptoError) -> TLSContext {
        var expired = self
        expired.certificateChainFile = expiredCertificateFile ?? certificateChainFile
        return try expired.loadCertificate()
    }

    /// Loads the certificate and its key as the relay does.
    ///
    /// - Throws: a sentence that names the faulty file.
    package func loadCertificate(
        _ clientCertificates: TLSContext.ClientCertificates = .none, protocols: [String] = ["h2"]
    ) throws(CryptoError) -> TLSContext {
        try TLSContext.server(
            certificateChainFile: certificateChainFile, privateKeyFile: privateKeyFile,
            keyReaders: privateKeyReaders, alpn: protocols, allowsMissingALPN: true,
            clientCertificates: clientCertificates, records: tlsRecords)
    }
}
