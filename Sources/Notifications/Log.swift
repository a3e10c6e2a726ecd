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

    private let write: @Sendable (Level, String) -> Void

    /// A log that hands each line to `write`, from any thread.
    public init(_ write: @escaping @Sendable (Level, String) -> Void) { self.write = write }

    /// A log that forgets everything, for tests and quiet tools.
    public static let none = Log { _, _ in }

    /// Something failed that an operator must look at.
    public func error(_ line: @autoclosure () -> String) { write(.error, line()) }
    /// Something is wrong that the process works around.
    public func warning(_ line: @autoclosure () -> String) { write(.warning, line()) }
    /// Something that an operator wants to see in normal running.
    public func notice(_ line: @autoclosure () -> String) { write(.notice, line()) }
    /// Ordinary events.
    public func info(_ line: @autoclosure () -> String) { write(.info, line()) }
    /// Detail for finding faults.
    public func debug(_ line: @autoclosure () -> String) { write(.debug, line()) }
}
