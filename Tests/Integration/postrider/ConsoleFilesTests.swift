import Foundation
import PostriderConsole
import Testing

@Suite("The console's pages")
struct ConsoleFilesTests {
    @Test("are served, each file of the folder")
    func all() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../Sources/PostriderConsole/Pages")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(names.contains("index.html"))
        for name in names {
            let path = name == "index.html" ? "/" : "/" + name
            let file = try #require(ConsoleFile(path: path), "\(name) is not in ConsoleFile.files")
            #expect(file.bytes == Array(try Data(contentsOf: folder.appending(path: name))), "\(name)")
        }
    }
}
