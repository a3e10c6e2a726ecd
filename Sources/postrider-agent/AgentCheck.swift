import FoundationEssentials
import PostriderAgent
import PostriderCommands
import PostriderCrypto
import PostriderOptions
import PostriderTLS

/// Finds what is wrong with the configuration of an agent, the files that it names, and the manifests of its apps and
/// handlers. It reads files only, and none in the state directory.
enum AgentCheck {
    /// Settings that name a file which is read with the settings.
    private static let files = [AgentSetting.proxyPasswordFile, .appsDirectory].map(\.rawValue)

    /// One sentence for each mistake.
    static func mistakes(
        _ path: String, _ text: String, environment: [String: String]
    ) throws -> [String] {
        var search = MistakeSearch(path: path, text: text, environment: environment)
        let options = try AgentCommand.table.parse(["--\(AgentSettings.fileOption.name)", path])
        let settings = search.run(files: files) { search in
            try AgentSettings(
                options: options, environment: search.environment,
                readManifests: { directory in
                    _ = try AppManifests.files(in: directory)
                    return []
                }
            ) { file in
                file == path ? search.text : try FileText.readIfThere(file)
            }
        }
        guard let settings else { return search.sentences }
        if let trust = settings.agent.trustFile {
            do throws(CryptoError) {
                _ = try TLSContext.client(trustFile: trust, alpn: [])
            } catch {
                search.add(AgentSetting.ca.rawValue, "\(error)")
            }
        }
        if let file = settings.agent.unreadableKeyFile {
            search.add(
                AgentSetting.enrolmentKeyFile.rawValue, "The file \(file) is there and cannot be read.")
        }
        guard let directory = settings.texts[.appsDirectory] else { return search.sentences }
        return search.sentences + (try manifests(in: directory))
    }

    private static func manifests(in directory: String) throws -> [String] {
        var sentences: [String] = []
        var owners: [String: String] = [:]
        for path in try AppManifests.files(in: directory) {
            let text: String
            do throws(CommandFailure) {
                text = try FileText.readUnchangeable(path, "The manifest")
            } catch {
                sentences.append(error.sentence)
                continue
            }
            var search = MistakeSearch(path: path, text: text)
            let manifest = search.run { try AppManifests.read($0.text, path) }
            if let topic = manifest?.topic, topic != MistakeSearch.substitute(for: "topic"),
                let other = owners.updateValue(path, forKey: topic)
            {
                search.add("topic", "\(other) declares \(topic) too; keep one of them.")
            }
            sentences += search.sentences
        }
        return sentences
    }
}
