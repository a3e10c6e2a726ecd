import Crypto
import Foundation
import Options
import Relay

/// `postrider keys`: the keys whose tokens providers may push with.
enum KeysCommand: OperatorCommand {
    static let name = "keys"
    static let summary = "List, add and remove the keys of providers."
    static let actions = [
        OperatorAction(name, "list", "List the keys.") { options, client in
            let (keys, text) = try await client.list("/v1/keys", of: [Control.ProviderKey].self)
            if options.isSet("json") {
                Console.say(text)
            } else {
                Console.say(
                    Listing.columns(
                        ["KEY", "TEAM", "ADDED"],
                        keys.map { [$0.identifier, $0.team, Listing.time($0.addedAt)] }))
            }
        },
        OperatorAction(
            name, "add",
            "Let a team's key push, from a .p8 or public PEM file; only its public half is sent.",
            operands: [.required("FILE")],
            options: [
                .value(
                    "key-id", "ID", "The key's identifier; the file's name tells it if it is AuthKey_ID.p8."),
                .value("team-id", "ID", "The team that owns the key."),
            ],
            examples: [
                .init(
                    "A key as Apple names its files",
                    "postrider keys add AuthKey_ABC123DEFG.p8 --team-id DEF123GHIJ"),
                .init(
                    "A public key", "postrider keys add provider.pem --key-id ABC123DEFG --team-id DEF123GHIJ"
                ),
            ]
        ) { options, client in
            let file = options.operands[0]
            let team = try options.requiredString("team-id")
            let identifier = try options.string("key-id") ?? Self.identifier(ofFile: file, options)
            let addition = Control.ProviderKeyAddition(
                team: team, publicKey: try Self.publicKey(in: FileText.read(file, "The key file"), file))
            let answer = try await client.request(
                "PUT", "/v1/keys/\(try options.checked(identifier))", body: Array(Console.json(addition).utf8)
            )
            options.say(answer, "Key \(identifier) of team \(team) may push.")
        },
        OperatorAction(
            name, "remove", "Let a key push no longer.", operands: [.required("KEY-ID")],
            examples: [.init("A key that was lost", "postrider keys remove ABC123DEFG")]
        ) { options, client in
            let identifier = try options.checked(options.operands[0])
            let answer = try await client.request("DELETE", "/v1/keys/\(identifier)")
            options.say(answer, "Key \(identifier) may not push any more.")
        },
    ]

    /// The identifier in the name of a file as Apple gives it out.
    static func identifier(ofFile file: String, _ options: ParsedOptions) throws -> String {
        let name = URL(filePath: file).lastPathComponent
        guard let match = name.wholeMatch(of: /AuthKey_([A-Za-z0-9]+)\.p8/) else {
            throw options.error("--key-id is missing; the name of \(name) does not tell it")
        }
        return String(match.1)
    }

    /// The public half of the key in a PEM text, whichever half is there.
    static func publicKey(in pem: String, _ file: String) throws -> String {
        do throws(CryptoError) {
            return pem.contains("-----BEGIN PUBLIC KEY-----")
                ? try ES256.PublicKey(pem: pem).pem : try ES256.PrivateKey(pem: pem).publicKey.pem
        } catch {
            throw CommandFailure("The key file \(file) cannot be used: \(error).")
        }
    }
}
