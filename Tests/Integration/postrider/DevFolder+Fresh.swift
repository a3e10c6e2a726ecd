import Foundation

@testable import postrider

extension DevFolder {
    /// The folder of one test, in one that is not there yet either.
    static func fresh() -> DevFolder {
        DevFolder(FileManager.default.temporaryDirectory.appending(path: "\(UUID())/dev").path)
    }

    /// Removes it, and the one that it is in.
    func remove() { try? FileManager.default.removeItem(at: URL(filePath: path).deletingLastPathComponent()) }
}
