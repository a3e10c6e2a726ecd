import PostriderOptions

extension SendCommand {
    static let table = OptionTable(
        command: "postrider send",
        summary: """
            Push to one or more devices, and print for each what the relay answered: status, apns-id, \
            reason. The exit code is 0 if all were accepted. Without --relay it is for the relay of \
            'postrider dev', and only the device token and something to show must be given. On the relay's \
            machine, its control socket takes pushes for every topic without a provider's key.
            """,
        operands: [.any("DEVICE-TOKEN")],
        options: content + SendGroup.options + headers + RelayResolver.options(.provider) + provider
            + SendWait.options
            + ControlAddress.options + [
                .flag("json", "Print a line of JSON for each device.")
            ],
        examples: [
            .init(
                "Push to a device of the relay of 'postrider dev'",
                "postrider send --title Hello --body 'from postrider' 5f3c...9a"),
            .init(
                "Push a payload of your own to any relay",
                "postrider send --relay push.example.org:2197 --ca ca.pem --key-file AuthKey_ABC123DEFG.p8 "
                    + "--key-id ABC123DEFG --team-id DEF123GHIJ --topic org.example.app "
                    + "--payload-file payload.json 5f3c...9a"),
            .init(
                "Push to all devices that are subscribed to a channel",
                "postrider send --channel X0bcPy4BEe+g7WASYbOTkQ== --payload '{\"aps\":{}}'"),
            .init(
                "Wake a device, and wait until its handler has ended well",
                "postrider send --wait done --timeout 2m --alert wake 5f3c...9a"),
            .init(
                "Push to a group, on the relay's machine, and wait until 95% of the devices are done",
                "postrider send --tag lobby --topic com.example.app --alert refresh --wait done --quorum 95%"
            ),
            .init(
                "Wake an app in the background, now or never",
                "postrider send --push-type background --priority 5 --expiration 0 "
                    + #"--payload '{"aps":{"content-available":1}}' 5f3c...9a"#),
        ]
    )

    private static let content: [Option] = [
        .value("alert", "TEXT", "What to show, as one text."),
        .value("title", "TEXT", "The title of what to show."),
        .value("body", "TEXT", "The body of what to show."),
        .value("payload", "JSON", "The whole payload, sent as it is."),
        .file("payload-file", "A file with the whole payload, sent as it is."),
    ]

    private static let headers: [Option] = [
        .list("token", "DEVICE-TOKEN", "A device token, if it does not stand at the end of the line."),
        .list("channel", "CHANNEL", "A channel to broadcast to, in place of devices."),
        .value("topic", "TOPIC", "The app that the push is for."),
        .value("push-type", "TYPE", "apns-push-type; alert with --alert, --title and --body."),
        .value("priority", "NUMBER", "apns-priority: 10, 5 or 1."),
        .value("expiration", "SECONDS", "apns-expiration, since 1970; 0: now or never."),
        .value("collapse-id", "TEXT", "apns-collapse-id."),
        .value("apns-id", "UUID", "apns-id; for one device only."),
        .value(
            "timeout", "TIME",
            "How long to wait, such as 30s or 2m, or a number of seconds: for the relay's answer, 20s if not "
                + "given; with --wait for all of it, 30s if not given."),
    ]

    static let provider: [Option] = [
        .value(
            "environment", "NAME",
            "production (if not given) or development: which port of 'postrider dev' is meant."),
        .file("key-file", "The team's private key, as Apple's .p8."),
        .value("key-id", "ID", "The identifier of the key."),
        .value("team-id", "ID", "The team that owns it."),
    ]
}
