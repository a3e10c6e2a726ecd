import Foundation

/// Waits for children of the test process that nobody else waits for, and names them.
///
/// An exit test of swift-testing asks the kernel for any child that has ended (`waitid` with `P_ALL` and `WNOWAIT`).
/// If nobody waits for one of them, it gets that one forever, and no exit test ends any more.
enum StrayChildren {
    private static let patienceSeconds = 5

    /// Starts the watch, once for all tests.
    static let watch: Void = Thread.detachNewThread {
        var ended: [Int32: Int] = [:]
        while true {
            Thread.sleep(forTimeInterval: 1)
            let now = zombies()
            ended = Dictionary(uniqueKeysWithValues: now.keys.map { ($0, ended[$0, default: 0] + 1) })
            for (process, seconds) in ended where seconds >= patienceSeconds {
                FileHandle.standardError.write(
                    Data("a test has left its child \(process) (\(now[process] ?? "?"))\n".utf8))
                _ = waitpid(process, nil, WNOHANG)
            }
        }
    }

    /// The children that have ended, by number, with the names of their programs. The children of exit tests have
    /// this program's name.
    private static func zombies() -> [Int32: String] {
        let own = getpid()
        let name = (try? String(contentsOfFile: "/proc/self/comm", encoding: .utf8))?.dropLast()
        var found: [Int32: String] = [:]
        for entry in (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? [] {
            guard let process = Int32(entry),
                let text = try? String(contentsOfFile: "/proc/\(entry)/stat", encoding: .utf8),
                let start = text.firstIndex(of: "("), let end = text.lastIndex(of: ")")
            else { continue }
            let fields = text[end...].split(separator: " ")
            let program = text[text.index(after: start)..<end]
            guard fields.count > 2, fields[1] == "Z", fields[2] == "\(own)", program != name ?? "" else {
                continue
            }
            found[process] = String(program)
        }
        return found
    }
}
