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

    /// Writes a file that only its owner can read, in place of one that is there; never half of it.
    static func write(_ text: String, to path: String) throws(CommandFailure) {
        let files = FileManager.default
        let draft = path + ".new"
        do {
            guard
                files.createFile(
                    atPath: draft, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600])
            else { throw CocoaError(.fileWriteUnknown) }
            if files.fileExists(atPath: path) { try files.removeItem(atPath: path) }
            try files.moveItem(atPath: draft, toPath: path)
        } catch {
            throw CommandFailure("The file \(path) cannot be written: check its directory and the disk.")
        }
    }

    /// Why Foundation could not do something, as far as it tells in words of its own.
    private static func reason(_ error: any Error) -> String {
        switch error {
        case CocoaError.fileReadNoPermission: "this user may not"
        case CocoaError.fileReadInapplicableStringEncoding, CocoaError.fileReadCorruptFile:
            "it is no UTF-8 text"
        default: error.localizedDescription
        }
    }
}
