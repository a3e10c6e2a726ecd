import FoundationEssentials

/// How an application stands to the agent of its device.
public enum AgentConnection: Equatable, Sendable {
    /// Nothing was asked of the agent yet, or the application has been stopped.
    case none
    /// It is being connected to.
    case connecting
    /// It answers.
    case connected
    /// It does not; the reason is a sentence that says what was tried and what to do. The application goes on trying.
    case unreachable(reason: String)
}

/// The agent of the device cannot be reached, or answers again after that.
public struct AgentConnectionDidChange: TypedNotification, Equatable {
    /// What it is posted under.
    public static let name = NotificationName.agentConnectionDidChange
    /// Why the agent cannot be reached, a sentence; nil: it answers.
    public let reason: String?

    /// The reason as a user info.
    public var userInfo: UserInfo { reason.map { [AgentConnectionKey.reason: .string($0)] } ?? [:] }

    /// News of the connection.
    public init(reason: String?) { self.reason = reason }

    /// The news, whatever it says.
    public init?(userInfo: UserInfo) { reason = userInfo[AgentConnectionKey.reason]?.string }
}

extension NotificationName {
    /// The agent of the device cannot be reached, or answers again after that. User info:
    /// ``AgentConnectionKey/reason``.
    public static let agentConnectionDidChange = NotificationName(
        rawValue: "postrider.agentConnectionDidChange")
}

/// The names of what the connection to the agent tells in its user info.
public enum AgentConnectionKey {
    /// A text: one sentence for a person; left out where the agent answers.
    public static let reason = "reason"
}

/// Why an agent cannot be reached, for a person.
enum AgentFault {
    /// No connection came about, for this reason.
    static func unreachable(_ path: String, because reason: String) -> String {
        let remedy: String
        var status = try? FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType
        if status == .typeSymbolicLink {
            let target = URL(filePath: path).resolvingSymlinksInPath().path
            status = try? FileManager.default.attributesOfItem(atPath: target)[.type] as? FileAttributeType
        }
        switch status {
        case .typeSocket where reason.contains("ermission"):
            remedy = "this user must be able to write to the socket and to search its folders."
        case .typeSocket: remedy = "start the agent, postrider-agent.service or 'postrider agent'."
        case nil where reason.contains("ermission"):
            remedy = "this user must be able to search the folders of the socket."
        case nil:
            remedy =
                "start the agent, postrider-agent.service or 'postrider agent', or name its socket in "
                + "POSTRIDER_AGENT_SOCKET."
        default:
            remedy = "this is no socket; name that of the agent in POSTRIDER_AGENT_SOCKET."
        }
        return "The agent cannot be reached at \(path) (\(reason)): \(remedy)"
    }

    /// The agent has answered, and has ended the stream or the connection.
    static func ended(_ path: String, because reason: String) -> String {
        "The agent at \(path) has ended the connection (\(reason))."
    }

    /// Somebody listens there and does not answer as an agent does.
    static func noAgent(_ path: String, because reason: String) -> String {
        "What listens at \(path) does not answer as an agent does (\(reason)): look at the agent's log, or "
            + "name its socket in POSTRIDER_AGENT_SOCKET."
    }
}
