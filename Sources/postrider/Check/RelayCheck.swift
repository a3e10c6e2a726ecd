import FoundationEssentials
import PostriderCluster
import PostriderCommands
import PostriderCrypto
import PostriderFileTrust
import PostriderOptions
import PostriderRelay
import PostriderTLS

/// Finds what is wrong with the configuration of a relay and the files that it names. It reads files only, and none in
/// the data directory.
enum RelayCheck {
    /// Settings that name a file which is read with the settings.
    private static let files = [Setting.metricsToken, .onPresence, .callbackSecret].map(\.rawValue)

    /// One sentence for each mistake.
    static func mistakes(
        _ path: String, _ text: String, environment: [String: String], options: ParsedOptions
    ) -> [String] {
        var search = MistakeSearch(path: path, text: text, environment: environment)
        let arguments = search.run(files: files) { search in
            try Settings(options: options, environment: search.environment) { file in
                file == path ? search.text : try FileText.readIfThere(file)
            }.forRelay()
        }
        guard let relay = arguments?.relay else { return search.sentences }
        relay.pair.check(&search)
        if let trust = relay.providerTrustFile { checkTrust(trust, .providerTrust, &search) }
        if let cluster = relay.cluster { check(cluster, &search) }
        return search.sentences
    }

    private static func checkTrust(_ file: String, _ setting: Setting, _ search: inout MistakeSearch) {
        do throws(CryptoError) {
            _ = try TLSContext.client(trustFile: file, alpn: [])
        } catch {
            search.add(setting.rawValue, "\(error)")
        }
    }

    /// Checks the files of a node.
    private static func check(_ cluster: RelayConfiguration.Cluster, _ search: inout MistakeSearch) {
        checkTrust(cluster.trustFile, .clusterTrust, &search)
        let (chain, count) = (cluster.certificateChainFile, search.sentences.count)
        CertificatePair(
            settings: (.clusterCertificate, .clusterKey), chain: chain, key: cluster.privateKeyFile
        ) { () throws(CryptoError) in
            try TLSContext.server(
                certificateChainFile: chain, privateKeyFile: cluster.privateKeyFile, alpn: [],
                allowsMissingALPN: true, clientCertificates: .none)
        }.check(&search)
        guard search.sentences.count == count, let text = try? FileText.readIfThere(chain),
            let names = CertificateDetails(pem: text)?.alternativeNames,
            !names.split(separator: ", ").contains(cluster.name.text[...])
        else { return }
        search.add(
            Setting.clusterCertificate.rawValue,
            "The certificate \(chain) is for '\(names)', and this node is '\(cluster.name)': make another "
                + "one with 'postrider certificates make FOLDER --node \(cluster.name)', or set node-name.")
    }
}

/// A certificate and its key in two files, which two settings name.
private struct CertificatePair {
    let settings: (certificate: Setting, key: Setting)
    let chain: String
    let key: String
    /// The groups, besides root's, whose members may read the key.
    var keyReaders: Set<UInt32> = []
    let load: () throws(CryptoError) -> TLSContext

    /// Checks the certificate and its key as the relay does; the key by itself if the certificate cannot be used.
    func check(_ search: inout MistakeSearch) {
        let hasChain = MistakeSearch.substitute(for: settings.certificate.rawValue) != chain
        let hasKey = MistakeSearch.substitute(for: settings.key.rawValue) != key
        if hasChain {
            do throws(CryptoError) {
                if let mistake = try load().mistakeInCertificate() {
                    search.add(
                        settings.certificate.rawValue,
                        "The certificate \(chain) \(mistake): replace it and its key.")
                }
                return
            } catch {
                let sentence = "\(error)"
                let isOfChain = sentence.contains(chain)
                guard isOfChain || hasKey else { return }
                search.add((isOfChain ? settings.certificate : settings.key).rawValue, sentence)
                guard isOfChain, !sentence.contains(key) else { return }
            }
        }
        guard hasKey else { return }
        do throws(FileAccessError) {
            _ = try FileAccessRule.secret(readableBy: keyReaders).open(key)
        } catch {
            search.add(settings.key.rawValue, "The private key \(key) \(error.explanation).")
        }
    }
}

extension RelayConfiguration {
    /// The relay's own certificate.
    fileprivate var pair: CertificatePair {
        CertificatePair(
            settings: (.certificate, .privateKey), chain: certificateChainFile, key: privateKeyFile,
            keyReaders: privateKeyReaders
        ) { () throws(CryptoError) in try loadCertificate() }
    }
}
