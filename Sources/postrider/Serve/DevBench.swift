import PostriderCommands
import PostriderNotifications
import PostriderOptions
import PostriderRelay
import PostriderRuleFiles
import PostriderRules
import PostriderTransport
import PostriderYAML

/// The test features of a relay for tests: captures, rules, and fixed device tokens.
enum DevBench {
    /// The test features that the user of `postrider dev` has asked for; nil with `--capture false`.
    static func make(_ options: ParsedOptions) throws -> TestBench? {
        if let text = options.string("capture"), text != "true" {
            guard text == "false" else {
                throw options.error("--capture must be true or false, not '\(text)'")
            }
            for other in ["any-token", "rules", "scenario", "capture-secrets", "upstream"]
            where options.isSet(other) {
                throw options.error("--\(other) needs captures; leave --capture out")
            }
            return nil
        }
        if options.isSet("rules"), options.isSet("scenario") {
            throw options.error("--rules and --scenario are both files of rules; give one of them")
        }
        let upstream = try UpstreamServer(options)
        if upstream != nil, options.isSet("any-token") {
            throw options.error(
                "--any-token is for requests that this relay answers; with --upstream the other server does")
        }
        let file = options.string("scenario") ?? options.string("rules")
        return make(
            try file.map(rules) ?? RuleList(), acceptsAnyToken: options.isSet("any-token"),
            keepsSecrets: options.isSet("capture-secrets"), upstream: upstream)
    }

    /// Reads a file of rules.
    static func rules(_ file: String) throws -> RuleList {
        let text = try FileText.read(file, "The file of rules")
        do throws(YAMLError) {
            return try RuleList.reading(text, file: file)
        } catch {
            throw CommandFailure(error.description, exitCode: 2)
        }
    }

    /// Makes test features whose rules can be replaced over the control socket.
    static func make(
        _ rules: RuleList = RuleList(), acceptsAnyToken: Bool = false, keepsSecrets: Bool = false,
        upstream: UpstreamServer? = nil
    ) -> TestBench {
        TestBench(
            rules: rules, acceptsAnyToken: acceptsAnyToken, keepsSecrets: keepsSecrets, upstream: upstream
        ) {
            text throws(TestBench.RuleMistake) in
            do throws(YAMLError) {
                return try RuleList.reading(text, file: "rules")
            } catch {
                throw TestBench.RuleMistake(error.description)
            }
        }
    }

    /// Starts to serve captures and rules over HTTP/1.1; nil without `--captures-address`.
    ///
    /// - Parameter names: the host names of the relay.
    static func serve(
        _ bench: TestBench?, _ options: ParsedOptions, names: [String]
    ) throws -> CapturesService? {
        guard let text = options.string("captures-address"), text != "off" else { return nil }
        guard let address = try? SocketAddress(text) else {
            throw options.error(
                "--captures-address must be off, or an address and a port such as "
                    + "\(CapturesService.usualAddress), not '\(text)'"
            )
        }
        guard let bench else { throw options.error("--captures-address needs captures; leave --capture out") }
        return try CapturesService(at: address, bench, names: names)
    }

    /// Reports on stderr how often each rule of a scenario has matched.
    static func tellMatches(of bench: TestBench?) {
        for count in bench?.ruleCounts ?? [] where count.matched > 0 {
            let name = count.name.map { " '\($0)'" } ?? ""
            let pushes = count.considered == 1 ? "push" : "pushes"
            Console.complain(
                "postrider: rule \(count.rule)\(name) matched \(count.matched) of \(count.considered) "
                    + "\(pushes) that fulfilled its conditions")
        }
    }

    /// Logs at the end which rules never matched, because a test that relies on them has tested nothing.
    static func tellUnmatchedRules(of bench: TestBench?, _ log: Log) {
        for count in bench?.ruleCounts ?? [] where count.matched == 0 {
            let name = count.name.map { " '\($0)'" } ?? ""
            let reason =
                switch count.considered {
                case 0: "no push that came to it fulfilled its conditions"
                case 1: "1 push fulfilled its conditions, but for nth, per or probability"
                default:
                    "\(count.considered) pushes fulfilled its conditions, but for nth, per or probability"
                }
            log.warning("rule \(count.rule)\(name) never matched: \(reason); check it, or remove it")
        }
    }

    static let options: [Option] =
        [
            .flag(
                "any-token",
                "Answer 200 to pushes to unknown device tokens of 64 to 200 hexadecimal digits, and "
                    + "capture them."),
            .file("rules", "A file of rules that change the answers to pushes, as YAML or JSON."),
            .file(
                "scenario",
                "A file of rules, such as those in deploy/scenarios, whose phases begin when the relay is "
                    + "ready; at the end, how often each rule matched is reported."),
            .value(
                "capture", "true|false",
                "Whether the relay stores requests for 'postrider captures'; true if not given. false: "
                    + "as in production, to measure it."),
            .value(
                "captures-address", "ADDRESS|off",
                "The address of captures and rules over HTTP/1.1, such as "
                    + "\(CapturesService.usualAddress), for everybody who reaches it; off if not given."),
            .flag(
                "capture-secrets", "Store the signatures of provider tokens in captures; masked if not given."
            ),
        ] + UpstreamServer.options
}
