import PostriderCommands
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
                "Start a handler on a device and wait until it has succeeded",
                "postrider send --wait done --timeout 2m --alert wake 5f3c...9a"),
            .init(
                "Push to a group, on the relay's machine, and wait until 95% of the devices are done",
                "postrider send --tag lobby --topic com.example.app --alert refresh --wait done --quorum 95%"
            ),
            .init(
                "Push what was captured again, ten times as fast",
                "postrider send --replay day.jsonl --speed 10"),
            .init(
                "Wake an app in the background, only if the device is connected",
                "postrider send --push-type background --priority 5 --expiration 0 "
                    + #"--payload '{"aps":{"content-available":1}}' 5f3c...9a"#),
        ]
    )

    private static let content: [Option] = [
        .value("alert", "TEXT", "The text of the alert."),
        .value("title", "TEXT", "The title of the alert."),
        .value("body", "TEXT", "The body of the alert, below the title."),
        .value("payload", "JSON", "The whole payload, sent as it is."),
        .file("payload-file", "A file with the whole payload, sent as it is."),
        .file(
            "replay",
            "A file of captures, whose pushes are made again at their times, as 'postrider replay FILE' does."
        ),
        ReplayCommand.speed,
    ]

    private static let headers: [Option] = [
        .list("token", "DEVICE-TOKEN", "A device token, in place of an operand at the end of the line."),
        .list("channel", "CHANNEL", "A channel to broadcast to, in place of devices."),
        .value("topic", "TOPIC", "The app that the push is for."),
        .value("push-type", "TYPE", "The apns-push-type; alert if there is --alert, --title or --body."),
        .value("priority", "NUMBER", "The apns-priority: 10, 5 or 1."),
        .value(
            "expiration", "SECONDS",
            "The apns-expiration, in seconds since 1970; 0: delivered only to a connected device."),
        .value("collapse-id", "TEXT", "apns-collapse-id."),
        .value("apns-id", "UUID", "The apns-id; for one device only."),
        .value(
            "timeout", "TIME",
            "The longest wait, such as 30s or 2m, or a number of seconds: for the relay's answer "
                + "(20s if not given), or with --wait for its stage (30s if not given)."),
    ]

    static let provider: [Option] = [
        .value(
            "environment", "NAME",
            "The port of 'postrider dev' to use: production (if not given) or development."),
        .file("key-file", "The team's private key, as Apple's .p8."),
        .value("key-id", "ID", "The identifier of the key."),
        .value("team-id", "ID", "The team that owns the key."),
    ]
}
