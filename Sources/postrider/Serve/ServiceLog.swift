import FoundationEssentials
import PostriderNotifications
import PostriderSystem
import PostriderTransport
import Synchronization

/// The levels of the log, in the words of the setting.
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

/// The least severe level that is written. It can be changed while the log is in use.
final class LogThreshold: Sendable {
    private let number: Atomic<Int>

    init(_ level: Log.Level) { number = Atomic(level.rawValue) }

    /// The least severe level that is written.
    var level: Log.Level {
        get { Log.Level(rawValue: number.load(ordering: .relaxed)) ?? .info }
        set { number.store(newValue.rawValue, ordering: .relaxed) }
    }
}

/// The log of a service, on stderr. Code that logs never waits for stderr (``LineWriter``), and a peer cannot flood
/// the log (``Notifications/RepeatFilter``).
final class ServiceLog: Sendable {
    private let repeats = Repeats()
    private let threshold: LogThreshold
    private let isJournal: Bool
    private let writer: LineWriter

    /// Counts the lines that were left out. It is used by the writer's thread, too.
    private final class Repeats: Sendable {
        let filter = Mutex(RepeatFilter())
    }

    /// - Parameters:
    ///   - threshold: less severe lines are left out.
    ///   - isJournal: whether stderr is the journal, which adds the time to each line and reads its severity from
    ///     `<n>` (`sd-daemon(3)`). Otherwise the line has both as text.
    ///   - write: writes a line; may block.
    init(
        _ threshold: LogThreshold, isJournal: Bool,
        write: @escaping @Sendable (String) -> Bool = Console.writeError
    ) throws(TransportError) {
        self.threshold = threshold
        self.isJournal = isJournal
        writer = try LineWriter(
            name: "log", write: write,
            dropped: { count in
                let sentence =
                    count == 1
                    ? "1 log line was dropped because stderr was not read"
                    : "\(count) log lines were dropped because stderr was not read"
                return Self.text(.warning, sentence, isJournal: isJournal)
            },
            idle: { [repeats] in
                let now = EventLoop.monotonicNanoseconds
                let (lines, next) = repeats.filter.withLock { ($0.takeDue(now: now), $0.nextDue) }
                return LineWriter.Idle(
                    lines: lines.map { Self.text($0.level, $0.text, isJournal: isJournal) },
                    milliseconds: next.map { Int((max($0, now) - now) / 1_000_000) + 1 })
            },
            counter: { LastWords.unwritten.add($0, ordering: .relaxed) })
    }

    /// Starts the log of this process. Complaints of ``Console`` are written to it from now on.
    static func start(_ threshold: LogThreshold) throws(TransportError) -> Log {
        let service = try ServiceLog(threshold, isJournal: isJournal)
        Console.useLog(service)
        return service.log
    }

    /// The log that writes here.
    var log: Log { Log { [self] line in take(line) } }

    /// Writes a line unchanged.
    func add(_ text: String) {
        writer.add(text)
    }

    /// Logs how many lines were left out, and waits for a moment until everything is written.
    @discardableResult
    func end() -> Bool {
        for line in repeats.filter.withLock({ $0.takeAll() }) { add(line) }
        return writer.flush()
    }

    private func take(_ line: Log.Line) {
        guard line.level <= threshold.level else { return }
        guard line.kind != nil else { return add(line) }
        let (lines, isRepeat) = repeats.filter.withLock { filter in
            (filter.take(line, now: EventLoop.monotonicNanoseconds), filter.nextDue != nil)
        }
        for line in lines { add(line) }
        // The writer has to learn when the count is due.
        if isRepeat { writer.ring() }
    }

    private func add(_ line: Log.Line) { add(Self.text(line.level, line.text, isJournal: isJournal)) }

    private static func text(_ level: Log.Level, _ text: String, isJournal: Bool) -> String {
        isJournal ? journalLine(level, text) : Self.line(level, text, at: Date())
    }

    /// Whether stderr goes to the journal. systemd passes device and inode of the socket that it made for the
    /// journal; stderr may have been redirected since.
    ///
    /// - Parameters:
    ///   - stream: the value of `JOURNAL_STREAM`, such as `8:12345`.
    ///   - target: the target of the link `/proc/self/fd/2`, such as `socket:[12345]`.
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
