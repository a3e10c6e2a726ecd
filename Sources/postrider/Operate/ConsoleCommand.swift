import FoundationEssentials
import PostriderCommands
import PostriderConsole
import PostriderOptions
import PostriderRelay
import PostriderTransport

/// `postrider console`: access to the console of a relay.
enum ConsoleCommand: OperatorCommand {
    static let name = "console"
    static let summary = "Sign in to the console of a relay, a page for browsers."

    static let actions = [
        OperatorAction(
            name, "login",
            "Print a link that signs in to the console once, within \(ConsoleSessions.linkSeconds / 60) "
                + "minutes.",
            options: [
                .value(
                    "role", "ROLE",
                    "What the session may do: look, send (pushes as well) or administer (keys, topics and "
                        + "devices as well); administer if not given."),
                .value("name", "NAME", "The name of the session in the audit; your user's if not given."),
                .value(
                    "host", "HOST",
                    "The host in the link; if not given, where the console listens, or this machine's name "
                        + "if that is everywhere."),
            ],
            examples: [
                .init("Open the console", "postrider console login"),
                .init("Let a colleague look", "postrider console login --role look --name kim"),
            ]
        ) { options, client in
            let role = try options.choice("role", of: ConsoleRole.self) ?? .administer
            let name = try options.checked(options.string("name") ?? ProcessInfo.processInfo.userName)
            let order = try Console.json(Control.ConsoleLinkRequest(role: role.rawValue))
            let answer = try await client.request(
                "PUT", "/v1/console-links/\(name)", body: Array(order.utf8))
            let link = try JSONDecoder().decode(Control.ConsoleLink.self, from: Data(answer))
            let address = try host(of: SocketAddress(link.address), options.string("host"))
            options.say(answer, Self.link(to: address, link.secret))
        }
    ]

    /// The address of the page that signs in with this secret. A browser sends no server what follows the `#`.
    static func link(to address: String, _ secret: String) -> String {
        "https://\(address)/#/login/\(secret)"
    }

    /// The host and port of the link.
    private static func host(of address: SocketAddress, _ chosen: String?) -> String {
        let port = address.port ?? 443
        if let chosen { return "\(chosen):\(port)" }
        let isEverywhere = address.host == "0.0.0.0" || address.host == "::"
        return isEverywhere ? "\(ProcessInfo.processInfo.hostName):\(port)" : address.description
    }
}
