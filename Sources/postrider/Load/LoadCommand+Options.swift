import PostriderLoad
import PostriderOptions

extension LoadCommand {
    static let table = OptionTable(
        command: "postrider load",
        summary: """
            Drive a server with fleets of providers and devices over the real protocols, and say what \
            happened: rates, latencies, what was lost or came twice, and what the server took for it. \
            Without --directory, --relay or --target it starts a relay of its own on this machine. The exit \
            code is 1 where a notification was lost, came twice or came wrong, where nothing was accepted of \
            all that was pushed, or an expectation was missed.
            """,
        operands: [.optional("SCENARIO|FILE")],
        options: planOptions + place + report,
        sections: [
            .init("Scenarios", LoadScenario.allCases.map { ($0.rawValue, $0.summary) })
        ],
        examples: [
            .init("As fast as a relay on this machine goes", "postrider load"),
            .init(
                "At a rate, as a check with an exit code",
                "postrider load push --rate 2000 --for 30s --expect 'p99<5ms,lost=0'"),
            .init(
                "Pushes to nobody: what a server takes to accept one",
                "postrider load push --absent --now-or-never"),
            .init("What 15,000 connected devices cost", "postrider load idle --devices 15000"),
            .init(
                "Any server that speaks the APNs provider API",
                "postrider load push --target https://localhost:2197 --provider-only --ca ca.pem "
                    + "--tokens tokens.txt"
            ),
        ]
    )

    /// The options from which a plan is made. A scenario file replaces all of them.
    static let planOptions = fleet + pace

    private static let fleet: [Option] = [
        .value(
            "devices", "NUMBER", "Devices; 1000 if not given. Each takes a descriptor, here and at the relay."
        ),
        .value("apps", "NUMBER", "Apps on each device; 1 if not given."),
        .value("providers", "NUMBER", "Connections of providers; 4 if not given."),
        .value("streams", "NUMBER", "Requests that each of them has open at most; 250 if not given."),
        .value("threads", "NUMBER", "Event loops that drive the fleet; 1 if not given."),
        .value(
            "sources", "NUMBER", "Addresses from 127.0.0.2 upward that devices connect from; 16 if not given."
        ),
        .value(
            "connect-rate", "NUMBER",
            "Connections that devices begin a second at most; as many as there is time for if not given."),
        .value("seed", "NUMBER", "Makes the choices at random others; 1 if not given."),
    ]

    private static let pace: [Option] = [
        .value(
            "rate", "NUMBER",
            "Pushes a second, whatever becomes of them; latencies count from when they are due."),
        .value(
            "in-flight", "NUMBER",
            "Pushes under way at once: sent, and not yet answered and on the device; providers × streams if "
                + "neither this nor --rate is given, and the scenario has no rate of its own."),
        .value(
            "for", "TIME",
            "How long the main phase lasts, such as 500ms, 10s, 5m; in 'storm' each of those around it, in "
                + "'mixed' the day. What there is without it is in docs/operate/load.md."),
        .value(
            "count", "NUMBER",
            "Pushes, or broadcasts, after which no more are made; in 'push', 'offline' and 'fanout' in place "
                + "of --for."),
        .value("warm-up", "TIME", "How long 'push' pushes before it measures; 1s if not given."),
        .value("payload", "BYTES", "Bytes of the payload; 200 if not given."),
        .flag("absent", "Devices are away while 'push' pushes to them."),
        .flag("now-or-never", "apns-expiration: 0; nothing is kept for those who are not there."),
    ]

    private static let place: [Option] =
        [
            .file(
                "directory", short: "d", as: "FOLDER",
                "The folder of a 'postrider dev' that runs: its relay is driven, and rid of the devices at "
                    + "the end."),
            .flag("keep-devices", "They stay at the relay of --directory, with what waits for them."),
            .value(
                "relay", "HOST:PORT", "A relay that runs, where its providers connect; with --device-relay."),
            .value("device-relay", "ADDRESS:PORT", "Where its devices connect."),
        ] + ControlAddress.options + [
            .file(
                "relay-directory", as: "FOLDER", "Where the own relay keeps its data; removed if not given."),
            .list(
                "relay-setting", "NAME=VALUE",
                "A setting of the own relay, such as shards=1 or trace=false."),
            .value(
                "relay-processors", "LIST",
                "Processors that the own relay may run on, as taskset writes them."),
            .value(
                "processors", "LIST",
                "Processors that the event loops are pinned to, by turns, such as 1 or 2,3."
            ),
            .value(
                "target", "HOST:PORT", "Another server with the APNs provider API, also as https://HOST:PORT."
            ),
            .flag("provider-only", "The server of --target is pushed to, and has no devices of this fleet."),
            .file(
                "tokens", "Device tokens to push to, in hexadecimal digits; made up if not given."),
            .value(
                "topic", "TOPIC", "The app that pushes to --target are for; com.example.load if not given."),
            .file(
                "key-file",
                "The team's private key for --target, as Apple's .p8; made up if not given."),
            .value("key-id", "ID", "The identifier of the key."),
            .value("team-id", "ID", "The team that owns it."),
            .file(
                "certificate",
                "A client certificate that stands in for provider tokens at --target, PEM."),
            .file("private-key", "The certificate's key, PEM."),
            .file(
                "ca", "The certificate authority to trust, PEM; if not given, those of this system."),
            .value("server-name", "NAME", "The name in the server's certificate, if it is not the host."),
            .value("process", "NUMBER", "The server's process on this machine, to see what it uses."),
        ]

    private static let report: [Option] = [
        .flag("json", "Print the result as one line of JSON (docs/reference/load-result.md)."),
        .file("save", "Write the result as JSON, besides."),
        .file("report", "Write a page of HTML with plots, besides."),
        .file("baseline", "Compare with an earlier result, of --save or --json."),
        .list(
            "expect", "LIST",
            "What must hold, such as 'p99<5ms,lost=0,accepted/s>100k'; if it does not, the exit code is 1."),
    ]
}
