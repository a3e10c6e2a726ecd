import Foundation
import Testing

@testable import PostriderSystem
@testable import PostriderTransport

@Suite("A program that is run for what it writes", .timeLimit(.minutes(10)))
struct ProgramRunTests {
    private func run(
        _ script: String, input: [UInt8] = [], keeping rule: KeptOutput = .all(atMost: 100_000),
        whenBegun: (ProgramRun) -> Void = { _ in }
    ) throws -> ProgramResult {
        let loop = try EventLoop()
        var found: ProgramResult?
        let start = ProgramStart(
            path: "/bin/sh", arguments: ["-c", script], environment: ["PATH": "/usr/bin:/bin"])
        let program = try ProcessTable(on: loop).run(start, input: input, keeping: rule) { found = $0 }
        #expect(program.identifier > 0 && program.startedAt > 0)
        whenBegun(program)
        while found == nil { loop.turn() }
        program.kill()
        return try #require(found)
    }

    @Test("reads its input to the end, however long that is", .bug(id: "K6"))
    func input() throws {
        for count in [0, 1, 4097, 90_000] {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
            #expect(try run("exec cat", input: bytes) == ProgramResult(ending: .exited(0), output: bytes))
        }
        // It is no failure if a program does not read its input.
        #expect(try run("echo a", input: [1, 2]).output == Array("a\n".utf8))
    }

    @Test("is ended where it writes more than it may", .bug(id: "K6"))
    func limit() throws {
        let result = try run("head -c 1001 /dev/zero; exec sleep 1000", keeping: .all(atMost: 1000))
        #expect(result == ProgramResult(ending: .killed(9), output: [], isCut: true))
        #expect(try run("head -c 1000 /dev/zero", keeping: .all(atMost: 1000)).output.count == 1000)
    }

    @Test("may write as much as it likes where only the end is kept, errors as well")
    func tail() throws {
        let result = try run("head -c 300000 /dev/zero; printf b >&2; printf c", keeping: .tail(3))
        #expect(result == ProgramResult(ending: .exited(0), output: [0] + Array("bc".utf8)))
        #expect(try run("printf a", keeping: .tail(3)).output == Array("a".utf8))
    }

    @Test("has done when it ends, whoever holds its output still, and takes them with it", .bug(id: "K6"))
    func children() throws {
        let result = try run("sleep 1000 & echo $!")
        let child = try #require(
            Int32(
                String(decoding: result.output, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
            ))
        #expect(result.ending == .exited(0))
        // Returns false if the process has ended, even if its new parent has not waited for it yet.
        func isRunning() -> Bool {
            let text = try? String(contentsOfFile: "/proc/\(child)/stat", encoding: .utf8)
            return text.map { !$0.contains(") Z ") } ?? false
        }
        while isRunning() { continue }
    }

    @Test("can be asked to end, and can be ended", .bug(id: "K6"))
    func ending() throws {
        #expect(try run("exec sleep 1000", whenBegun: { $0.terminate() }).ending == .killed(15))
        #expect(
            try run("trap '' TERM; sleep 1000; sleep 1000", whenBegun: { $0.kill() }).ending == .killed(9))
    }

    @Test("that is not there is an error", .bug(id: "K6"))
    func absence() throws {
        let loop = try EventLoop()
        let start = ProgramStart(path: "/nonexistent/program", arguments: [], environment: [:])
        #expect(throws: TransportError.self) {
            try ProcessTable(on: loop).run(start, input: [], keeping: .all(atMost: 1)) { _ in }
        }
    }
}
