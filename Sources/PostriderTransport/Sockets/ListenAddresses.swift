internal import Glibc

/// The addresses of one listener, read from a setting: one address, or several with commas between: `0.0.0.0:2197`,
/// `192.0.2.1:2197, [2001:db8::1]:2197`.
///
/// Three forms stand for several addresses: `*:2197` for all addresses of this machine, `[::]:2197` for the same
/// (unless the list also has an IPv4 address with that port), and `localhost:2197` for 127.0.0.1 and [::1]. Each
/// address gets its own socket. IPv6 sockets accept IPv6 only (`IPV6_V6ONLY`), so that the IPv4 address of a peer
/// never appears as an IPv6 address. A machine without IPv6 listens on the IPv4 addresses only.
public enum ListenAddresses {
    /// A description of the accepted forms, for error sentences.
    public static let form =
        "addresses with ports such as 0.0.0.0:2197, [2001:db8::1]:2197, *:2197 or localhost:2197, with "
        + "commas between"

    /// Reads a list of addresses.
    ///
    /// - Parameter hasIPv6: whether this machine can listen on the IPv6 addresses that one of the three forms stands
    ///   for.
    /// - Returns: at least one address, without duplicates.
    /// - Throws: ``TransportError`` if the text has none of the accepted forms.
    public static func read(
        _ text: String, hasIPv6: (SocketAddress) -> Bool = Self.canBind
    ) throws(TransportError) -> [SocketAddress] {
        var entries: [Entry] = []
        for word in text.split(separator: ",", omittingEmptySubsequences: false) {
            entries += try expand(String(word.trimmed))
        }
        var addresses: [SocketAddress] = []
        for entry in entries where !addresses.contains(entry.address) {
            let isWanted =
                switch entry.condition {
                case .always: true
                case .ifMachineHasIPv6: hasIPv6(entry.address)
                case .unlessIPv4IsNamed: !entries.contains { $0.namesIPv4(port: entry.address.port) }
                }
            if isWanted { addresses.append(entry.address) }
        }
        return addresses
    }

    /// Whether this machine can bind the IPv6 address, whatever its port.
    public static func canBind(_ address: SocketAddress) -> Bool {
        guard let host = address.host, let free = try? SocketAddress(host: host, port: 0),
            let socket = try? Socket.make(AF_INET6)
        else { return false }
        return (try? Socket.bind(socket.number, to: free)) != nil
    }

    private enum Condition { case always, ifMachineHasIPv6, unlessIPv4IsNamed }

    private struct Entry {
        let address: SocketAddress
        var condition = Condition.always

        func namesIPv4(port: UInt16?) -> Bool {
            condition == .always && !address.isIPv6 && address.port == port
        }
    }

    private static func expand(_ word: String) throws(TransportError) -> [Entry] {
        let colon = word.lastIndex(of: ":") ?? word.endIndex
        let port = word[colon...]
        switch word[..<colon] {
        case "*":
            return [
                Entry(address: try SocketAddress("0.0.0.0\(port)")),
                Entry(address: try SocketAddress("[::]\(port)"), condition: .ifMachineHasIPv6),
            ]
        case "localhost":
            return [
                Entry(address: try SocketAddress("127.0.0.1\(port)")),
                Entry(address: try SocketAddress("[::1]\(port)"), condition: .ifMachineHasIPv6),
            ]
        case "[::]":
            return [
                Entry(address: try SocketAddress(word)),
                Entry(address: try SocketAddress("0.0.0.0\(port)"), condition: .unlessIPv4IsNamed),
            ]
        default:
            let address = try SocketAddress(word)
            guard address.unixPath == nil else {
                throw TransportError("\(word) is a Unix socket, and an address of the Internet is needed.")
            }
            return [Entry(address: address)]
        }
    }
}

extension String.SubSequence {
    /// Without spaces at both ends.
    var trimmed: Substring {
        var text = self
        while text.first == " " { text.removeFirst() }
        while text.last == " " { text.removeLast() }
        return text
    }
}
