import PostriderCluster
import PostriderCommands
import PostriderNotifications
import PostriderOptions

/// `postrider certificates`: an authority of the operator's own, and the certificates that it signs.
enum CertificatesCommand: OperatorCommand {
    static let name = "certificates"
    static let summary = "Make, renew and list the certificates of a relay and of providers."

    static let actions = [
        OperatorAction(
            withoutServer: name, "make",
            """
            Make an authority in a folder, if it has none, and certificates that it signs (P-256): the \
            relay's for --name, a provider's for --topic, a node's for --node. Existing certificates stay as \
            they are.
            """,
            operands: [.required("FOLDER")],
            options: [
                .list(
                    "name", short: "n", "NAME",
                    "A host name or IP address at which the relay is reached, besides those of its own "
                        + "machine."
                ),
                .list(
                    "topic", short: "t", "TOPIC",
                    "An app to which a provider with the certificate may push."),
                .list(
                    "node", "NAME",
                    "A node of a cluster. Give the nodes an authority of their own, in a folder of its own."),
                .value("days", "NUMBER", "How many days they are valid; 365 if not given."),
                .value(
                    "authority-days", "NUMBER",
                    "How many days a new authority is valid; 3650 if not given."),
            ],
            examples: [
                .init(
                    "A relay's", "postrider certificates make certificates --name relay.example.net"),
                .init(
                    "A provider's, by the same authority",
                    "postrider certificates make certificates --topic com.example.app"),
            ],
            run: make),
        OperatorAction(
            withoutServer: name, "renew",
            """
            Renew the certificates in a folder that have few days left: new keys, the same names, for as \
            long as before. Owner and mode of the files stay. The authority keeps its key; what it signed is \
            valid with both of its certificates.
            """,
            operands: [.required("FOLDER")],
            options: [
                .value(
                    "days-left", "NUMBER",
                    "Renew what has at most this number of days left; 30 if not given.")
            ],
            examples: [
                .init(
                    "Once a day by a timer, as root",
                    "postrider certificates renew /etc/postrider && systemctl reload postrider")
            ],
            run: renew),
        OperatorAction(
            withoutServer: name, "list", "List the certificates in a folder, and how long they are valid.",
            operands: [.required("FOLDER")],
            options: [.flag("json", "Print JSON.")],
            run: list),
    ]

    private static let days = 1...36_500

    private static func make(_ options: ParsedOptions) throws {
        let folder = CertificateFolder(options.operands[0])
        let names = options.list("name")
        let topics = try options.list("topic").map { text in
            guard let topic = Topic(text) else {
                throw options.error("--topic must be an app's bundle identifier, not '\(text)'")
            }
            return topic
        }
        let nodes = try options.list("node").map { text in
            guard let name = NodeName(text) else {
                throw options.error(
                    "--node must be a name of at most \(NodeName.mostBytes) lower-case letters, digits, "
                        + "hyphens and dots, not '\(text)'")
            }
            return name
        }
        guard !names.isEmpty || !topics.isEmpty || !nodes.isEmpty else {
            throw options.error(
                "give --name for a relay's certificate, --topic for a provider's, --node for a node's")
        }
        let validDays = try options.integer("days", in: days) ?? 365
        let authorityDays = try options.integer("authority-days", in: days) ?? 3650
        if try folder.makeAuthority(validDays: authorityDays) {
            Console.say(
                """
                \(folder.certificate(.authority)): devices and providers trust the relay by it.
                \(folder.key(.authority)): signs certificates. Keep it where nobody else can read it.
                """)
        }
        if !names.isEmpty {
            try folder.makeRelay(names: names, validDays: validDays)
            Console.say(
                "\(folder.certificate(.relay)), \(folder.key(.relay)): the relay's, as 'certificate' and "
                    + "'private-key'.")
        }
        if !topics.isEmpty {
            try folder.makeProvider(topics: topics, validDays: validDays)
            Console.say(
                "\(folder.certificate(.provider)), \(folder.key(.provider)): a provider's; the relay "
                    + "takes it with 'provider-trust: \(folder.certificate(.authority))'.")
        }
        for node in nodes {
            try folder.makeNode(node, validDays: validDays)
            let name = CertificateFolder.Name.node(node.text)
            Console.say(
                "\(folder.certificate(name)), \(folder.key(name)): those of node \(node), as "
                    + "'cluster-certificate' and 'cluster-key', with "
                    + "'cluster-trust: \(folder.certificate(.authority))'.")
        }
    }

    private static func renew(_ options: ParsedOptions) throws {
        let folder = CertificateFolder(options.operands[0])
        let daysLeft = try options.integer("days-left", in: 0...36_500) ?? 30
        let renewed = try folder.renew(daysLeft: daysLeft)
        for name in renewed { Console.say("\(folder.certificate(name)) is renewed.") }
        if renewed.isEmpty { Console.say("Nothing has \(daysLeft) days left or fewer.") }
        if renewed.contains(.authority) {
            Console.say(
                "Give the new \(folder.certificate(.authority)) to devices and providers before the old one "
                    + "ends."
            )
        }
    }

    private static func list(_ options: ParsedOptions) throws {
        let entries = try CertificateFolder(options.operands[0]).list()
        guard !options.isSet("json") else { return _ = Console.say(try Console.json(entries)) }
        Console.say(
            Listing.columns(
                ["CERTIFICATE", "SUBJECT", "FOR", "VALID UNTIL", "DAYS LEFT"],
                entries.map { [$0.name, $0.subject, $0.names, $0.validUntil, "\($0.daysLeft)"] }))
    }
}
