import Foundation
import PostriderAgent
import Testing

@testable import PostriderCommands
@testable import postrider
@testable import postrider_agent

@Suite("The service extension of a manifest")
struct ServiceExtensionManifestTests {
    private func manifest(_ text: String, by user: UInt32 = 7) throws -> AppManifest {
        try AppManifests.read("topic: a.b\nprogram: /bin/sh\n" + text, "app.yaml", by: user)
    }

    @Test("is a program of its own, with a limit of its own", .bug(id: "K6"))
    func whole() throws {
        #expect(try manifest("").serviceExtension == nil)
        let text = "service-extension: {program: /bin/sed, arguments: [-n, p], time-limit: 1500ms}"
        #expect(
            try manifest(text).serviceExtension
                == AppManifest.ServiceExtension(
                    program: "/bin/sed", arguments: ["-n", "p"], milliseconds: 1500))
        let least = try manifest("service-extension: {program: /bin/sed}").serviceExtension
        #expect(least == AppManifest.ServiceExtension(program: "/bin/sed", milliseconds: 30_000))
    }

    @Test(
        "is refused with file, line and what to do", .bug(id: "K6"),
        arguments: [
            ("service-extension: /bin/sed", "service-extension"),
            ("service-extension: {arguments: [a]}", "'service-extension.program' is missing"),
            ("service-extension: {program: sed}", "absolute path"),
            ("service-extension: {program: /nowhere}", "is not there"),
            ("service-extension: {program: /bin/sed, time-limit: 31s}", "from 1s to 30s"),
            ("service-extension: {program: /bin/sed, time-limit: 10}", "time-limit"),
            ("service-extension: {program: /bin/sed, timelimit: 10s}", "did you mean 'time-limit'"),
        ])
    func mistakes(_ text: String, _ sentence: String) {
        let failure = #expect(throws: CommandFailure.self) { try manifest(text) }
        #expect(failure?.description.contains(sentence) == true, "\(String(describing: failure))")
        #expect(failure?.description.hasPrefix("app.yaml:3") == true)
    }
}
