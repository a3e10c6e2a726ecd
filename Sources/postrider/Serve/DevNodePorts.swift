import PostriderCommands
import PostriderNotifications
import PostriderOptions
import PostriderTransport

/// Chooses the ports of the nodes of `postrider dev --nodes`.
struct DevNodePorts {
    private let host: String
    private let ports: DevFolder.Ports
    private let console: UInt16?
    private let web: UInt16?
    private var taken: Set<UInt16> = []

    /// From one node to the next, each port rises by this much.
    private static let step = 10
    /// Where free ports are looked for: below those that the kernel gives to connections, so that none of these takes
    /// a port before its node does.
    private static let free: ClosedRange<UInt16> = 16_384...32_767

    /// - Parameters:
    ///   - ports: those of the first node; 0 for any free ones, of each node.
    ///   - host: the address at which the nodes listen.
    init(_ options: ParsedOptions, _ ports: DevFolder.Ports, at host: String) throws {
        self.host = host
        self.ports = ports
        console = try options.isSet("no-console") ? nil : DevConsole.port(options)
        web = try DevWeb.port(options, from: 0)
    }

    /// The ports of the node with this number, from 0.
    mutating func next(_ number: Int, _ options: ParsedOptions) throws -> DevNode.Ports {
        DevNode.Ports(
            relay: DevFolder.Ports(
                provider: try port(ports.provider, number, options),
                development: try port(ports.development, number, options),
                device: try port(ports.device, number, options)),
            cluster: try findFree(at: "127.0.0.1"),
            console: try console.map { try port($0, number, options) },
            web: try web.map { try port($0, number, options) })
    }

    private mutating func port(_ first: UInt16, _ number: Int, _ options: ParsedOptions) throws -> UInt16 {
        guard first != 0 else { return try findFree(at: host) }
        guard let port = UInt16(exactly: Int(first) + number * Self.step) else {
            throw options.error(
                "the ports of the last node would be above 65535; choose lower ones than \(first)")
        }
        guard taken.insert(port).inserted else {
            throw options.error(
                "two nodes would have the port \(port), because each port rises by \(Self.step) from one "
                    + "node to the next; choose other ones")
        }
        return port
    }

    private mutating func findFree(at host: String) throws -> UInt16 {
        for _ in 0..<1000 {
            let port = UInt16.random(in: Self.free)
            guard !taken.contains(port), try Self.isFree(port, at: host) else { continue }
            taken.insert(port)
            return port
        }
        throw CommandFailure("No port is free at \(host): end other programs, or choose the ports.")
    }

    private static func isFree(_ port: UInt16, at host: String) throws -> Bool {
        let (loop, address) = (try EventLoop(), try SocketAddress(host: host, port: port))
        guard let listener = try? loop.listen(address, makeSession: { _ in nil }) else { return false }
        listener.close()
        return true
    }
}
