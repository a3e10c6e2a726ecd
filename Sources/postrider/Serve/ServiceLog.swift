import FoundationEssentials
import PostriderNotifications
import PostriderTransport
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

/// The log of a service, on stderr. Whoever logs never waits for stderr (``LineWriter``), and a peer cannot flood it
/// (``Notifications/RepeatFilter``).
final class ServiceLog: Sendable {
    private let repeats = Repeats()
    private let threshold: LogThreshold
    private let isJournal: Bool
    private let writer: LineWriter

    /// What was left out. The writer's thread asks for it, too.
    private final class Repeats: Sendable {
        let filter = Mutex(RepeatFilter())
    }

    /// - Parameters:
    ///   - threshold: what is less severe is left out.
    ///   - isJournal: the journal puts a time before each line and reads its severity from `<n>` (`sd-daemon(3)`); for
    ///     people the line has both in words.
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

    /// Starts the log of this process. What ``Console`` has to complain of goes there as well from now on.
    static func start(_ threshold: LogThreshold) throws(TransportError) -> Log {
        let service = try ServiceLog(threshold, isJournal: isJournal)
        Console.useLog(service)
        return service.log
    }

    /// The log that writes here.
    var log: Log { Log { [self] line in take(line) } }

    /// Has a line written as it is.
    func add(_ text: String) {
        writer.add(text)
    }

    /// Tells what was left out, and waits for a moment until everything is written.
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
        // The writer has to know when it is due.
        if isRepeat { writer.ring() }
    }

    private func add(_ line: Log.Line) { add(Self.text(line.level, line.text, isJournal: isJournal)) }

    private static func text(_ level: Log.Level, _ text: String, isJournal: Bool) -> String {
        isJournal ? journalLine(level, text) : Self.line(level, text, at: Date())
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
