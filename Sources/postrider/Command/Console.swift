import FoundationEssentials
import PostriderNotifications
import PostriderTransport
import Synchronization

/// What the commands write. What stdout does not take is told on stderr, once, and a command that has said less than it
/// was asked for does not end with 0 (``Commands``). A reader that has gone, such as `head`, has read what it wanted:
/// that is no error.
///
/// A command that does something and ends waits for its reader. One that serves others does not: its log and its output
/// have a thread each (``LineWriter``).
enum Console {
    private static let hasFailed = Atomic(false)
    private static let services = Services()

    /// What writes for this process without having anybody wait.
    private final class Services: Sendable {
        let log = Mutex<ServiceLog?>(nil)
        let output = Mutex<LineWriter?>(nil)
    }

    /// Whether something that the user asked for could not be written.
    static var isIncomplete: Bool { hasFailed.load(ordering: .relaxed) }

    /// Writes a line, or several, to stdout: what the user asked for. Waits for the reader. Answers whether it was
    /// taken; a command that would go on telling what happens has no more to do where it was not.
    @discardableResult
    static func say(_ text: String) -> Bool {
        do throws(StandardStream.Failure) {
            try StandardStream.output.write(text + "\n")
            return true
        } catch {
            if error == .notTaken, !hasFailed.exchange(true, ordering: .relaxed) {
                complain("postrider: The output cannot be written: check the disk that it goes to.")
            }
            return false
        }
    }

    /// Writes to the terminal that stdout is, without a line's end of its own; what it does not take is lost.
    static func draw(_ text: String) { try? StandardStream.output.write(text) }

    /// What writes to stdout for a command that must not wait for the reader. ``end()`` waits a moment for it.
    ///
    /// - Parameter dropped: the line that tells how many lines were dropped, because nobody read.
    static func makeOutput(
        dropped: @escaping @Sendable (Int) -> String = { "\($0) lines were dropped: nobody read them" }
    ) throws(TransportError) -> LineWriter {
        let writer = try LineWriter(name: "output", write: say, dropped: dropped)
        services.output.withLock { $0 = writer }
        return writer
    }

    /// Writes a line to stderr: what the user should know besides.
    static func complain(_ text: String) {
        guard let log = services.log.withLock({ $0 }) else {
            _ = writeError(text)
            return
        }
        log.add(text)
    }

    /// Writes a line to stderr and waits for the reader. False: nobody will read it.
    @Sendable static func writeError(_ line: String) -> Bool {
        do throws(StandardStream.Failure) {
            try StandardStream.errors.write(line + "\n")
            return true
        } catch {
            return false
        }
    }

    /// From now on complaints are lines of this log.
    static func useLog(_ log: ServiceLog) { services.log.withLock { $0 = log } }

    /// The command is done: waits, for a moment, until what it has said is written.
    static func end() {
        services.output.withLock { $0 }?.flush()
        services.log.withLock { $0 }?.end()
    }

    /// A value as one line of JSON, with its keys in order.
    static func json(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }
}
