import FoundationEssentials
import PostriderTransport

/// Everything that somebody needs to use the relay of `postrider dev`: printed by its --json, and kept in its folder
/// for the commands that use it when they are given nothing else.
struct DevValues: Codable, Equatable {
    /// Where to connect to all ports from this machine.
    var host: String
    /// Names and addresses that the relay's certificate is for, besides those of this machine; nil if an earlier
    /// version wrote the values.
    var names: [String]?
    /// Where providers connect for the production environment.
    var providerPort: UInt16
    /// Where providers connect for the development environment.
    var developmentProviderPort: UInt16
    /// Where devices connect.
    var devicePort: UInt16
    /// The certificate to trust.
    var authorityFile: String
    /// The provider's key, as Apple's .p8.
    var keyFile: String
    /// The `kid` of the key.
    var keyIdentifier: String
    /// The certificate that a provider can show in place of a token, and its key.
    var providerCertificateFile: String
    /// The key of that certificate alone.
    var providerCertificateKeyFile: String
    /// The same with an RSA key, for libraries that load no other; nil if an earlier version wrote the values.
    var providerRSACertificateFile: String?
    /// The key of that certificate alone, likewise.
    var providerRSACertificateKeyFile: String?
    /// The team that owns the key and the topics.
    var team: String
    /// What pushes can be for.
    var topics: [String]
    /// What devices enrol with.
    var enrolmentKey: String
    /// A file with the same, for commands that do not take secrets as arguments.
    var enrolmentKeyFile: String
    /// Where the operator's commands connect: `unix:` and a path.
    var controlAddress: String
    /// Where the metrics are told: an address and its port, or `unix:` and a path; nil: nowhere.
    var metricsAddress: String?
    /// The process.
    var process: Int32

    /// The same as an address.
    var control: SocketAddress { get throws { try SocketAddress(controlAddress) } }

    /// What the last `postrider dev` of a folder said; nil where there was none.
    static func read(from folder: DevFolder) throws -> DevValues? {
        guard let text = try FileText.readIfThere(folder.valuesFile) else { return nil }
        do {
            return try JSONDecoder().decode(DevValues.self, from: Data(text.utf8))
        } catch {
            throw CommandFailure(
                "The file \(folder.valuesFile) is damaged: run 'postrider dev' to write it anew.")
        }
    }

    /// Keeps them for other commands.
    func write(to folder: DevFolder) throws {
        try FileText.write(try Console.json(self) + "\n", to: folder.valuesFile)
    }

    /// Lines for a person to copy.
    ///
    /// - Parameters:
    ///   - program: how the user called the program.
    ///   - folder: as the user would write it, behind `--directory`; nil: the usual one.
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

            Devices of your own enrol with the key in \(enrolmentKeyFile).
            Look inside with '\(program) status\(controlChoice(folder))'.
            Control-C ends the relay; the folder stays.
            """
    }

    private func controlChoice(_ folder: String?) -> String {
        folder == nil ? "" : " --control \(Self.quoted(controlAddress))"
    }

    /// A word for a shell.
    private static func quoted(_ word: String) -> String {
        let isPlain = word.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "/"), UInt8(ascii: "."),
                UInt8(ascii: "_"),
                UInt8(ascii: "-"), UInt8(ascii: ":"), UInt8(ascii: "@"), UInt8(ascii: "="), UInt8(ascii: ","):
                true
            default: false
            }
        }
        return isPlain ? word : "'" + word.replacing("'", with: #"'\''"#) + "'"
    }
}
