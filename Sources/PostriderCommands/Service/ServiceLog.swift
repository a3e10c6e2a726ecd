import FoundationEssentials
import PostriderJournal
package import PostriderNotifications
import PostriderSystem
package import PostriderTransport
import Synchronization

/// The levels of the log, in the words of the setting.
package enum LogLevel: String, CaseIterable {
    case error, warning, notice, info, debug

    package var level: Log.Level {
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
package final class LogThreshold: Sendable {
    private let number: Atomic<Int>

    package init(_ level: Log.Level) { number = Atomic(level.rawValue) }

    /// The least severe level that is written.
    package var level: Log.Level {
        get { Log.Level(rawValue: number.load(ordering: .relaxed)) ?? .info }
        set { number.store(newValue.rawValue, ordering: .relaxed) }
    }
}

/// The log of a service, on stderr or in the journal. Code that logs never waits for its reader (``LineWriter``), and a
/// peer cannot flood the log (``Notifications/RepeatFilter``).
package final class ServiceLog: Sendable {
    private let repeats = Repeats()
    private let threshold: LogThreshold
    private let encoding: Encoding
    private let writer: LineWriter

    /// Counts the lines that were left out. It is used by the writer's thread, too.
    private final class Repeats: Sendable {
        let filter = Mutex(RepeatFilter())
    }

    /// How lines become text. A reload changes it while the writer's thread uses it.
    private final class Encoding: Sendable {
        private let encoder: Mutex<LogEncoder>

        init(_ encoder: LogEncoder) { self.encoder = Mutex(encoder) }

        var current: LogEncoder {
            get { encoder.withLock { $0 } }
            set { encoder.withLock { $0 = newValue } }
        }
    }

    /// - Parameters:
    ///   - threshold: less severe lines are left out.
    ///   - encoder: writes lines as text.
    ///   - write: writes the text of a line; may block.
    package init(
        _ threshold: LogThreshold, _ encoder: LogEncoder,
        write: @escaping @Sendable (String) -> Bool = Console.writeError
    ) throws(TransportError) {
        self.threshold = threshold
        let encoding = Encoding(encoder)
        self.encoding = encoding
        writer = try LineWriter(
            name: "log", write: write,
            dropped: { count in
                let encoder = encoding.current
                let reader = encoder.format == .journal ? "the journal" : "stderr"
                let sentence =
                    count == 1
                    ? "1 log line was dropped because \(reader) was not read"
                    : "\(count) log lines were dropped because \(reader) was not read"
                return encoder.text(of: Log.Line(.warning, sentence), at: Date())
            },
            idle: { [repeats] in
                let now = EventLoop.monotonicNanoseconds
                let (lines, next) = repeats.filter.withLock { ($0.takeDue(now: now), $0.nextDue) }
                return LineWriter.Idle(
                    lines: lines.map { encoding.current.text(of: $0, at: Date()) },
                    milliseconds: next.map { Int((max($0, now) - now) / 1_000_000) + 1 })
            },
            counter: { CrashFlush.unwritten.add($0, ordering: .relaxed) })
    }

    /// Starts the log of this process. Complaints of ``Console`` are written to it from now on.
    ///
    /// - Throws: ``CommandFailure`` if the log is to go to a journal that is not there, or `TransportError`.
    package static func start(_ threshold: LogThreshold, _ format: LogFormat = .text) throws -> ServiceLog {
        try requirePlace(for: format)
        let service = try ServiceLog(threshold, encoder(format), write: put)
        Console.useLog(service)
        return service
    }

    /// Refuses a format whose reader is not there.
    package static func requirePlace(for format: LogFormat) throws(CommandFailure) {
        guard format == .journal, !Journal.isThere else { return }
        throw CommandFailure(
            "log-format is journal, but systemd-journald does not listen at \(Journal.socket): start "
                + "it, or choose text or json.")
    }

    /// Writes further lines from this level on, in this format.
    package func change(_ level: Log.Level, _ format: LogFormat) {
        threshold.level = level
        if format != encoding.current.format { encoding.current = Self.encoder(format) }
    }

    private static func encoder(_ format: LogFormat) -> LogEncoder {
        LogEncoder(format: format, isJournal: format != .journal && isJournal)
    }

    /// Writes the text of a line to the reader that it was made for; the format may have changed since.
    private static func put(_ text: String) -> Bool {
        text.hasPrefix(LogEncoder.entryStart)
            ? Journal.write(LogEncoder.fields(ofEntry: text)) : Console.writeError(text)
    }

    /// The log that writes here.
    package var log: Log { Log { [self] line in take(line) } }

    /// Writes a complaint of the program.
    package func add(_ text: String) {
        writer.add(encoding.current.text(ofComplaint: text, at: Date()))
    }

    /// Logs how many lines were left out, and waits for a moment until everything is written.
    @discardableResult
    package func end() -> Bool {
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

    private func add(_ line: Log.Line) { writer.add(encoding.current.text(of: line, at: Date())) }

    /// Whether stderr goes to the journal. systemd passes device and inode of the socket that it made for the
    /// journal; stderr may have been redirected since.
    ///
    /// - Parameters:
    ///   - stream: the value of `JOURNAL_STREAM`, such as `8:12345`.
    ///   - target: the target of the link `/proc/self/fd/2`, such as `socket:[12345]`.
    package static func isJournal(stream: String?, target: String?) -> Bool {
        guard let inode = stream?.split(separator: ":").last else { return false }
        return target == "socket:[\(inode)]"
    }

    /// Whether stderr of this process goes to the journal.
    package static var isJournal: Bool {
        isJournal(
            stream: ProcessInfo.processInfo.environment["JOURNAL_STREAM"],
            target: try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/2")
        )
    }
}
