import PostriderCommands
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
            .init("The highest rate of a relay on this machine", "postrider load"),
            .init(
                "A fixed rate, as a check with an exit code",
                "postrider load push --rate 2000 --for 30s --expect 'p99<5ms,lost=0'"),
            .init(
                "Pushes to unknown devices: the cost of accepting a push",
                "postrider load push --absent --now-or-never"),
            .init(
                "What a load meets on a bad day",
                "postrider load --rate 100 --for 1m --scenario deploy/scenarios/outage.yaml"),
            .init("The cost of 15,000 connected devices", "postrider load idle --devices 15000"),
            .init(
                "10,000 devices of a group, for 'postrider send -d wakes --tag lobby'",
                "postrider load idle --devices 10000 --tag lobby --for 10m --relay-directory wakes"),
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
            "devices", "NUMBER",
            "The number of devices; 1000 if not given. Each needs one descriptor here and one at the "
                + "relay."
        ),
        .value("apps", "NUMBER", "Apps on each device; 1 if not given."),
        .value("providers", "NUMBER", "The number of provider connections; 4 if not given."),
        .value("streams", "NUMBER", "The most open requests of one provider connection; 250 if not given."),
        .value("threads", "NUMBER", "Event loops that drive the fleet; 1 if not given."),
        .value(
            "sources", "NUMBER",
            "The number of addresses, from 127.0.0.2 upward, from which devices connect; 16 if not given."
        ),
        .value(
            "connect-rate", "NUMBER",
            "The most connections that devices begin per second; no limit if not given."),
        .value("seed", "NUMBER", "The seed of all random choices; 1 if not given."),
    ]

    private static let pace: [Option] = [
        .value(
            "rate", "NUMBER",
            "Pushes per second, sent on schedule even if the relay is slow; latencies count from the "
                + "scheduled times."),
        .value(
            "in-flight", "NUMBER",
            "The most pushes that are sent but not yet both answered and on the device; providers × "
                + "streams if neither this nor --rate is given and the scenario has no rate."),
        .value(
            "for", "TIME",
            "The length of the main phase, such as 500ms, 10s or 5m; in 'storm' that of the phases "
                + "before and after it, in 'mixed' that of the day. docs/operate/load.md has the values "
                + "if not given."
        ),
        .value(
            "count", "NUMBER",
            "The number of pushes or broadcasts, in place of --for; for 'push', 'offline' and 'fanout'."),
        .value("warm-up", "TIME", "The time for which 'push' pushes before it measures; 1s if not given."),
        .value("payload", "BYTES", "The size of the payload in bytes; 200 if not given."),
        .flag("absent", "In 'push', the devices are away during the pushes."),
        .flag("now-or-never", "Send apns-expiration: 0; the relay stores nothing for devices that are away."),
    ]

    private static let place: [Option] =
        [
            .file(
                "directory", short: "d", as: "FOLDER",
                "The folder of a running 'postrider dev' whose relay is loaded; the devices are removed "
                    + "from it at the end."),
            .list(
                "tag", "TAG",
                "A tag of the devices; can be repeated. Devices with tags take the pushes of others too, "
                    + "such as those of 'postrider send --tag', and report them as taken."),
            .flag("keep-devices", "Leave the devices and their notifications at the relay of --directory."),
            .value(
                "relay", "HOST:PORT", "A running relay's port for providers; with --device-relay."),
            .value("device-relay", "ADDRESS:PORT", "That relay's port for devices."),
        ] + ControlAddress.options + [
            .file(
                "relay-directory", as: "FOLDER",
                "The data directory of the relay that this command starts; a temporary one if not given."),
            .list(
                "relay-setting", "NAME=VALUE",
                "A setting of the relay that this command starts, such as shards=1 or trace=false."),
            .file(
                "scenario",
                "A file of rules that the relay that this command starts applies to the pushes, such as "
                    + "those in deploy/scenarios. SCENARIO or FILE is the load, and this is what the "
                    + "relay does to it."),
            .value(
                "relay-processors", "LIST",
                "The processors of the relay that this command starts, in the notation of taskset."),
            .value(
                "processors", "LIST",
                "The processors of this command's event loops, in turn, such as 1 or 2,3."
            ),
            .value(
                "target", "HOST:PORT",
                "Another server with the APNs provider API; https://HOST:PORT is possible too."
            ),
            .flag("provider-only", "Only push to the server of --target; the fleet has no devices there."),
            .file(
                "tokens",
                "A file of device tokens to push to, in hexadecimal digits; invented ones if not given."),
            .value(
                "topic", "TOPIC", "The topic of pushes to --target; com.example.load if not given."),
            .file(
                "key-file",
                "The team's private key for --target, as Apple's .p8; a new one if not given."),
            .value("key-id", "ID", "The identifier of the key."),
            .value("team-id", "ID", "The team that owns it."),
            .file(
                "certificate",
                "A client certificate for --target, in place of provider tokens, PEM."),
            .file("private-key", "The certificate's key, PEM."),
            .file(
                "ca", "The certificate authority to trust, PEM; if not given, those of this system."),
            .value("server-name", "NAME", "The name in the server's certificate, if it is not the host."),
            .value(
                "process", "NUMBER",
                "The server's process on this machine; its CPU time and memory are measured."),
        ]

    private static let report: [Option] = [
        .flag("json", "Print the result as one line of JSON (docs/reference/load-result.md)."),
        .file("save", "Also write the result to this file, as JSON."),
        .file("report", "Also write a page of HTML with plots."),
        .file("baseline", "Compare with an earlier result of --save or --json."),
        .list(
            "expect", "LIST",
            "Conditions such as 'p99<5ms,lost=0,accepted/s>100k'; the exit code is 1 if one does not "
                + "hold."),
    ]
}
