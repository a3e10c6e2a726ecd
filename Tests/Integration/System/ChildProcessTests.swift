import Foundation
import Testing

@testable import PostriderSystem
@testable import PostriderTransport

@Suite("A program that is started", .timeLimit(.minutes(10)))
struct ChildProcessTests {
    /// Runs a shell script to its end.
    private func run(_ script: String, environment: [String: String] = [:]) throws -> ProcessEnding? {
        let loop = try EventLoop()
        let processes = ProcessTable(on: loop)
        var found: ProcessEnding?
        let start = ProgramStart(path: "/bin/sh", arguments: ["-c", script], environment: environment)
        let process = try processes.start(start) { found = $0 }
        #expect(process.identifier > 0 && process.startedAt > 0)
        while found == nil { loop.turn() }
        // The process has ended: the signal must not reach another process that now has its number.
        process.kill()
        return found
    }

    @Test("says how it ended")
    func endings() throws {
        #expect(try run("exit 0") == .exited(0))
        #expect(try run("exit 7") == .exited(7))
        #expect(try run("kill -9 $$") == .killed(9))
    }

    @Test("is told what it is to be told, and nothing else")
    func cleanliness() throws {
        #expect(try run(#"test "$A" = "b c""#, environment: ["A": "b c"]) == .exited(0))
        #expect(try run(#"test -z "$HOME$LANG""#) == .exited(0))
        #expect(try run("test $PWD = /") == .exited(0))
    }

    @Test("has no descriptors but those of its output, a process group of its own, and no signal blocked")
    func separation() throws {
        let file = try #require(FileHandle(forReadingAtPath: "/etc/hostname"))
        #expect(fcntl(file.fileDescriptor, F_SETFD, 0) == 0)
        #expect(try run("test ! -e /proc/self/fd/\(file.fileDescriptor)") == .exited(0))
        #expect(try run(#"read a b c d group rest < /proc/$$/stat; test "$group" = $$"#) == .exited(0))
        Signals.block([SIGTERM])
        #expect(try run("kill -15 $$; exit 1") == .killed(15))
        #expect(try run("! read line") == .exited(0))
    }

    @Test("is ended again, and nothing is left of it, where no descriptor is free to hear of its end")
    func withdrawal() async {
        await #expect(processExitsWith: .exitCode(0)) {
            let loop = try EventLoop()
            let processes = ProcessTable(on: loop)
            // This takes the only free descriptor that a program may have.
            if fcntl(0, F_GETFD) < 0 { unsafe _ = open("/dev/null", O_RDONLY) }
            var limit = rlimit(rlim_cur: 1, rlim_max: 1)
            unsafe _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            let start = ProgramStart(path: "/bin/sleep", arguments: ["300"], environment: [:])
            guard (try? processes.start(start) { _ in }) == nil else { exit(1) }
            exit(waitpid(-1, nil, 0) == -1 && errno == ECHILD ? 0 : 2)
        }
    }

    @Test("leaves no zombies of its own children behind, and is waited for by nobody else", .bug(id: "A14"))
    func orphans() async {
        await #expect(processExitsWith: .success) {
            // This process becomes the parent of orphaned processes below it, like the first process of a container.
            #expect(try Self.becomeSubreaper() == 0)
            Signals.block([SIGCHLD])
            let loop = try EventLoop()
            let processes = ProcessTable(on: loop)
            try processes.reapOrphans()
            var endings: [ProcessEnding] = []
            for code: Int32 in 1...10 {
                // Three children are orphaned at once, and end before, with and after their parent.
                let script = "(exit 3 &); (sleep 0.1 &); (sleep 0.0\(code) &); exit \(code)"
                let start = ProgramStart(path: "/bin/sh", arguments: ["-c", script], environment: [:])
                _ = try processes.start(start) { endings.append($0) }
            }
            // Another thread of the test process may have received the signal in place of the loop.
            let timer = loop.makeTimer { processes.reap() }
            while waitid(P_ALL, 0, nil, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD {
                timer.arm(afterMilliseconds: 10)
                loop.turn()
            }
            for code: Int32 in 1...10 { #expect(endings.contains(.exited(code))) }
            #expect(endings.count == 10 && processes.children.isEmpty)
        }
    }

    /// Calls prctl(2) with PR_SET_CHILD_SUBREAPER. Swift imports no function with a variable number of arguments.
    private static func becomeSubreaper() throws -> Int32 {
        typealias Control = @convention(c) (Int32, UInt, UInt, UInt, UInt) -> Int32
        let control = unsafe try #require(dlsym(nil, "prctl"))
        return unsafe unsafeBitCast(control, to: Control.self)(36, 1, 0, 0, 0)
    }

    @Test("that is not there is told in a sentence")
    func absence() throws {
        let loop = try EventLoop()
        let processes = ProcessTable(on: loop)
        let start = ProgramStart(path: "/nowhere/program", arguments: [], environment: [:])
        #expect(throws: TransportError.self) { try processes.start(start) { _ in } }
    }

    @Test("ends when it is asked to, and is taken over only by whoever knows when it was started")
    func adoption() throws {
        let loop = try EventLoop()
        let processes = ProcessTable(on: loop)
        var (found, heard) = (ProcessEnding?.none, 0)
        let start = ProgramStart(path: "/bin/sleep", arguments: ["300"], environment: [:])
        let process = try processes.start(start) { found = $0 }
        #expect(
            processes.adopt(process.identifier, startedAt: process.startedAt + 1) { _ in heard += 1 } == nil)
        let adopted = processes.adopt(process.identifier, startedAt: process.startedAt) { _ in heard += 1 }
        try #require(adopted).terminate()
        while found == nil || heard == 0 { loop.turn() }
        #expect([.killed(15), .unknown].contains(try #require(found)))
        #expect(processes.adopt(process.identifier, startedAt: process.startedAt) { _ in } == nil)
    }

    @Test("is not taken over where nobody knows when it was started")
    func unknownStart() async {
        await #expect(processExitsWith: .success) {
            let loop = try EventLoop()
            let processes = ProcessTable(on: loop)
            // One free descriptor is left, for the process, and none for reading from it.
            let free = dup(0)
            close(free)
            var limit = rlimit(rlim_cur: rlim_t(free + 1), rlim_max: rlim_t(free + 1))
            unsafe _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            #expect(processes.adopt(getpid(), startedAt: 0) { _ in } == nil)
        }
    }
}
