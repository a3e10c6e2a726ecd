import PostriderCommands
import PostriderConsole
import PostriderNotifications
import PostriderOptions
import PostriderRelay
import PostriderTransport

/// The console of `postrider dev`.
enum DevConsole {
    /// How long the link that is printed at the start can be used, in seconds.
    private static let linkSeconds = 86_400
    /// The name of its session, in the audit.
    private static let sessionName = "dev"

    /// The console on its port; nil if the user wants none.
    ///
    /// - Parameter host: the address of all ports.
    static func make(_ options: ParsedOptions, host: String) throws -> RelayConfiguration.Console? {
        guard !options.isSet("no-console") else { return nil }
        return .init(address: try SocketAddress(host: host, port: port(options)), showsPayloads: true)
    }

    /// The port that the user wants for the console; 0 for any free one.
    static func port(_ options: ParsedOptions) throws -> UInt16 {
        // If the user chooses the providers' port, this may be one of several relays.
        let usual: UInt16 = options.isSet("provider-port") ? 0 : 2200
        return try options.integer("console-port", in: 0...65_535).map { UInt16($0) } ?? usual
    }

    /// The link with which the user signs in, once; nil if there is no console.
    ///
    /// - Parameter host: the host to which this machine connects.
    static func makeLink(
        _ console: RelayConfiguration.Console?, _ relay: Relay, host: String, at now: Moment
    ) throws -> String? {
        guard let port = relay.consoleAddress?.port,
            let secret = console?.sessions.makeLink(
                sessionName, .administer, at: now, seconds: linkSeconds)
        else { return nil }
        return ConsoleCommand.link(to: try SocketAddress(host: host, port: port).description, secret)
    }

    static let options: [Option] = [
        .value(
            "console-port", "PORT",
            "The port of the console, a page for browsers; 2200 if not given, or any free one if "
                + "--provider-port is given."),
        .flag("no-console", "Serve no console."),
    ]
}
