import Foundation

@testable import PostriderCommands
@testable import postrider

extension DevFolder {
    /// Returns a folder for one test, below another one; neither exists yet.
    static func fresh() -> DevFolder {
        DevFolder(FileManager.default.temporaryDirectory.appending(path: "\(UUID())/dev").path)
    }

    /// Removes the folder and the one above it.
    func remove() { try? FileManager.default.removeItem(at: URL(filePath: path).deletingLastPathComponent()) }
}
