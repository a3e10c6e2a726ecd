import FoundationEssentials
import PostriderFileTrust

/// Reads and writes whole text files.
package enum FileText {
    /// The text of a file; nil if it does not exist.
    ///
    /// - Throws: ``CommandFailure``, with exit code 2 if the file is not UTF-8, because reading it again does not
    ///   help.
    package static func readIfThere(_ path: String) throws(CommandFailure) -> String? {
        do {
            return try text(try Data(contentsOf: URL(filePath: path)), path)
        } catch let error as CocoaError where error.code == .fileReadNoSuchFile {
            return nil
        } catch let failure as CommandFailure {
            throw failure
        } catch {
            throw CommandFailure("The file \(path) cannot be read: \(reason(error)).")
        }
    }

    /// The text of a file that must exist, and that only root and the user of this process may be able to change.
    package static func readUnchangeable(_ path: String, _ purpose: String) throws(CommandFailure) -> String {
        let bytes: [UInt8]
        do throws(FileAccessError) {
            bytes = try FileAccessRule.unchangeable.open(path).read(atMost: mostBytes)
        } catch {
            throw CommandFailure("\(purpose) \(path) \(error.explanation).", exitCode: error.exitCode)
        }
        return try text(bytes, path)
    }

    /// The text of a file that must exist, and that only root and the user of this process can read.
    package static func readSecret(_ path: String) throws(CommandFailure) -> String {
        let bytes: [UInt8]
        do throws(FileAccessError) {
            bytes = try FileAccessRule.secret().open(path).read(atMost: mostSecretBytes)
        } catch {
            throw CommandFailure("The file \(path) \(error.explanation).", exitCode: error.exitCode)
        }
        return try text(bytes, path)
    }

    /// The text of a file that must exist. `purpose` begins the sentence about a missing one: `The key`.
    package static func read(_ path: String, _ purpose: String) throws(CommandFailure) -> String {
        if let text = try readIfThere(path) { return text }
        throw CommandFailure("\(purpose) \(path) is not there: give the path of one that is.")
    }

    /// Makes a directory that only its owner can use, and those above it, if it is not there. The error ends with
    /// `advice`.
    package static func makeDirectory(_ path: String, advice: String) throws(CommandFailure) {
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw CommandFailure("The directory \(path) cannot be made: \(advice).")
        }
    }

    /// Replaces a file atomically with one of this mode, which only its owner can read if no mode is given. It is
    /// private from its first moment, because the process creates no files for others (`main.swift`).
    package static func write(_ text: String, to path: String, mode: Int = 0o600) throws(CommandFailure) {
        do {
            try Data(text.utf8).write(to: URL(filePath: path), options: .atomic)
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        } catch {
            throw CommandFailure("The file \(path) cannot be written: check its directory and the disk.")
        }
    }

    /// Replaces a file as ``write(_:to:mode:)`` does. If it was there, its owner, group and mode stay: a service that
    /// reads the file as another user can still read it.
    package static func replace(_ path: String, with text: String, mode: Int) throws(CommandFailure) {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        let kept = attributes?.filter { [.ownerAccountID, .groupOwnerAccountID].contains($0.key) } ?? [:]
        try write(text, to: path, mode: attributes?[.posixPermissions] as? Int ?? mode)
        do {
            if !kept.isEmpty { try FileManager.default.setAttributes(kept, ofItemAtPath: path) }
        } catch {
            throw CommandFailure(
                "The file \(path) is written, but its owner is another one now: run this as root, or as its "
                    + "owner.")
        }
    }

    /// The most bytes of a configuration, a manifest or another text.
    private static let mostBytes = 16 << 20
    /// The most bytes of a file with a password.
    private static let mostSecretBytes = 4096

    private static func text(_ bytes: some Collection<UInt8>, _ path: String) throws(CommandFailure) -> String
    {
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let wrong = lines.firstIndex { String(validating: $0, as: UTF8.self) == nil } ?? 0
        throw CommandFailure(
            "\(path):\(wrong + 1): this line is not UTF-8; save the file in that encoding.", exitCode: 2)
    }

    /// The reason of an error of Foundation, in our words.
    private static func reason(_ error: any Error) -> String {
        switch (error as? CocoaError)?.code {
        case .fileReadNoPermission?: "this user may not"
        default: "it is no file, or the disk failed"
        }
    }
}

extension FileAccessError {
    /// 1 if the system refuses the file, 2 if its owner has to change something first.
    fileprivate var exitCode: Int32 {
        if case .system = self { 1 } else { 2 }
    }
}
