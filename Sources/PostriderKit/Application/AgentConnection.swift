import FoundationEssentials

/// The state of an application's connection to the agent of its device.
public enum AgentConnection: Equatable, Sendable {
    /// The application has not asked for the agent yet, or has been stopped.
    case none
    /// The application is connecting to the agent.
    case connecting
    /// The agent answers.
    case connected
    /// The agent does not answer. The reason is a sentence that says what was tried and what to do. The application
    /// goes on trying.
    case unreachable(reason: String)
}

/// Posted when the agent of the device cannot be reached, and when it answers again after that.
public struct AgentConnectionDidChange: TypedNotification, Equatable {
    /// The name under which the notification is posted.
    public static let name = NotificationName.agentConnectionDidChange
    /// A sentence that says why the agent cannot be reached; nil if it answers again.
    public let reason: String?

    /// The reason as user info.
    public var userInfo: UserInfo { reason.map { [AgentConnectionKey.reason: .string($0)] } ?? [:] }

    /// Creates the notification.
    public init(reason: String?) { self.reason = reason }

    /// Reads the notification from user info. It never returns nil, because the reason is optional.
    public init?(userInfo: UserInfo) { reason = userInfo[AgentConnectionKey.reason]?.string }
}

extension NotificationName {
    /// Posted when the agent of the device cannot be reached, and when it answers again after that. User info:
    /// ``AgentConnectionKey/reason``.
    public static let agentConnectionDidChange = NotificationName(
        rawValue: "postrider.agentConnectionDidChange")
}

/// The keys in the user info of notifications about the connection to the agent.
public enum AgentConnectionKey {
    /// A text: one sentence for the user; missing if the agent answers.
    public static let reason = "reason"
}

/// Sentences for the user that say why an agent cannot be reached.
enum AgentFault {
    /// No connection to the agent's socket could be established, for this reason.
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
        case .typeSocket: remedy = "start the agent, postrider-agent.service or 'postrider-agent'."
        case nil where reason.contains("ermission"):
            remedy = "this user must be able to search the folders of the socket."
        case nil:
            remedy =
                "start the agent, postrider-agent.service or 'postrider-agent', or name its socket in "
                + "POSTRIDER_AGENT_SOCKET."
        default:
            remedy = "this is no socket; name that of the agent in POSTRIDER_AGENT_SOCKET."
        }
        return "The agent cannot be reached at \(path) (\(reason)): \(remedy)"
    }

    /// The agent has answered, and has then ended the stream or the connection.
    static func ended(_ path: String, because reason: String) -> String {
        "The agent at \(path) has ended the connection (\(reason))."
    }

    /// A program listens on the socket and does not answer as an agent does.
    static func noAgent(_ path: String, because reason: String) -> String {
        "What listens at \(path) does not answer as an agent does (\(reason)): look at the agent's log, or "
            + "name its socket in POSTRIDER_AGENT_SOCKET."
    }
}
