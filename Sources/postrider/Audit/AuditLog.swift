import FoundationEssentials
import PostriderCommands
import PostriderNotifications
import PostriderRelay
import PostriderStorage
import PostriderSystem
import PostriderTransport
import Synchronization

/// Writes the changes by operators to a file of its own in the data directory (docs/operate/audit.md), on a thread of
/// its own, so that no shard waits for the disk. A change that cannot be written is logged whole.
final class AuditLog: Sendable {
    private let writer: LineWriter
    /// The names of the only users who may use the control socket.
    private let names: [UInt32: String]

    /// The name of the file in a data directory.
    static let fileName = "audit.jsonl"

    /// Starts the thread. The file is created with the first change.
    init(dataDirectory: String, log: Log) throws(TransportError) {
        let file = SharedFile(dataDirectory + "/" + Self.fileName)
        let users: Set<UInt32> = [0, UserAccount.own]
        names = users.reduce(into: [:]) { $0[$1] = UserAccount.entry(of: $1)?.name }
        writer = try LineWriter(
            name: "audit",
            write: { line in
                do throws(StoreError) {
                    try file.append(line)
                    return true
                } catch {
                    log.error("a change by an operator is not in the audit: \(error) The change is \(line)")
                    return false
                }
            },
            dropped: { #"{"lost":\#($0)}"# })
    }

    /// The file, which only the writer's thread uses.
    private final class SharedFile: Sendable {
        private let file: Mutex<LineFile>

        init(_ path: String) {
            file = Mutex(LineFile(path, mostBytes: Limits.auditFileBytes, files: Limits.auditFiles))
        }

        func append(_ line: String) throws(StoreError) {
            try file.withLock { file throws(StoreError) in try file.append(line) }
        }
    }

    /// Records a change. It does not wait.
    func record(_ change: OperatorChange) {
        let record = AuditRecord(
            change, user: change.caller.user.flatMap { names[$0] },
            loginUser: change.caller.process.flatMap(Self.loginUser))
        if let line = try? Console.json(record) { writer.add(line) }
    }

    /// Waits for a moment until everything is written.
    func end() { writer.flush() }

    /// The user who signed in and from whose session a process comes; nil if unknown.
    private static func loginUser(of process: Int32) -> UInt32? {
        guard let data = FileManager.default.contents(atPath: "/proc/\(process)/loginuid"),
            let number = UInt32(String(decoding: data, as: UTF8.self).trimmed)
        else { return nil }
        // The kernel's word for "not set" is -1.
        return number == .max ? nil : number
    }
}
