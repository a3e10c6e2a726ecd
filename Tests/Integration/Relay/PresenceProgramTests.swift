import Foundation
import PostriderNotifications
import PostriderSystem
import PostriderTransport
import Testing

@testable import PostriderRelay

@Suite("The program of on-presence")
struct PresenceProgramTests {
    private func event(_ number: Int) -> Control.DeviceEvent {
        // The enrolment is reported without a delay.
        Control.DeviceEvent(
            what: .enrolled, at: Int64(number), identity: "\(number)", name: "n", address: "", agent: "")
    }

    /// Runs a script for some events until `isOver` and the script's end, or for a minute. A script must not stay a
    /// zombie, because exit tests of other suites do not end while there is one.
    private func run(
        _ script: String, _ events: [Control.DeviceEvent], mistake: String? = nil, lines: LoggedLines,
        until isOver: @escaping () -> Bool
    ) throws {
        let loop = try EventLoop()
        let program = OperatorProgram(
            start: ProgramStart(
                path: "/bin/sh", arguments: ["-c", script], environment: ["PATH": "/usr/bin:/bin"])
        ) { mistake }
        let runner = PresenceProgram(program, before: [], on: loop, log: lines.log)
        runner.take(events)
        let start = ContinuousClock.now
        let watch = loop.makeTimer {}
        loop.turnEnded = { [unowned loop, unowned runner] in
            let hasEnded = isOver() && !runner.isRunning
            if hasEnded || ContinuousClock.now - start > .seconds(60) { return loop.stop() }
            watch.arm(afterMilliseconds: 10)
        }
        watch.arm(afterMilliseconds: 10)
        withExtendedLifetime(runner) { loop.run() }
        #expect(isOver())
    }

    @Test("reads a line of JSON for each device, and their number in its environment")
    func input() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
        defer { try? FileManager.default.removeItem(atPath: file) }
        try run(
            "cat > \(file).new; echo $POSTRIDER_EVENTS >> \(file).new; mv \(file).new \(file)",
            [event(1), event(2)],
            lines: LoggedLines()
        ) { FileManager.default.fileExists(atPath: file) }
        let text = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
        let identities = try text.dropLast().map {
            try JSONDecoder().decode(Control.DeviceEvent.self, from: Data($0.utf8)).identity
        }
        #expect(identities == ["1", "2"] && text.last == "2")
    }

    @Test("that fails is told in the log with the last that it said")
    func failure() throws {
        let lines = LoggedLines()
        try run("echo no room; exit 3", [event(1)], lines: lines) { !lines.all.isEmpty }
        #expect(
            lines.all.map(\.text) == ["the program of on-presence, /bin/sh, ended with exit code 3: no room"])
    }

    @Test("that cannot be run any more is told in the log")
    func mistake() throws {
        let lines = LoggedLines()
        try run("exit 0", [event(1)], mistake: "it is gone", lines: lines) { !lines.all.isEmpty }
        #expect(lines.all.map(\.text) == ["devices that connect and leave are told nobody: it is gone"])
    }
}
