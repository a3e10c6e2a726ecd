/// The address of a bus, in the format of the D-Bus specification. Only Unix sockets of this machine are supported:
/// over another transport any host of the network could pretend to be the bus, and `unixexec:` would start a program.
public struct BusAddress: Hashable, Sendable, CustomStringConvertible {
    /// The addresses to try, in order.
    let alternatives: [String]

    /// Reads an address such as `unix:path=/run/user/1000/bus`, or several separated by semicolons. Those that are
    /// not Unix sockets are left out; nil if none remains.
    public init?(_ text: String) {
        alternatives = text.split(separator: ";").map(String.init).filter { $0.hasPrefix("unix:") }
        guard !alternatives.isEmpty, !text.utf8.contains(0) else { return nil }
    }

    /// The bus of a user's session, from the environment of a process of that session; nil if there is none.
    public static func session(in environment: [String: String]) -> BusAddress? {
        if let text = environment["DBUS_SESSION_BUS_ADDRESS"], !text.isEmpty { return BusAddress(text) }
        guard let folder = environment["XDG_RUNTIME_DIR"], folder.hasPrefix("/") else { return nil }
        return BusAddress("unix:path=" + escaped(folder + "/bus"))
    }

    /// The system bus.
    public static func system(in environment: [String: String]) -> BusAddress? {
        BusAddress(environment["DBUS_SYSTEM_BUS_ADDRESS"] ?? "unix:path=/run/dbus/system_bus_socket")
    }

    /// The addresses in the format of the specification.
    public var description: String { alternatives.joined(separator: ";") }

    /// Escapes a path for an address: all but these bytes become `%` and two digits.
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
