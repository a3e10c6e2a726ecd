/// Where the house writes what an operator should know. It is never called on the data path, and never with a
/// secret, a whole device token or a payload.
public struct Log: Sendable {
    /// How much a line matters, by syslog's numbers (RFC 5424 section 6.2.1).
    public enum Level: Int, Comparable, CaseIterable, Sendable {
        case error = 3
        case warning = 4
        case notice = 5
        case info = 6
        case debug = 7

        /// More severe levels come first.
        public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    /// A line, with what is needed to leave out its repeats.
    public struct Line: Sendable, Equatable {
        /// How much it matters.
        public let level: Level
        /// What it says.
        public let text: String
        /// Lines of the same kind repeat each other; nil for a line that is always written.
        public let kind: String?
        /// The address or the user that caused the line; nil if that is not known.
        public let source: String?
        /// How many things the line tells of.
        public let count: Int

        /// A line from its parts.
        public init(
            _ level: Level, _ text: String, kind: String? = nil, from source: String? = nil, count: Int = 1
        ) {
            self.level = level
            self.text = text
            self.kind = kind
            self.source = source
            self.count = count
        }
    }

    private let write: @Sendable (Line) -> Void

    /// A log that hands each line to `write`, from any thread. Nothing is left out.
    public init(_ write: @escaping @Sendable (Level, String) -> Void) {
        self.init { line in write(line.level, line.text) }
    }

    /// A log that hands each line to `write`, from any thread, which can leave out repeats (``RepeatFilter``).
    public init(_ write: @escaping @Sendable (Line) -> Void) { self.write = write }

    /// A log that forgets everything, for tests and quiet tools.
    public static let none = Log { (_: Line) in }

    /// Writes a line.
    ///
    /// - Parameters:
    ///   - kind: to be set for a line that a peer or an app can cause as often as it likes: of lines of one kind the
    ///     first is written, the others are counted. There are few kinds; a kind never contains what a peer chooses.
    ///   - source: the address, the network or the user that caused the line, to count how many there are.
    ///   - count: how many things the line tells of, such as dropped notifications.
    public func write(
        _ level: Level, _ text: String, kind: String? = nil, from source: String? = nil, count: Int = 1
    ) {
        write(Line(level, text, kind: kind, from: source, count: count))
    }

    /// Something failed that an operator must look at.
    public func error(_ text: @autoclosure () -> String, kind: String? = nil, from source: String? = nil) {
        write(.error, text(), kind: kind, from: source)
    }

    /// Something is wrong that the process works around.
    public func warning(_ text: @autoclosure () -> String, kind: String? = nil, from source: String? = nil) {
        write(.warning, text(), kind: kind, from: source)
    }

    /// Something that an operator wants to see in normal running.
    public func notice(_ text: @autoclosure () -> String, kind: String? = nil, from source: String? = nil) {
        write(.notice, text(), kind: kind, from: source)
    }

    /// Ordinary events.
    public func info(_ text: @autoclosure () -> String, kind: String? = nil, from source: String? = nil) {
        write(.info, text(), kind: kind, from: source)
    }

    /// Detail for finding faults.
    public func debug(_ text: @autoclosure () -> String) { write(.debug, text()) }
}
