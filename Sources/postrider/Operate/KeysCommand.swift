import FoundationEssentials
import PostriderCommands
import PostriderCrypto
import PostriderNotifications
import PostriderOptions
import PostriderRelay

/// `postrider keys`: manages the keys that sign provider tokens.
enum KeysCommand: OperatorCommand {
    static let name = "keys"
    static let summary = "List, add, revoke and remove the keys of providers."
    static let actions = [
        OperatorAction(name, "list", "List the keys.") { options, client in
            let (keys, text) = try await client.list("/v1/keys", of: [Control.ProviderKey].self)
            if options.isSet("json") {
                Console.say(text)
            } else {
                Console.say(
                    Listing.columns(
                        ["KEY", "TEAM", "ENVIRONMENT", "TOPICS", "RELATED", "ADDED", "ENDS", "REVOKED"],
                        keys.map(Self.row)))
            }
        },
        OperatorAction(
            name, "add",
            "Add a team's key from a .p8 file or a public PEM file; only the public key is sent.",
            operands: [.required("FILE")],
            options: [
                .value(
                    "key-id", "ID", "The key's identifier; not needed if the file's name is AuthKey_ID.p8."),
                .value("team-id", "ID", "The team that owns the key."),
                .value(
                    "environment", "NAME",
                    "The environment of the key: development or production; both if not given."),
                .list(
                    "topic", short: "t", "TOPIC",
                    "A topic of the key, with its suffix; all topics of the team if not given."),
                .value(
                    "related", "KEY-ID",
                    "A topic-specific key whose tokens may share a connection with tokens of this one."),
                .flag(
                    "replace",
                    "Replace another key of this identifier, or the same key of another team; refused if not "
                        + "given."),
            ] + Option.keyEnds,
            examples: [
                .init(
                    "A key in a file with Apple's name",
                    "postrider keys add AuthKey_ABC123DEFG.p8 --team-id DEF123GHIJ"),
                .init(
                    "A public key", "postrider keys add provider.pem --key-id ABC123DEFG --team-id DEF123GHIJ"
                ),
                .init(
                    "A key for one topic in production",
                    "postrider keys add AuthKey_ABC123DEFG.p8 --team-id DEF123GHIJ --environment production "
                        + "--topic com.example.app"),
            ]
        ) { options, client in
            let file = options.operands[0]
            let team = try options.requiredString("team-id")
            let identifier = try options.string("key-id") ?? Self.identifier(ofFile: file, options)
            let topics = options.list("topic")
            let addition = Control.ProviderKeyAddition(
                team: team, publicKey: try Self.publicKey(in: FileText.read(file, "The key file"), file),
                environment: try options.choice("environment"), topics: topics.isEmpty ? nil : topics,
                relatedKey: options.string("related"), replaces: options.isSet("replace") ? true : nil,
                endsAt: try options.keyEnd())
            let answer = try await client.request(
                "PUT", "/v1/keys/\(try options.checked(identifier))", body: Array(Console.json(addition).utf8)
            )
            options.say(answer, "Key \(identifier) of team \(team) may push.")
        },
        OperatorAction(
            name, "revoke", "Stop a key from pushing; its pushes are refused as Forbidden.",
            operands: [.required("KEY-ID")],
            examples: [.init("A key that another key has replaced", "postrider keys revoke ABC123DEFG")]
        ) { options, client in
            let identifier = try options.checked(options.operands[0])
            let answer = try await client.request("PUT", "/v1/revoked-keys/\(identifier)")
            options.say(answer, "Key \(identifier) is revoked.")
        },
        OperatorAction(
            name, "remove", "Remove a key; tokens that it signed are refused like those of an unknown key.",
            operands: [.required("KEY-ID")],
            examples: [.init("A key that was lost", "postrider keys remove ABC123DEFG")]
        ) { options, client in
            let identifier = try options.checked(options.operands[0])
            let answer = try await client.request("DELETE", "/v1/keys/\(identifier)")
            options.say(answer, "Key \(identifier) may not push any more.")
        },
    ]

    /// The row of a key in the list.
    private static func row(_ key: Control.ProviderKey) -> [String] {
        [
            key.identifier, key.team, key.environment?.rawValue ?? "both",
            key.topics.map { $0.count == 1 ? $0[0] : "\($0.count) topics" } ?? "all of the team",
            key.relatedKey ?? "", Listing.time(key.addedAt), key.endsAt.map(Listing.time) ?? "-",
            key.revokedAt.map(Listing.time) ?? "",
        ]
    }

    /// The key identifier in a file name as Apple's downloads have it.
    static func identifier(ofFile file: String, _ options: ParsedOptions) throws -> String {
        let name = URL(filePath: file).lastPathComponent
        let (beginning, end) = ("AuthKey_", ".p8")
        let identifier = name.dropFirst(beginning.count).dropLast(end.count)
        guard name.hasPrefix(beginning), name.hasSuffix(end), !identifier.isEmpty,
            identifier.utf8.allSatisfy(\.isLetterOrDigit)
        else { throw options.error("--key-id is missing; the name of \(name) does not tell it") }
        return String(identifier)
    }

    /// The public key in a PEM text that contains a public or a private key.
    static func publicKey(in pem: String, _ file: String) throws -> String {
        do throws(CryptoError) {
            return pem.contains("-----BEGIN PUBLIC KEY-----")
                ? try ES256.PublicKey(pem: pem).pem : try ES256.PrivateKey(pem: pem).publicKey.pem
        } catch {
            throw CommandFailure("The key file \(file) cannot be used: \(error).")
        }
    }
}
