import Foundation
import Notifications
import Synchronization

/// The levels of the log as the user writes them.
enum LogLevel: String, CaseIterable {
    case error, warning, notice, info, debug

    var level: Log.Level {
        switch self {
        case .error: .error
        case .warning: .warning
        case .notice: .notice
        case .info: .info
        case .debug: .debug
        }
    }
}

/// The least severe level that is written; it can change while the log is in use.
final class LogThreshold: Sendable {
    private let number: Atomic<Int>

    init(_ level: Log.Level) { number = Atomic(level.rawValue) }

    /// The least severe level that is written.
    var level: Log.Level {
        get { Log.Level(rawValue: number.load(ordering: .relaxed)) ?? .info }
        set { number.store(newValue.rawValue, ordering: .relaxed) }
    }
}

/// How lines of the log look on stderr.
enum ServiceLog {
    /// A log that leaves out what is less severe than `level`.
    ///
    /// - Parameter isJournal: the journal puts a time before each line and reads its severity from `<n>`
    ///   (`sd-daemon(3)`); for people the line has both in words.
    static func log(_ level: Log.Level, isJournal: Bool) -> Log {
        log(LogThreshold(level), isJournal: isJournal)
    }

    /// A log that leaves out what is less severe than the threshold allows now.
    static func log(_ threshold: LogThreshold, isJournal: Bool) -> Log {
        Log { severity, text in
            guard severity <= threshold.level else { return }
            Console.complain(isJournal ? journalLine(severity, text) : line(severity, text, at: Date()))
        }
    }

    /// Whether stderr goes to the journal: systemd names the device and inode of the socket that it made for it, and
    /// stderr may have been sent elsewhere since.
    ///
    /// - Parameters:
    ///   - stream: `JOURNAL_STREAM`, `8:12345`.
    ///   - target: what stderr is, as `/proc/self/fd/2` links to it: `socket:[12345]`.
    static func isJournal(stream: String?, target: String?) -> Bool {
        guard let inode = stream?.split(separator: ":").last else { return false }
        return target == "socket:[\(inode)]"
    }

    /// Whether stderr of this process goes to the journal.
    static var isJournal: Bool {
        isJournal(
            stream: ProcessInfo.processInfo.environment["JOURNAL_STREAM"],
            target: try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/2")
        )
    }

    static func journalLine(_ level: Log.Level, _ text: String) -> String {
        text.split(separator: "\n").map { "<\(level.rawValue)>\($0)" }.joined(separator: "\n")
    }

    static func line(_ level: Log.Level, _ text: String, at time: Date) -> String {
        "\(time.formatted(.iso8601)) \(level): \(text)"
    }
}
