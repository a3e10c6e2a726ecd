import Foundation
import PostriderNotifications
import PostriderSystem
import PostriderTransport
import Testing

@testable import PostriderAgent

@Suite("What starts the programs of apps")
struct ProcessLauncherTests {
    @Test("judges a program at each start, for it may have been given to others since its manifest was read")
    func exchanged() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "launch-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let program = directory + "/program"
        try Data("#!/bin/sh\n".utf8).write(to: URL(filePath: program))
        func setMode(_ mode: Int, of path: String) throws {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        }
        try setMode(0o755, of: program)
        let loop = try EventLoop()
        let launcher = ProcessLauncher(ProcessTable(on: loop), socketPath: "/socket")
        let manifest = AppManifest(topic: "com.example.one", user: UserAccount.own, program: program)
        #expect(try launcher.program(manifest, "push").path == program)
        for (path, mode, words) in [
            (directory, 0o777, "lies below the directory \(directory), which can be changed by everybody"),
            (program, 0o757, "can be changed by everybody"),
        ] {
            try setMode(mode, of: path)
            let failure = #expect(throws: AgentFailure.self) { try launcher.program(manifest, "push") }
            #expect(failure?.description.contains("was not started: it \(words)") == true)
            try setMode(0o755, of: path)
        }
        // The program of a service extension has the same check.
        try setMode(0o777, of: directory)
        #expect(throws: AgentFailure.self) {
            try launcher.run(.init(program: program), of: .sample(), input: []) { _ in }
        }
        withExtendedLifetime(loop) {}
    }
}
