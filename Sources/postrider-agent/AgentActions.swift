import FoundationEssentials
import PostriderAgent
import PostriderCommands
import PostriderOptions
import PostriderTransport

/// The commands by which the owner of a device controls its agent: `postrider-agent status` and the others.
enum AgentActions {
    /// All actions, in the order of the help.
    static let all: [OperatorAction] = [
        action("status", "Show what the agent is doing.") { options, client in
            let (status, text) = try await client.list("/v1/status", of: AgentControl.Status.self)
            Console.say(options.isSet("json") ? text : describe(status))
        },
        action("apps", "List the apps and the state of each.") { options, client in
            let (apps, text) = try await client.list("/v1/apps", of: [AgentControl.App].self)
            Console.say(options.isSet("json") ? text : describe(apps))
        },
        action("inbox", "List the notifications that wait for their apps.") { options, client in
            let (messages, text) = try await client.list("/v1/inbox", of: [AgentControl.Message].self)
            Console.say(options.isSet("json") ? text : describe(messages))
        },
        action("pending", "List the local notifications that are not due yet.") { options, client in
            let (pending, text) = try await client.list("/v1/pending", of: [AgentControl.Pending].self)
            let rows = pending.map { [$0.topic, $0.identifier, Listing.time($0.at), $0.title] }
            Console.say(
                options.isSet("json") ? text : Listing.columns(["TOPIC", "IDENTIFIER", "AT", "TITLE"], rows))
        },
        action("dead-letters", "List the dead letters: notifications that their apps could not handle.") {
            options, client in
            let (messages, text) = try await client.list("/v1/dead-letters", of: [AgentControl.Message].self)
            Console.say(options.isSet("json") ? text : describe(messages))
        },
        action("alerts", "List the alerts that users can see.") { options, client in
            let (alerts, text) = try await client.list("/v1/alerts", of: [AgentControl.Alert].self)
            let rows = alerts.map { [$0.topic, $0.identifier, $0.category, $0.title] }
            let table = Listing.columns(["TOPIC", "IDENTIFIER", "CATEGORY", "TITLE"], rows)
            Console.say(options.isSet("json") ? text : table)
        },
        respond,
        order("retry", "NUMBER", "Deliver a dead letter to its app again.") { number in
            ("PUT", "/v1/retried-letters/\(number)", "", "\(number) is handed over again.")
        },
        order("drop", "NUMBER", "Delete a dead letter.") { number in
            ("DELETE", "/v1/dead-letters/\(number)", "", "\(number) is dropped.")
        },
        allow,
        order("deny", "TOPIC", "Forbid an app to notify, even one that has not run yet.") { topic in
            ("PUT", "/v1/authorizations/\(topic)", #"{"isAllowed":false}"#, "\(topic) may not notify.")
        },
        order("forget", "TOPIC", "Remove an app that is gone, with all notifications that wait for it.") {
            topic in
            ("DELETE", "/v1/apps/\(topic)", "", "\(topic) is forgotten.")
        },
        order(
            "activate", "TOPIC", "Bring a declared app to the foreground; it is started if it does not run."
        ) { topic in
            ("PUT", "/v1/active-apps/\(topic)", "", "\(topic) becomes active.")
        },
        order("suspend", "TOPIC", "Send a declared app to the background; it may end instead.") {
            topic in
            ("DELETE", "/v1/active-apps/\(topic)", "", "\(topic) goes into the background.")
        },
        action(
            "keyboard", "Act as an input method: show or hide a keyboard on screen.",
            operands: [.required("show|hide")], options: KeyboardAction.options,
            examples: KeyboardAction.examples, run: KeyboardAction.run),
    ]

    private static let socket = Option.file(
        "socket", as: "PATH",
        "The agent's socket; if not given, that of POSTRIDER_AGENT_SOCKET, or "
            + "\(AgentSettings.usualSocket).")

    private static func action(
        _ name: String, _ summary: String, operands: [Operand] = [], options: [Option] = [],
        examples: [OptionTable.Example] = [],
        run: @escaping @Sendable (ParsedOptions, ControlClient) async throws -> Void
    ) -> OperatorAction {
        OperatorAction(
            of: "postrider-agent", name, summary, operands: operands, options: options, examples: examples,
            address: [socket],
            find: { options in
                let environment = ProcessInfo.processInfo.environment
                let path =
                    options.string("socket") ?? environment["POSTRIDER_AGENT_SOCKET"]
                    ?? environment[AgentSetting.socket.variable] ?? AgentSettings.usualSocket
                return ControlClient(address: try SocketAddress(unixPath: path), party: .agent)
            },
            run: run)
    }

    /// Permits an app to notify: in the given ways, or in all that it asks for.
    private static let allow = action(
        "allow", "Allow an app to notify, even one that has not run yet.",
        operands: [.required("TOPIC"), .optional("OPTIONS")],
        examples: [
            .init(
                "Allow alerts and badges, but no sounds", "postrider-agent allow com.example.app alert,badge")
        ]
    ) { options, client in
        let topic = try options.checked(options.operands[0])
        let names = options.operands.dropFirst().first?.split(separator: ",").map(String.init)
        let decision = AgentControl.Decision(isAllowed: true, options: names)
        let answer = try await client.request(
            "PUT", "/v1/authorizations/\(topic)", body: Array(try JSONEncoder().encode(decision)))
        options.say(answer, "\(topic) may notify.")
    }

    /// Responds to an alert in the user's place, for a device without a screen or without a person at it.
    private static let respond = action(
        "respond", "Respond to an alert as its user would.",
        operands: [
            .required("TOPIC"), .required("IDENTIFIER"), .optional("ACTION"), .optional("TEXT"),
        ]
    ) { options, client in
        let operands = options.operands
        let topic = try options.checked(operands[0])
        let response = AgentControl.Response(
            identifier: operands[1], action: operands.count > 2 ? operands[2] : nil,
            text: operands.count > 3 ? operands[3] : nil)
        let answer = try await client.request(
            "PUT", "/v1/responses/\(topic)", body: Array(try JSONEncoder().encode(response)))
        options.say(answer, "\(topic) is told the response.")
    }

    /// Makes an action on one object from its method, path and body, and the sentence that reports success.
    private static func order(
        _ name: String, _ operand: String, _ summary: String,
        _ make: @escaping @Sendable (String) -> (method: String, path: String, body: String, done: String)
    ) -> OperatorAction {
        action(name, summary, operands: [.required(operand)]) { options, client in
            let order = make(try options.checked(options.operands[0]))
            let answer = try await client.request(order.method, order.path, body: Array(order.body.utf8))
            options.say(answer, order.done)
        }
    }

    // MARK: For people

    static func describe(_ status: AgentControl.Status) -> String {
        let rows = [
            ("device", status.device ?? "not enrolled"),
            ("connected", status.isConnected ? "yes, to \(status.relay ?? "the relay")" : "no"),
            ("apps", "\(status.apps)"), ("  running", "\(status.running)"), ("inbox", "\(status.inbox)"),
            ("pending", "\(status.pending)"), ("dead letters", "\(status.deadLetters)"),
        ]
        return rows.map { Listing.fact($0, $1, from: 16) }.joined(separator: "\n")
    }

    static func describe(_ apps: [AgentControl.App]) -> String {
        Listing.columns(
            ["TOPIC", "USER", "STATE", "PROCESS", "DECLARED", "REGISTERED", "NOTIFICATIONS", "INBOX"],
            apps.map { app in
                [
                    app.topic, app.user.map { "\($0)" } ?? "-", state(of: app),
                    app.process.map(String.init) ?? "-",
                    app.isDeclared ? "yes" : "no", app.isRegistered ? "yes" : "no", app.notifications,
                    "\(app.inbox)",
                ]
            })
    }

    private static func state(of app: AgentControl.App) -> String {
        let state = app.service.map { "\(app.state), \($0) by UnifiedPush" } ?? app.state
        guard let seconds = app.busySeconds, let count = app.underWay else { return state }
        return "\(state), busy for \(seconds) s with \(count) notification\(count == 1 ? "" : "s")"
    }

    static func describe(_ messages: [AgentControl.Message]) -> String {
        Listing.columns(
            ["NUMBER", "TOPIC", "KIND", "IDENTITY", "ATTEMPTS", "REASON"],
            messages.map {
                ["\($0.number)", $0.topic, $0.kind, $0.identity, "\($0.attempts)", $0.reason ?? "-"]
            })
    }
}
