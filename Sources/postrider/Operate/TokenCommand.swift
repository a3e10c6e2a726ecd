import FoundationEssentials
import PostriderClients
import PostriderCommands
import PostriderNotifications
import PostriderOptions

/// `postrider token`: prints a provider token for the `authorization` header, for providers without a library.
enum TokenCommand: Command {
    static let name = "token"
    static let summary = "Print a provider token for curl."

    static func run(_ arguments: [String]) async throws -> Int32 {
        guard let options = try table.parseOrHelp(arguments) else { return 0 }
        Console.say(try token(options, now: Date()))
        return 0
    }

    private static func token(_ options: ParsedOptions, now: Date) throws -> String {
        let names = ["key-file", "key-id", "team-id"]
        let given = names.filter(options.isSet)
        if given.isEmpty {
            let folder = DevFolder(options.string("directory") ?? DevFolder.usualPath)
            guard FileManager.default.fileExists(atPath: folder.providerKeyFile) else {
                throw options.isSet("directory")
                    ? options.withoutDev(in: folder.path)
                    : options.knowingNo("key", give: "--key-file, --key-id and --team-id")
            }
            return try token(
                keyFile: folder.providerKeyFile, key: DevFolder.keyIdentifier, team: DevFolder.team, now: now)
        }
        guard !options.isSet("directory") else {
            throw options.error("--directory stands for --\(given[0]); give one of them")
        }
        return try token(
            keyFile: options.requiredString("key-file"), key: options.requiredString("key-id"),
            team: options.requiredString("team-id"), now: now)
    }

    private static func token(keyFile: String, key: String, team: String, now: Date) throws -> String {
        try ProviderTokenMaker.reading(keyFile, key: key, team: team)
            .makeToken(issuedAt: Moment(seconds: Int64(now.timeIntervalSince1970)))
    }

    static let table = OptionTable(
        command: "postrider token",
        summary: """
            Print a provider token: a JSON Web Token, signed with a team's key and good for an hour. Without \
            options it is for the relay of 'postrider dev'.
            """,
        options: [
            .file("key-file", "The team's private key, as Apple's .p8."),
            .value("key-id", "ID", "The identifier of the key."),
            .value("team-id", "ID", "The team that owns the key."),
            .file(
                "directory", short: "d", as: "FOLDER",
                "The folder of 'postrider dev'; \(DevFolder.usualPath) if no option is given."),
        ],
        examples: [
            .init(
                "Push with curl to the relay of 'postrider dev'",
                #"curl --http2 -H "authorization: bearer $(postrider token)" ..."#),
            .init(
                "For a relay of your own",
                "postrider token --key-file AuthKey_ABC123DEFG.p8 --key-id ABC123DEFG --team-id DEF123GHIJ"),
        ]
    )
}
