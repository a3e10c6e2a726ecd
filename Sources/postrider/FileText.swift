import Foundation

/// Texts in files, read and written whole.
enum FileText {
    /// The text of a file; nil where there is no such file.
    static func readIfThere(_ path: String) throws(CommandFailure) -> String? {
        do {
            return try String(contentsOf: URL(filePath: path), encoding: .utf8)
        } catch CocoaError.fileReadNoSuchFile {
            return nil
        } catch {
            throw CommandFailure("The file \(path) cannot be read: \(reason(error)).")
        }
    }

    /// The text of a file that must be there; `purpose` begins the sentence about one that is not: `The key`.
    static func read(_ path: String, _ purpose: String) throws(CommandFailure) -> String {
        if let text = try readIfThere(path) { return text }
        throw CommandFailure("\(purpose) \(path) is not there: give the path of one that is.")
    }

    /// Writes a file that only its owner can read, in place of one that is there; never half of it. It is private
    /// from its first moment, because the process makes nothing for others (`main.swift`).
    static func write(_ text: String, to path: String) throws(CommandFailure) {
        do {
            try Data(text.utf8).write(to: URL(filePath: path), options: .atomic)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        } catch {
            throw CommandFailure("The file \(path) cannot be written: check its directory and the disk.")
        }
    }

    /// Why Foundation could not do something, in our words.
    private static func reason(_ error: any Error) -> String {
        switch error {
        case CocoaError.fileReadNoPermission: "this user may not"
        case CocoaError.fileReadInapplicableStringEncoding, CocoaError.fileReadCorruptFile:
            "it is no UTF-8 text"
        default: "it is no file, or the disk failed"
        }
    }
}
