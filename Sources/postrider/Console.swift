import Foundation

/// What the commands write. Nothing is buffered, and a reader that has gone is no error.
enum Console {
    /// Writes a line, or several, to stdout: what the user asked for.
    static func say(_ text: String) {
        try? FileHandle.standardOutput.write(contentsOf: Data("\(text)\n".utf8))
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
}
