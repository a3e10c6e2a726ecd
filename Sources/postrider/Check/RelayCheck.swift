import FoundationEssentials
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
        checkCertificate(relay, &search)
        if let trust = relay.providerTrustFile {
            do throws(CryptoError) {
                _ = try TLSContext.client(trustFile: trust, alpn: [])
            } catch {
                search.add(Setting.providerTrust.rawValue, "\(error)")
            }
        }
        return search.sentences
    }

    /// Checks the certificate and its key as the relay does; the key by itself if the certificate cannot be used.
    private static func checkCertificate(_ relay: RelayConfiguration, _ search: inout MistakeSearch) {
        let (chain, key) = (relay.certificateChainFile, relay.privateKeyFile)
        let hasChain = MistakeSearch.substitute(for: Setting.certificate.rawValue) != chain
        let hasKey = MistakeSearch.substitute(for: Setting.privateKey.rawValue) != key
        if hasChain {
            do throws(CryptoError) {
                if let mistake = try relay.loadCertificate().mistakeInCertificate() {
                    search.add(
                        Setting.certificate.rawValue,
                        "The certificate \(chain) \(mistake): replace it and its key.")
                }
                return
            } catch {
                let sentence = "\(error)"
                let isOfChain = sentence.contains(chain)
                guard isOfChain || hasKey else { return }
                search.add((isOfChain ? Setting.certificate : .privateKey).rawValue, sentence)
                guard isOfChain, !sentence.contains(key) else { return }
            }
        }
        guard hasKey else { return }
        do throws(FileAccessError) {
            _ = try FileAccessRule.secret(readableBy: relay.privateKeyReaders).open(key)
        } catch {
            search.add(Setting.privateKey.rawValue, "The private key \(key) \(error.explanation).")
        }
    }
}
