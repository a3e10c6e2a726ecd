import FoundationEssentials
import PostriderCommands
import PostriderNotifications
import PostriderStorage
import PostriderSystem

/// Follows the audit of a relay for `postrider audit --follow`.
struct AuditFollower {
    private let follower: LineFollower
    /// Changes before this time are left out; RFC 3339 as in the files.
    private let since: String?

    /// Follows the audit at a path.
    ///
    /// - Parameter since: changes from this time on are shown; nil for those from now on.
    init(_ path: String, since: String?) throws(CommandFailure) {
        follower = LineFollower(path, files: Limits.auditFiles)
        self.since = since
        if since == nil { _ = try read() }
    }

    /// The changes that were recorded since the last call, and what is to be said about those that cannot be shown.
    mutating func next() throws(CommandFailure) -> (changes: [AuditCommand.Line], complaints: [String]) {
        let hadGap = follower.hasGap
        let (lines, lost, unread) = AuditCommand.parse(try read(), since: since)
        var complaints: [String] = []
        if lost > 0 { complaints.append(AuditCommand.sentence(lost: lost)) }
        if unread > 0 { complaints.append("postrider: \(unread) lines are no changes, and are left out.") }
        if follower.hasGap, !hadGap {
            complaints.append("postrider: so much was recorded at once that the oldest of it is gone.")
        }
        return (lines, complaints)
    }

    private func read() throws(CommandFailure) -> [String] {
        do throws(StoreError) {
            return try follower.readLines()
        } catch {
            throw CommandFailure(error.description)
        }
    }
}

extension AuditCommand {
    /// How often a follower looks, in milliseconds.
    private static let lookMilliseconds = 300

    /// Prints changes as they are recorded, until the user ends the command or the reader is gone.
    static func follow(_ path: String, since: String?, asJSON: Bool) async throws -> Int32 {
        var follower = try AuditFollower(path, since: since)
        while true {
            let (changes, complaints) = try follower.next()
            for complaint in complaints { Console.complain(complaint) }
            for change in changes {
                guard Console.say(asJSON ? change.text : row(of: change.record).joined(separator: "  "))
                else {
                    return 0
                }
            }
            try await Task.sleep(for: .milliseconds(lookMilliseconds))
        }
    }

    static func sentence(lost: Int) -> String {
        "postrider: \(lost) changes were not recorded, because too many came at once."
    }
}
