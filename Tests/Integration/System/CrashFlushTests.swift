import Glibc
import Synchronization
import Testing

@testable import PostriderSystem
@testable import PostriderTransport

@Suite("A crash")
struct CrashFlushTests {
    @Test("waits a moment for the log's thread, so that the lines before it are written", .bug(id: "R2"))
    func written() async throws {
        let result = await #expect(
            processExitsWith: .signal(SIGABRT), observing: [\.standardOutputContent]
        ) {
            // Swift's backtraces may have set a handler.
            _ = signal(SIGABRT, SIG_DFL)
            CrashFlush.waitForLog()
            CrashFlush.unwritten.add(1, ordering: .relaxed)
            _ = try Thread.spawn(name: "log") {
                // The handler is removed as soon as the crash has begun.
                while isHandled(SIGABRT) {}
                try? StandardStream.output.write("the last line\n")
                CrashFlush.unwritten.subtract(1, ordering: .relaxed)
            }
            abort()
        }
        let output = String(decoding: try #require(result?.standardOutputContent), as: UTF8.self)
        #expect(output.contains("the last line"))
    }

    @Test("ends the process though nobody reads the log", .bug(id: "R2"))
    func stuck() async {
        await #expect(processExitsWith: .signal(SIGABRT)) {
            _ = signal(SIGABRT, SIG_DFL)
            CrashFlush.waitForLog()
            CrashFlush.unwritten.add(1, ordering: .relaxed)
            abort()
        }
    }
}

private func isHandled(_ number: Int32) -> Bool {
    var present = sigaction()
    guard unsafe sigaction(number, nil, &present) == 0 else { return false }
    return unsafe present.__sigaction_handler.sa_handler != nil
}
