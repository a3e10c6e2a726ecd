/// Where a bus listens, as the D-Bus specification writes addresses. Only Unix sockets of this machine: on another
/// transport whoever listens in the network could play the bus, and `unixexec:` would start a program.
public struct BusAddress: Hashable, Sendable, CustomStringConvertible {
    /// The places to be tried, in order.
    let alternatives: [String]

    /// An address such as `unix:path=/run/user/1000/bus`, or several, between semicolons; what is no Unix socket is
    /// left out, and nil is what remains of nothing.
    public init?(_ text: String) {
        alternatives = text.split(separator: ";").map(String.init).filter { $0.hasPrefix("unix:") }
        guard !alternatives.isEmpty, !text.utf8.contains(0) else { return nil }
    }

    /// The bus of a user's session, as the variables of a process of that session name it; nil: there is none.
    public static func session(in environment: [String: String]) -> BusAddress? {
        if let text = environment["DBUS_SESSION_BUS_ADDRESS"], !text.isEmpty { return BusAddress(text) }
        guard let folder = environment["XDG_RUNTIME_DIR"], folder.hasPrefix("/") else { return nil }
        return BusAddress("unix:path=" + escaped(folder + "/bus"))
    }

    /// The bus of the machine.
    public static func system(in environment: [String: String]) -> BusAddress? {
        BusAddress(environment["DBUS_SYSTEM_BUS_ADDRESS"] ?? "unix:path=/run/dbus/system_bus_socket")
    }

    /// The places as they are written.
    public var description: String { alternatives.joined(separator: ";") }

    /// A path as a value in an address: all but these bytes are written as `%` and two digits.
    private static func escaped(_ path: String) -> String {
        let plain = Set("-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz/.\\*".utf8)
        let digits = Array("0123456789abcdef")
        return path.utf8.reduce(into: "") { text, byte in
            if plain.contains(byte) {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                text += "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
            }
        }
    }
}
