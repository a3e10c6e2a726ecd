import FoundationEssentials
import PostriderCommands
import PostriderNotifications
import PostriderOptions
import PostriderStorage
import PostriderSystem
import PostriderYAML

/// `postrider audit`: what operators have changed. It reads the files, so it works while no relay runs.
enum AuditCommand: Command {
    static let name = "audit"
    static let summary = "Show what operators have changed: who, what, when, and whether it was done."

    static func run(_ arguments: [String]) async throws -> Int32 {
        guard let options = try table.parseOrHelp(arguments) else { return 0 }
        let since = try options.string("since").map { try time($0, options) }
        let path = try ControlAddress.dataDirectory(options) + "/" + AuditLog.fileName
        if options.isSet("follow") {
            return try await follow(path, since: since, asJSON: options.isSet("json"))
        }
        let (lines, lost, unread) = try read(path, since: since)
        if options.isSet("json") {
            for line in lines { Console.say(line.text) }
        } else {
            Console.say(describe(lines.map(\.record)))
        }
        if lost > 0 {
            Console.complain(sentence(lost: lost))
        }
        if unread > 0 {
            Console.complain("postrider: \(unread) lines of \(path) are no changes, and are left out.")
        }
        return 0
    }

    /// A line of the audit, as it stands in its file and as what it says.
    struct Line {
        let text: String
        let record: AuditRecord
    }

    /// What the writer says about changes for which there was no room.
    private struct Gap: Decodable {
        let lost: Int
    }

    /// The lines of all files, the oldest first, how many changes were not recorded, and how many lines cannot be read.
    ///
    /// - Parameter since: changes before this time are left out; RFC 3339 as in the files.
    static func read(
        _ path: String, since: String?
    ) throws(CommandFailure) -> (lines: [Line], lost: Int, unread: Int) {
        var texts: [Substring] = []
        for file in LineFile.paths(path, files: Limits.auditFiles) {
            texts += try FileText.readIfThere(file)?.split(separator: "\n") ?? []
        }
        return parse(texts, since: since)
    }

    /// The changes that lines of the audit are, how many were not recorded, and how many lines cannot be read.
    static func parse(
        _ texts: [some StringProtocol], since: String?
    ) -> (lines: [Line], lost: Int, unread: Int) {
        var (lines, lost, unread): ([Line], Int, Int) = ([], 0, 0)
        let decoder = JSONDecoder()
        for text in texts {
            let data = Data(text.utf8)
            guard let record = try? decoder.decode(AuditRecord.self, from: data) else {
                let gap = try? decoder.decode(Gap.self, from: data)
                lost += gap?.lost ?? 0
                unread += gap == nil ? 1 : 0
                continue
            }
            if since.map({ record.time >= $0 }) ?? true {
                lines.append(Line(text: String(text), record: record))
            }
        }
        return (lines, lost, unread)
    }

    /// The time of `--since`: so long ago, or a date.
    static func time(_ text: String, _ options: ParsedOptions, now: Date = Date()) throws -> String {
        let date: Date
        if let milliseconds = Quantity.time.value(of: text) {
            date = now - Double(milliseconds) / 1000
        } else if let found = try? Date(text, strategy: .iso8601) {
            date = found
        } else if let found = try? Date(text + "T00:00:00Z", strategy: .iso8601) {
            date = found
        } else {
            throw options.error(
                "--since must be \(Quantity.time.form), or a time such as 2026-11-21 or "
                    + "2026-11-21T09:00:00Z, not '\(text)'")
        }
        return Listing.preciseTime(Int64(date.timeIntervalSince1970 * 1000))
    }

    /// A table for people.
    static func describe(
        _ records: [AuditRecord], name: (UInt32) -> String? = { UserAccount.entry(of: $0)?.name }
    ) -> String {
        guard !records.isEmpty else { return "No operator has changed anything in that time." }
        return Listing.columns(
            ["TIME", "USER", "PID", "CHANGE", "OF", "DETAILS", "OUTCOME"],
            records.map { row(of: $0, name: name) })
    }

    /// The columns of a change.
    static func row(
        of record: AuditRecord, name: (UInt32) -> String? = { UserAccount.entry(of: $0)?.name }
    ) -> [String] {
        var user =
            record.user ?? record.uid.map { "\($0)" } ?? record.session.map { "console: \($0)" } ?? "unknown"
        if let login = record.loginUid, login != record.uid {
            user += " (signed in as \(name(login) ?? "\(login)"))"
        }
        let details = (record.details ?? [:]).sorted { $0.key < $1.key }
        return [
            record.time, user, record.pid.map { "\($0)" } ?? "-", record.action, record.object ?? "-",
            details.isEmpty ? "-" : details.map { "\($0.key)=\($0.value)" }.joined(separator: " "),
            record.outcome.rawValue + (record.reason.map { ": \($0)" } ?? ""),
        ]
    }

    static let table = OptionTable(
        command: "postrider audit",
        summary: """
            Show the changes that operators have asked a relay for, the oldest first, refused ones too. The \
            command reads the files in the relay's data directory as their owner or as root, and needs no \
            running relay.
            """,
        options: [
            .value(
                "since", "TIME",
                "Only changes since this time: so long ago, such as 2h or 30d, or a date such as 2026-11-21 "
                    + "or 2026-11-21T09:00:00Z; all if not given."),
            .flag(
                "follow", short: "f",
                "Show changes as they are recorded, until Control-C; earlier ones with --since only."),
            Settings.fileOption,
            .file(
                "directory", short: "d", as: "FOLDER",
                "The folder of 'postrider dev' whose relay is meant; if no other is given, "
                    + "\(DevFolder.usualPath) if it exists."),
            .flag("json", "Print the lines of the audit, one JSON object per change."),
        ],
        examples: [
            .init("See what was changed since yesterday", "postrider audit --since 24h"),
            .init("Give each change to a program as it is made", "postrider audit --follow --json"),
            .init("Find out who has removed a key", "postrider audit --json | grep 'keys remove'"),
        ]
    )
}
