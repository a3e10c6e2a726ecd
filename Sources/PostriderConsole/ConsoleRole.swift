/// What somebody who has signed in to the console may do. Each role may do what the ones before it may.
public enum ConsoleRole: String, Sendable, CaseIterable, Comparable {
    /// Look at everything.
    case look
    /// Also send pushes.
    case send
    /// Also change keys, topics and devices.
    case administer

    /// Returns the least role that may make this request; nil if it is not for the console, whoever asks.
    ///
    /// - Parameters:
    ///   - method: the method of the request.
    ///   - path: the path, as on the control socket (docs/reference/control.md), with or without a query.
    public static func least(for method: String, _ path: String) -> ConsoleRole? {
        let parts = path.prefix { $0 != "?" }.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count > 2, parts[0].isEmpty else { return nil }
        if method == "POST", parts[1] == "3", parts[2] == "device" { return .send }
        guard parts[1] == "v1" else { return nil }
        // The console makes no links and no copies of the data: whoever wants one needs access to the machine.
        guard parts[2] != "console-links", parts[2] != "backup" else { return nil }
        return switch method {
        case "GET", "HEAD": .look
        case "PUT", "PATCH", "DELETE": .administer
        default: nil
        }
    }

    /// Orders roles by what they may do.
    public static func < (left: ConsoleRole, right: ConsoleRole) -> Bool { left.rank < right.rank }

    private var rank: Int {
        switch self {
        case .look: 0
        case .send: 1
        case .administer: 2
        }
    }
}
