import FoundationEssentials
import PostriderCommands
import PostriderNotifications
import PostriderRelay

/// A line of the audit: one change by an operator.
struct AuditRecord: Codable, Equatable {
    /// When it was asked for, RFC 3339 in UTC with milliseconds.
    var time: String
    /// The name of the user who asked; nil if unknown.
    var user: String?
    /// The number of that user.
    var uid: UInt32?
    /// The process that asked.
    var pid: Int32?
    /// The number of the user who signed in, who may since have become root with sudo (`/proc/PID/loginuid`); nil if
    /// unknown.
    var loginUid: UInt32?
    /// The name of the console's session that asked; nil if it was not the console.
    var session: String?
    /// What was asked for, in the words of the commands, such as `keys add`.
    var action: String
    /// The key, topic, device or directory that it is about.
    var object: String?
    /// Further facts about what was asked for.
    var details: [String: String]?
    /// Whether it was made.
    var outcome: Outcome
    /// Why it was not made.
    var reason: String?

    /// Whether a change was made.
    enum Outcome: String, Codable {
        case done, refused, failed
    }

    /// Makes the record of a change.
    ///
    /// - Parameters:
    ///   - user: the name of the user who asked for it.
    ///   - loginUser: the number of the user who signed in.
    init(_ change: OperatorChange, user: String?, loginUser: UInt32?) {
        time = Listing.preciseTime(change.askedAt.milliseconds)
        self.user = user
        uid = change.caller.user
        pid = change.caller.process
        loginUid = loginUser
        session = change.caller.session
        action = change.action
        object = change.object
        details = change.details.isEmpty ? nil : change.details
        outcome =
            switch change.status {
            case 200: .done
            case 400..<500: .refused
            default: .failed
            }
        reason = change.refusal
    }
}
