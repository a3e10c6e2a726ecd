import FoundationEssentials
import PostriderCommands
import PostriderNotifications
import PostriderTransport

/// What a client needs to use the relay of `postrider dev`. It is printed by --json, and stored in the folder for
/// commands that get no other values.
struct DevValues: Codable, Equatable {
    /// The host of all ports, as seen from this machine.
    var host: String
    /// Names and addresses for which the relay's certificate is valid, beside those of this machine; nil if an
    /// earlier version wrote the values.
    var names: [String]?
    /// The port for providers of the production environment.
    var providerPort: UInt16
    /// The port for providers of the development environment.
    var developmentProviderPort: UInt16
    /// The port for devices.
    var devicePort: UInt16
    /// The file of the certificate to trust.
    var authorityFile: String
    /// The file of the provider's key, in the format of Apple's .p8.
    var keyFile: String
    /// The identifier of the key (`kid`).
    var keyIdentifier: String
    /// The file of a certificate and its key that a provider can use in place of tokens.
    var providerCertificateFile: String
    /// The file of the key of that certificate alone.
    var providerCertificateKeyFile: String
    /// The file of a certificate with an RSA key, for libraries that load no other keys; nil if an earlier version
    /// wrote the values.
    var providerRSACertificateFile: String?
    /// The file of the key of that certificate alone; nil if an earlier version wrote the values.
    var providerRSACertificateKeyFile: String?
    /// The team that owns the key and the topics.
    var team: String
    /// The topics.
    var topics: [String]
    /// The key with which devices enrol.
    var enrolmentKey: String
    /// The file with the enrolment key, for commands that do not accept secrets as arguments.
    var enrolmentKeyFile: String
    /// The control socket for the operator's commands: `unix:` and a path.
    var controlAddress: String
    /// Where metrics are served: an address with a port, or `unix:` and a path; nil for nowhere.
    var metricsAddress: String?
    /// The address and port for captures and rules over HTTP/1.1; nil for none.
    var capturesAddress: String?
    /// The URL with which a browser enrols for Web Push; nil without a web port.
    var webURL: String?
    /// The link that signs in to the console, once; nil if the console is off.
    var consoleLink: String?
    /// The process number of the relay; with `--nodes` of the command that ends them all.
    var process: Int32
    /// The name of the node; nil for a relay alone, and for all nodes together.
    var node: String?
    /// The nodes of a cluster, of which the other values name the first; nil without `--nodes`.
    var nodes: [DevValues]?

    /// The control socket as an address.
    var control: SocketAddress { get throws { try SocketAddress(controlAddress) } }

    /// The values that the last `postrider dev` wrote to a folder; nil if there are none.
    static func read(from folder: DevFolder) throws -> DevValues? {
        guard let text = try FileText.readIfThere(folder.valuesFile) else { return nil }
        do {
            return try JSONDecoder().decode(DevValues.self, from: Data(text.utf8))
        } catch {
            throw CommandFailure(
                "The file \(folder.valuesFile) is damaged: run 'postrider dev' to write it anew.")
        }
    }

    /// Stores the values for other commands.
    func write(to folder: DevFolder) throws {
        try FileText.write(try Console.json(self) + "\n", to: folder.valuesFile)
    }

    /// Commands that a person can copy.
    ///
    /// - Parameters:
    ///   - program: how the user called the program.
    ///   - folder: the value of `--directory` as the user would write it; nil for the default folder.
    func guide(program: String, folder: String?) -> String {
        let choice = folder.map { " --directory \(Self.quoted($0))" } ?? ""
        let topic = topics.first ?? ""
        return """
            The relay is ready. Providers connect to \(host):\(providerPort),
            for the development environment (Apple's sandbox) to \(host):\(developmentProviderPort),
            devices to \(host):\(devicePort).

            1. Start a device; it prints its device token, and then whatever it is sent:

               \(program) device\(choice) --topic \(topic)

            2. Push to it with curl:

               TOKEN=<the device token>
               curl --http2 --cacert \(Self.quoted(authorityFile)) \\
                 -H "authorization: bearer $(\(program) token\(choice))" \\
                 -H 'apns-topic: \(topic)' -H 'apns-push-type: alert' \\
                 -d '{"aps":{"alert":{"title":"Hello","body":"from curl"}}}' \\
                 -i https://\(host):\(providerPort)/3/device/$TOKEN

               or with Postrider's own provider:

               \(program) send\(choice) --topic \(topic) --title Hello --body 'from postrider' $TOKEN

            3. Or point an APNs library at it:

               host             \(host)
               port             \(providerPort)
               CA file          \(authorityFile)
               key file (.p8)   \(keyFile)
               key id           \(keyIdentifier)
               team id          \(team)
               topic            \(topics.joined(separator: ", "))

               or, in place of the key, a client certificate:

               certificate, key \(providerCertificateFile)
               key alone        \(providerCertificateKeyFile)
               with an RSA key  \(providerRSACertificateFile ?? "-")

            \(consoleGuide)Devices of your own enrol with the key in \(enrolmentKeyFile).
            Look inside with '\(program) status\(controlChoice(folder))'.
            Control-C ends the relay; the folder stays.
            """
    }

    private var consoleGuide: String {
        guard let consoleLink else { return "" }
        return "See what happens, in a browser that trusts the CA file; the link is good once:\n\n"
            + "   \(consoleLink)\n\n"
    }

    private func controlChoice(_ folder: String?) -> String {
        folder == nil ? "" : " --control \(Self.quoted(controlAddress))"
    }

    /// Quotes a word for a shell.
    static func quoted(_ word: String) -> String {
        let isPlain = word.utf8.allSatisfy { $0.isLetterOrDigit || "/._-:@=,".utf8.contains($0) }
        return isPlain ? word : "'" + word.replacing("'", with: #"'\''"#) + "'"
    }
}
