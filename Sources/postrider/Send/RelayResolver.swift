import FoundationEssentials
import PostriderClients
import PostriderCommands
import PostriderCrypto
import PostriderNotifications
import PostriderOptions
import PostriderTLS
import PostriderTransport

/// Finds the relay for the commands of a provider or a device: the one that the options name, or that of `postrider
/// dev`.
struct RelayResolver {
    /// The address of the relay, and the certificates to trust.
    let server: Server
    /// The values of `postrider dev` if it is its relay; nil otherwise.
    let dev: DevValues?

    /// The port of the relay that a command uses.
    enum Port {
        case provider
        case device

        fileprivate var usualPort: Int { self == .provider ? 2197 : 5223 }

        fileprivate func port(_ dev: DevValues, _ environment: Environment) -> UInt16 {
            switch self {
            case .provider: environment == .production ? dev.providerPort : dev.developmentProviderPort
            case .device: dev.devicePort
            }
        }
    }

    /// The options that every such command has.
    static func options(_ door: Port) -> [Option] {
        [
            .value("relay", "HOST:PORT", "The relay; an IPv6 address as [IPv6]:PORT."),
            .value("host", "HOST", "The relay's host, in place of --relay."),
            .value("port", "NUMBER", "The port that goes with --host; \(door.usualPort) if not given."),
            .file(
                "ca", "The certificate authority to trust, PEM; if not given, those of this system."),
            .value("server-name", "NAME", "The name in the relay's certificate, if it is not the host."),
            .file(
                "directory", short: "d", as: "FOLDER",
                "The folder of 'postrider dev', whose relay is used if no other is given; "
                    + "\(DevFolder.usualPath) if not given."),
        ]
    }

    /// Finds the relay that the user means.
    ///
    /// - Parameter environment: selects one of the two provider ports of `postrider dev`.
    init(_ options: ParsedOptions, _ door: Port, environment: Environment = .production) throws {
        if let text = try Self.named(options, door) {
            guard !options.isSet("directory") else {
                throw options.error("--directory means the relay of 'postrider dev'; name no other with it")
            }
            dev = nil
            server = try Self.server(options, text, authorityFile: options.string("ca"))
            return
        }
        let folder = DevFolder(options.string("directory") ?? DevFolder.usualPath)
        guard let values = try DevValues.read(from: folder) else {
            throw options.isSet("directory")
                ? options.withoutDev(in: folder.path)
                : options.knowingNo("relay", give: "--relay HOST:PORT")
        }
        dev = values
        let host = values.host.contains(":") ? "[\(values.host)]" : values.host
        server = try Self.server(
            options, "\(host):\(door.port(values, environment))",
            authorityFile: options.string("ca") ?? values.authorityFile)
    }

    private static func named(_ options: ParsedOptions, _ door: Port) throws -> String? {
        let port = try options.integer("port", in: 1...65_535)
        guard let host = options.string("host") else {
            guard port == nil else { throw options.error("--port goes with --host; give both, or --relay") }
            return options.string("relay")
        }
        guard !options.isSet("relay") else {
            throw options.error("--relay and --host say the same; give one of them")
        }
        return "\(host.contains(":") ? "[\(host)]" : host):\(port ?? door.usualPort)"
    }

    private static func server(
        _ options: ParsedOptions, _ text: String, authorityFile: String?
    ) throws -> Server {
        let destination: Destination
        do throws(TransportError) {
            destination = try Destination(text)
        } catch {
            throw options.error(error.description)
        }
        guard destination.host != nil else {
            throw options.error("a relay is not behind a Unix socket: \(text)")
        }
        do throws(CryptoError) {
            let tls = try TLSContext.client(trustFile: authorityFile, alpn: ["h2"])
            return Server(destination, tls: tls, name: options.string("server-name"))
        } catch {
            throw CommandFailure("\(error).")
        }
    }
}

extension CommandFailure {
    /// The error when there is no connection to a relay. If the handshake was made, the relay is running.
    static func notConnected(to relay: Destination, _ reason: CloseReason) -> CommandFailure {
        if case .handshakeFailed(let sentence, _) = reason {
            return CommandFailure("There is no connection to the relay at \(relay): \(sentence).")
        }
        return CommandFailure("No relay answers at \(relay) (\(reason)): check that it runs there.")
    }
}
