import Foundation
import PostriderAgent
import PostriderCourier
import PostriderNotifications
import Testing

@testable import PostriderCommands
@testable import postrider
@testable import postrider_agent

@Suite("A manifest with a handler")
struct HandlerManifestTests {
    private func manifest(_ text: String, by user: UInt32 = 7) throws -> AppManifest {
        try AppManifests.read("topic: a.b\n" + text, "app.yaml", by: user)
    }

    @Test("says what is started, where, and how often at once")
    func whole() throws {
        let least = try manifest("run: [/bin/sh]")
        #expect(least.handler == AppManifest.Handler() && least.program == "/bin/sh")
        #expect(least.arguments == [] && least.user == 7 && least.handler?.parallelism == 1)
        let text = """
            run: [/bin/sh, -c, "true"]
            directory: /tmp
            handler-timeout: 300
            parallelism: 4
            apns-environment: development
            environment: [A=b]
            notifications: deny
            sandbox: {no-new-privileges: false, memory: 64MiB, processes: 9, open-files: 10, file-size: 1KiB}
            """
        let whole = try manifest(text)
        var sandbox = AppManifest.Sandbox()
        sandbox.hasNoNewPrivileges = false
        (sandbox.memoryBytes, sandbox.processes) = (64 << 20, 9)
        (sandbox.openFiles, sandbox.fileBytes) = (10, 1024)
        #expect(
            whole.handler
                == AppManifest.Handler(
                    directory: "/tmp", seconds: 300, parallelism: 4, environment: .development,
                    sandbox: sandbox))
        #expect(whole.arguments == ["-c", "true"] && whole.environment == ["A": "b"])
        #expect(whole.notifications == .denied)
    }

    @Test("may name a systemd unit in place of a program")
    func unit() throws {
        let manifest = try manifest("systemd-unit: reboot-once\nhandler-timeout: 90")
        #expect(manifest.handler == AppManifest.Handler(unit: "reboot-once", seconds: 90))
        #expect(manifest.program == "")
    }

    @Test("lies ready-made in deploy/examples, for the operator to change")
    func examples() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let folder = root.appending(path: "deploy/examples/handlers")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        for name in names where name.hasSuffix(".yaml") {
            let text = try String(contentsOf: folder.appending(path: name), encoding: .utf8)
            // The user `kiosk` does not exist on this machine.
            let manifest = try AppManifests.read(
                text.replacing("user: kiosk", with: "user: root"), name, by: 0)
            let program = URL(filePath: manifest.program).lastPathComponent
            if let unit = manifest.handler?.unit {
                #expect(names.contains("\(unit)@.service") && names.contains("\(unit).rules"))
            } else {
                #expect(FileManager.default.isExecutableFile(atPath: folder.path + "/" + program))
            }
        }
        #expect(names.count { $0.hasSuffix(".yaml") } == 4)
    }

    @Test("is not refused for a program that is missing: what comes may find it there")
    func missing() throws {
        #expect(try manifest("run: [/nowhere/at/all]").program == "/nowhere/at/all")
    }

    @Test(
        "is refused with file, line and what to do",
        arguments: [
            ("run: []", "'run' must name a program"), ("run: /bin/sh", "'run' must be a list"),
            ("run: [sh]", "absolute path"), ("run: [/bin/sh]\nprogram: /bin/sh", "is for apps that attach"),
            ("run: [/bin/sh]\nbackground: true", "is for apps that attach"),
            ("run: [/bin/sh]\nsystemd-unit: a", "exclude each other"),
            ("run: [/bin/sh]\ndirectory: here", "absolute path"),
            ("run: [/bin/sh]\nparallelism: 0", "from 1 to 32"),
            ("run: [/bin/sh]\nhandler-timeout: none", "handler-timeout"),
            ("run: [/bin/sh]\nsandbox: {memory: 1KiB}", "from 16MiB"),
            ("run: [/bin/sh]\nsandbox: {memry: 64MiB}", "did you mean 'memory'"),
            ("systemd-unit: a@.service", "must be the name of a template"),
            ("systemd-unit: ../a", "must be the name of a template"),
            ("systemd-unit: a\nsandbox: {processes: 1}", "'sandbox' is not a setting"),
            ("systemd-unit: a\ndirectory: /", "'directory' is not a setting"),
        ])
    func mistakes(_ text: String, _ sentence: String) {
        let failure = #expect(throws: CommandFailure.self) { try manifest(text) }
        #expect(failure?.description.contains(sentence) == true, "\(String(describing: failure))")
        #expect(failure?.description.hasPrefix("app.yaml:") == true)
    }
}
