import CPostriderPQ

/// Where a PostgreSQL database is and how to log in there: a connection string of libpq, such as
/// `postgresql://postrider@db1,db2/postrider?sslmode=verify-full`.
///
/// The string may contain a password. It is passed to libpq and to nothing else; the description is without it.
public struct DatabaseAddress: Sendable, CustomStringConvertible, CustomDebugStringConvertible {
    /// What is passed to libpq.
    let text: String
    /// The user, hosts and database, for logs and errors.
    public let description: String
    /// The same.
    public var debugDescription: String { description }

    /// What a connection string begins with.
    public static let schemes = ["postgresql://", "postgres://"]

    /// Reads a connection string; nil if it does not begin with `postgresql://` or libpq cannot read it.
    public init?(_ text: String) {
        guard Self.schemes.contains(where: text.hasPrefix),
            let options = unsafe PQconninfoParse(text, nil)
        else { return nil }
        defer { unsafe PQconninfoFree(options) }
        var values: [String: String] = [:]
        var option = unsafe options
        while let keyword = unsafe option.pointee.keyword {
            if let value = unsafe option.pointee.val {
                unsafe values[String(cString: keyword)] = String(cString: value)
            }
            unsafe option += 1
        }
        self.text = text
        let hosts = (values["host"] ?? values["hostaddr"] ?? "this machine").split(separator: ",")
        let ports = (values["port"] ?? "").split(separator: ",", omittingEmptySubsequences: false)
        let places = hosts.enumerated().map { index, host in
            let port = ports.count == 1 ? ports[0] : index < ports.count ? ports[index] : ""
            return port.isEmpty ? String(host) : "\(host):\(port)"
        }
        let user = values["user"].map { $0 + "@" } ?? ""
        description = user + places.joined(separator: ",") + (values["dbname"].map { "/" + $0 } ?? "")
    }
}
