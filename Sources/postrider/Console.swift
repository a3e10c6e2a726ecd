import Foundation
import Synchronization

/// What the commands write. Nothing is buffered. What stdout does not take is told on stderr, once, and a command that
/// has said less than it was asked for does not end with 0 (``Commands``). A reader that has gone, such as `head`, has
/// read what it wanted: that is no error.
enum Console {
    private static let hasFailed = Atomic(false)

    /// Whether something that the user asked for could not be written.
    static var isIncomplete: Bool { hasFailed.load(ordering: .relaxed) }

    /// Writes a line, or several, to stdout: what the user asked for. Answers whether it was taken; a command that
    /// would go on telling what happens has no more to do where it was not.
    @discardableResult
    static func say(_ text: String) -> Bool {
        do {
            try FileHandle.standardOutput.write(contentsOf: Data("\(text)\n".utf8))
            return true
        } catch {
            if !isOfGoneReader(error), !hasFailed.exchange(true, ordering: .relaxed) {
                complain("postrider: The output cannot be written: check the disk that it goes to.")
            }
            return false
        }
    }

    /// Writes a line to stderr: what the user should know besides.
    static func complain(_ text: String) {
        try? FileHandle.standardError.write(contentsOf: Data("\(text)\n".utf8))
    }

    /// A value as one line of JSON, with its keys in order.
    static func json(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    /// Whether an error of Foundation's means that the other end of a pipe is closed; it has no name for that.
    private static func isOfGoneReader(_ error: any Error) -> Bool {
        let error = error as NSError
        let cause = error.userInfo[NSUnderlyingErrorKey] as? NSError ?? error
        return cause.domain == NSPOSIXErrorDomain && cause.code == Int(POSIXErrorCode.EPIPE.rawValue)
    }
}
