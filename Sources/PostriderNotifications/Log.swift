/// The log for the operator. It is never called on the hot path, and never with a secret, a whole device token or a
/// payload.
public struct Log: Sendable {
    /// The severity of a line, with syslog's numbers (RFC 5424, section 6.2.1).
    public enum Level: Int, Comparable, CaseIterable, Sendable {
        case error = 3
        case warning = 4
        case notice = 5
        case info = 6
        case debug = 7

        /// Orders more severe levels first.
        public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    /// A line of the log, with what is needed to leave out its repeats.
    public struct Line: Sendable, Equatable {
        /// The severity of the line.
        public let level: Level
        /// The text of the line.
        public let text: String
        /// The kind of the line: lines of the same kind repeat each other. nil for a line that is always written.
        public let kind: String?
        /// The address or the user that caused the line; nil if unknown.
        public let source: String?
        /// How many events the line reports.
        public let count: Int
        /// What the line is about, for programs that read the log.
        public let fields: Fields

        /// Creates a line from its parts.
        public init(
            _ level: Level, _ text: String, kind: String? = nil, from source: String? = nil, count: Int = 1,
            fields: Fields = Fields()
        ) {
            self.level = level
            self.text = text
            self.kind = kind
            self.source = source
            self.count = count
            self.fields = fields
        }
    }

    private let write: @Sendable (Line) -> Void

    /// Creates a log that passes each line to `write`, on any thread. Repeats are not left out.
    public init(_ write: @escaping @Sendable (Level, String) -> Void) {
        self.init { line in write(line.level, line.text) }
    }

    /// Creates a log that passes each line to `write`, on any thread. `write` can leave out repeats
    /// (``RepeatFilter``).
    public init(_ write: @escaping @Sendable (Line) -> Void) { self.write = write }

    /// A log that discards everything, for tests and quiet tools.
    public static let none = Log { (_: Line) in }

    /// Writes a line.
    ///
    /// - Parameters:
    ///   - kind: required for a line that a peer or an app can cause any number of times: the first line of a kind is
    ///     written, the others are counted. There must be few kinds, so a kind never contains text that a peer
    ///     chooses.
    ///   - source: the address, the network or the user that caused the line, to count how many there are.
    ///   - count: how many events the line reports, such as dropped notifications.
    ///   - fields: the connection, device, app or push that the line is about. The text names it, too.
    public func write(
        _ level: Level, _ text: String, kind: String? = nil, from source: String? = nil, count: Int = 1,
        fields: Fields = Fields()
    ) {
        write(Line(level, text, kind: kind, from: source, count: count, fields: fields))
    }

    /// Logs a failure that an operator must look at.
    public func error(
        _ text: @autoclosure () -> String, kind: String? = nil, from source: String? = nil,
        fields: Fields = Fields()
    ) {
        write(.error, text(), kind: kind, from: source, fields: fields)
    }

    /// Logs a problem that the process can work around.
    public func warning(
        _ text: @autoclosure () -> String, kind: String? = nil, from source: String? = nil,
        fields: Fields = Fields()
    ) {
        write(.warning, text(), kind: kind, from: source, fields: fields)
    }

    /// Logs an event that an operator wants to see in normal operation.
    public func notice(
        _ text: @autoclosure () -> String, kind: String? = nil, from source: String? = nil,
        fields: Fields = Fields()
    ) {
        write(.notice, text(), kind: kind, from: source, fields: fields)
    }

    /// Logs an ordinary event.
    public func info(
        _ text: @autoclosure () -> String, kind: String? = nil, from source: String? = nil,
        fields: Fields = Fields()
    ) {
        write(.info, text(), kind: kind, from: source, fields: fields)
    }

    /// Logs a detail for finding faults.
    public func debug(_ text: @autoclosure () -> String, fields: Fields = Fields()) {
        write(.debug, text(), fields: fields)
    }
}
