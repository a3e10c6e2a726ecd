import PostriderCommands
import PostriderNotifications
import PostriderOptions
import PostriderTransport

/// Where `postrider dev` listens, and under which names clients connect to it.
struct DevPlace {
    /// The address to listen on.
    let address: String
    /// Names and addresses for which the certificate is valid, beside those of this machine.
    let names: [String]

    /// The host to which this machine connects.
    var host: String {
        switch address {
        case "0.0.0.0": "127.0.0.1"
        case "::": "::1"
        default: address
        }
    }

    init(_ options: ParsedOptions) throws(UsageError) {
        address = options.string("address") ?? "127.0.0.1"
        guard (try? SocketAddress(host: address, port: 0)) != nil else {
            throw options.error(
                "--address must be an address of this machine such as 127.0.0.1 or 0.0.0.0, not '\(address)'"
                    + "; a host name goes behind --name")
        }
        var names: [String] = []
        for name in options.list("name") where !names.contains(name) {
            guard Self.isName(name) || (try? SocketAddress(host: name, port: 0)) != nil else {
                throw options.error("--name must be a host name or an address, not '\(name)'")
            }
            names.append(name)
        }
        let own = ["0.0.0.0", "::", "127.0.0.1", "::1"]
        if !own.contains(address), !names.contains(address) { names.append(address) }
        guard names.count <= Limits.devNames else {
            throw options.error("--name is given for \(names.count) names; \(Limits.devNames) is the most")
        }
        self.names = names
    }

    /// Whether the text is a host name (RFC 1123, section 2.1). Underscores are accepted because Docker uses them.
    private static func isName(_ text: String) -> Bool {
        let labels = text.split(separator: ".", omittingEmptySubsequences: false)
        return text.utf8.count <= 253
            && labels.allSatisfy { label in
                (1...63).contains(label.utf8.count) && label.first != "-" && label.last != "-"
                    && label.utf8.allSatisfy { $0.isLetterOrDigit || "-_".utf8.contains($0) }
            }
    }

    static let options: [Option] = [
        .value(
            "address", "ADDRESS",
            "The address of all three ports; 127.0.0.1 if not given. 0.0.0.0: all addresses of this "
                + "machine."),
        .list(
            "name", "NAME",
            "A host name or address for the relay's certificate, besides localhost and 127.0.0.1."),
    ]
}

extension Limits {
    /// The most names in the certificate of `postrider dev`.
    static let devNames = 100
}
