import Dispatch
import PostriderNotifications
import Synchronization
import Testing

@testable import PostriderCommands
@testable import postrider

/// A reader that takes a line when the test allows it.
private final class SlowReader: Sendable {
    private let lines = Mutex<[String]>([])
    private let permits = DispatchSemaphore(value: 0)
    private let isAsked = DispatchSemaphore(value: 0)

    func write(_ line: String) -> Bool {
        isAsked.signal()
        permits.wait()
        lines.withLock { $0.append(line) }
        return true
    }

    /// Returns when the writer blocks.
    func blocks() { isAsked.wait() }

    /// Allows all further lines.
    func wakeUp() { for _ in 0..<100_000 { permits.signal() } }

    var read: [String] { lines.withLock { $0 } }
}

@Suite("A reader that has stopped")
struct LineWriterTests {
    private func makeLog(_ reader: SlowReader) throws -> ServiceLog {
        try ServiceLog(LogThreshold(.info), LogEncoder(format: .text, isJournal: true)) { reader.write($0) }
    }

    @Test("blocks nobody who logs; what there is no room for is dropped, counted and told", .bug(id: "R2"))
    func dropped() throws {
        let reader = SlowReader()
        let service = try makeLog(reader)
        let log = service.log
        log.notice("first")
        reader.blocks()
        // Each of these calls would wait for the reader if the log wrote its lines itself.
        for number in 0..<Limits.logLines + 7 { log.info("\(number)") }
        #expect(reader.read.isEmpty)
        reader.wakeUp()
        #expect(service.end())
        let lines = reader.read
        #expect(lines.count == Limits.logLines + 2)
        #expect(lines.prefix(2) == ["<5>first", "<6>0"])
        #expect(lines[lines.count - 2] == "<6>\(Limits.logLines - 1)")
        #expect(lines.last == "<4>7 log lines were dropped because stderr was not read")
        log.info("there is room again")
        #expect(service.end())
        #expect(reader.read.last == "<6>there is room again")
    }

    @Test("costs no more memory than the limits say, however long its lines are", .bug(id: "R2"))
    func bytes() throws {
        let reader = SlowReader()
        let service = try makeLog(reader)
        service.log.info("first")
        reader.blocks()
        let text = String(repeating: "x", count: Limits.logBytes / 4)
        for _ in 1...10 { service.log.info(text) }
        reader.wakeUp()
        #expect(service.end())
        #expect(reader.read.count == 1 + 3 + 1)
        #expect(reader.read.last == "<4>7 log lines were dropped because stderr was not read")
    }

    @Test("does not keep a program from ending", .bug(id: "R2"))
    func end() throws {
        let reader = SlowReader()
        let service = try makeLog(reader)
        service.log.info("first")
        reader.blocks()
        service.log.info("last")
        #expect(!service.end())
        reader.wakeUp()
        #expect(service.end())
        #expect(reader.read == ["<6>first", "<6>last"])
    }

    @Test("has a line's writer told when it is written, and when it is not")
    func acknowledged() throws {
        let results = Mutex<[Bool]>([])
        let writer = try LineWriter(
            name: "test", write: { $0 == "good" }, dropped: { "\($0)" })
        writer.add("good") { result in results.withLock { $0.append(result) } }
        writer.add("bad") { result in results.withLock { $0.append(result) } }
        #expect(writer.flush(milliseconds: 60_000))
        #expect(results.withLock { $0 } == [true, false])
    }
}

@Suite("A service's log")
struct ServiceLogRepeatTests {
    @Test(
        "tells of lines that a peer repeats once, and of their number at the latest when it ends",
        .bug(id: "R15"), arguments: LogFormat.allCases)
    func repeats(_ format: LogFormat) throws {
        let lines = Mutex<[String]>([])
        let service = try ServiceLog(LogThreshold(.info), LogEncoder(format: format, isJournal: false)) {
            line in
            lines.withLock { $0.append(line) }
            return true
        }
        for number in 1...500 {
            service.log.notice("refused \(number)", kind: "refused", from: "192.0.2.\(number % 2)")
        }
        service.log.debug("detail")
        #expect(service.end())
        let told = lines.withLock { $0 }
        #expect(told.first?.contains("refused 1") == true)
        // On a slow machine, an interval may have ended in between.
        #expect(told.count < 10)
        #expect(told.last?.contains("more like this within 10 seconds, from 2 sources)") == true)
        let field = [LogFormat.json: #""repeats":""#, .journal: "\nPOSTRIDER_REPEATS="][format]
        if let field { #expect(told.first?.contains(field) == false && told.last?.contains(field) == true) }
    }
}
