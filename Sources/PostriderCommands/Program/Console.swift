import FoundationEssentials
import PostriderNotifications
import PostriderSystem
package import PostriderTransport
import Synchronization

/// The output of commands. If stdout does not take a line, this is reported once on stderr, and the command does not
/// end with exit code 0 (``Commands``). A closed pipe is no error: a reader such as `head` has read what it wanted.
///
/// A command that does something and ends waits for its reader. A service does not wait: its log and its output have
/// a thread each (``LineWriter``).
package enum Console {
    private static let hasFailed = Atomic(false)
    private static let services = Services()

    /// The writers of this process that nothing waits for.
    private final class Services: Sendable {
        let log = Mutex<ServiceLog?>(nil)
        let output = Mutex<LineWriter?>(nil)
    }

    /// Whether some output that the user asked for could not be written.
    package static var isIncomplete: Bool { hasFailed.load(ordering: .relaxed) }

    /// Writes one or several lines of output to stdout, and waits for the reader. Returns whether they were taken; if
    /// not, a command that would report further events should end.
    @discardableResult
    package static func say(_ text: String) -> Bool {
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

    /// Writes to the terminal behind stdout without a line break. What it does not take is lost.
    package static func draw(_ text: String) { try? StandardStream.output.write(text) }

    /// Makes the writer to stdout of a command that must not wait for the reader. ``end()`` waits a moment for it.
    ///
    /// - Parameter dropped: makes the line that tells how many lines were dropped because nobody read.
    package static func makeOutput(
        dropped: @escaping @Sendable (Int) -> String = { "\($0) lines were dropped: nobody read them" }
    ) throws(TransportError) -> LineWriter {
        let writer = try LineWriter(name: "output", write: say, dropped: dropped)
        services.output.withLock { $0 = writer }
        return writer
    }

    /// Writes a line to stderr, beside the output of the command.
    package static func complain(_ text: String) {
        guard let log = services.log.withLock({ $0 }) else {
            _ = writeError(text)
            return
        }
        log.add(text)
    }

    /// Writes a line to stderr and waits for the reader. Returns false if nobody will read it.
    @Sendable package static func writeError(_ line: String) -> Bool {
        do throws(StandardStream.Failure) {
            try StandardStream.errors.write(line + "\n")
            return true
        } catch {
            return false
        }
    }

    /// Writes complaints to this log from now on.
    package static func useLog(_ log: ServiceLog) { services.log.withLock { $0 = log } }

    /// Waits a moment until everything is written, at the end of the command.
    package static func end() {
        services.output.withLock { $0 }?.flush()
        services.log.withLock { $0 }?.end()
    }

    /// Encodes a value as one line of JSON with sorted keys.
    package static func json(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }
}
