import Foundation
import PostriderAgent
import PostriderCourier
import Testing

@testable import PostriderCommands
@testable import postrider
@testable import postrider_agent

@Suite("Manifests of apps")
struct AppManifestsTests {
    private func manifest(_ text: String, by user: UInt32 = 0) throws -> AppManifest {
        try AppManifests.read(text, "app.yaml", by: user)
    }

    @Test("say all there is to know of an app")
    func whole() throws {
        let text = """
            topic: com.example.app
            program: /bin/sh
            arguments: [-c, "exit 0"]
            user: 1234
            background: true
            exits-on-suspend: true
            environment: [A=b=c, D=]
            name: An app
            icon: app
            desktop-file: org.example.app
            handler-timeout: 90
            notifications: deny
            """
        var expected = AppManifest(
            topic: "com.example.app", user: 1234, program: "/bin/sh", arguments: ["-c", "exit 0"],
            environment: ["A": "b=c", "D": ""], mayRunInBackground: true, exitsOnSuspend: true)
        (expected.name, expected.icon, expected.desktopFile) = ("An app", "app", "org.example.app")
        (expected.handlerSeconds, expected.notifications) = (90, .denied)
        #expect(try manifest(text) == expected)
        #expect(try manifest("topic: a.b\nprogram: /bin/sh\nhandler-timeout: none").handlerSeconds == nil)
        let least = try manifest("topic: com.example.app\nprogram: /bin/sh", by: 7)
        #expect(least == AppManifest(topic: "com.example.app", user: 7, program: "/bin/sh"))
    }

    @Test(
        "are refused with file, line and what to do",
        arguments: [
            ("program: /bin/sh", "'topic' is missing"), ("topic: a b\nprogram: /bin/sh", "bundle identifier"),
            ("topic: a.b", "'program' is missing"), ("topic: a.b\nprogram: sh", "absolute path"),
            ("topic: a.b\nprogram: /nowhere", "is not there"), ("topic: a.b\nprogram: /etc", "is not there"),
            ("topic: a.b\nprogram: /etc/passwd", "cannot be executed"),
            ("topic: a.b\nprogram: /bin/sh\nuser: no-such-user", "a user of this device"),
            ("topic: a.b\nprogram: /bin/sh\nuser: 8", "run the agent as root"),
            ("topic: a.b\nprogram: /bin/sh\nbackground: maybe", "true or false"),
            ("topic: a.b\nprogram: /bin/sh\ndesktop-file: /a/b", "a name without .desktop"),
            ("topic: a.b\nprogram: /bin/sh\nnotifications: yes", "must be ask, allow or deny"),
            ("topic: a.b\nprogram: /bin/sh\nhandler-timeout: 0", "whole seconds from 1 to 86400, or none"),
            ("topic: a.b\nprogram: /bin/sh\nenvironment: [A]", "NAME=VALUE"),
            ("topic: a.b\nprogram: /bin/sh\nenvironment: [POSTRIDER_TOPIC=x]", "the agent does"),
            ("topic: a.b\nprogram: /bin/sh\nbackgrund: true", "did you mean 'background'"),
        ])
    func mistakes(_ text: String, _ sentence: String) {
        let failure = #expect(throws: CommandFailure.self) { try manifest(text, by: 7) }
        #expect(failure?.description.contains(sentence) == true, "\(String(describing: failure))")
        #expect(failure?.description.hasPrefix("app.yaml:") == true)
    }

    @Test("allow an app some of what it asks for, or all of it", .bug(id: "A15"))
    func notificationOptions() throws {
        let allowed = "topic: a.b\nprogram: /bin/sh\nnotifications: allow\n"
        #expect(try manifest(allowed, by: getuid()).notificationOptions == nil)
        let some = try manifest(allowed + "notification-options: [alert, sound, badge]\n", by: getuid())
        #expect(some.notificationOptions == [.alert, .sound, .badge])
        for (text, sentence) in [
            (allowed + "notification-options: [horn]", "critical, settings, not 'horn'"),
            ("topic: a.b\nprogram: /bin/sh\nnotification-options: [alert]", "notifications: allow only"),
        ] {
            let failure = #expect(throws: CommandFailure.self) { try manifest(text, by: getuid()) }
            #expect(failure?.description.contains(sentence) == true, "\(String(describing: failure))")
        }
    }

    @Test("are refused where somebody else could exchange the program by its directory")
    func writableDirectory() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let program = directory + "/program"
        try Data("#!/bin/sh\n".utf8).write(to: URL(filePath: program))
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program)
        for (mode, isGood) in [(0o755, true), (0o777, false)] {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: directory)
            let found = Result { try manifest("topic: a.b\nprogram: \(program)", by: getuid()) }
            #expect(((try? found.get()) != nil) == isGood, "\(found)")
            guard case .failure(let error) = found else { continue }
            #expect(
                "\(error)".contains(
                    "lies below the directory \(directory), which can be changed by everybody"))
        }
    }

    @Test("are refused where somebody else could change the program")
    func writableProgram() throws {
        let program = FileManager.default.temporaryDirectory.appending(path: "\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: program) }
        try Data("#!/bin/sh\n".utf8).write(to: URL(filePath: program))
        let text = "topic: a.b\nprogram: \(program)"
        for (mode, isGood) in [(0o755, true), (0o775, false), (0o757, false), (0o644, false)] {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: program)
            let found = try? manifest(text, by: getuid())
            #expect((found != nil) == isGood, "\(mode)")
        }
    }

    @Test("that others can change are refused, as their programs are", .bug(id: "A16"))
    func writableManifest() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "\(UUID())")
        defer { try? FileManager.default.removeItem(at: directory) }
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let file = directory.appending(path: "a.yaml")
        try Data("topic: com.example.a\nprogram: /bin/sh\n".utf8).write(to: file)
        for (mode, reason) in [
            (0o644, nil), (0o666, "can be changed by everybody; run chmod o-w on it"),
            (0o664, "can be changed by the group"),
        ] {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file.path)
            guard let reason else {
                #expect(try AppManifests.read(directory.path).count == 1)
                continue
            }
            let failure = #expect(throws: CommandFailure.self) { try AppManifests.read(directory.path) }
            #expect(failure?.sentence.hasPrefix("The manifest \(file.path) \(reason)") == true)
            #expect(failure?.exitCode == 2)
        }
    }

    @Test("of a directory are read by name, each topic once")
    func directory() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "\(UUID())")
        defer { try? FileManager.default.removeItem(at: directory) }
        #expect(throws: CommandFailure.self) { try AppManifests.read(directory.path) }
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        for name in ["b.yaml", "a.yaml", ".hidden.yaml", "c.txt"] {
            let text = "topic: com.example.\(name.prefix(1))\nprogram: /bin/sh\n"
            try Data(text.utf8).write(to: directory.appending(path: name))
        }
        #expect(try AppManifests.read(directory.path).map(\.topic) == ["com.example.a", "com.example.b"])
        try Data("topic: com.example.a\nprogram: /bin/sh".utf8).write(to: directory.appending(path: "d.yaml"))
        #expect(throws: CommandFailure.self) { try AppManifests.read(directory.path) }
    }
}
