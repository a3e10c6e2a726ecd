import Foundation
import Testing

extension EndToEnd {
    @Suite("A service extension that is written with the kit", .serialized)
    struct ServiceExtensionProgramTests {
        private func run(_ payload: String) throws -> Program {
            let app = Place.products.appending(path: "postrider-example-app").path
            let script = #"printf %s "$0" | exec "$1" --service-extension"#
            return try Program(URL(filePath: "/bin/sh"), ["-c", script, payload, app])
        }

        @Test("writes the payload as it is to be shown, and ends", .bug(id: "K6"))
        func change() async throws {
            let program = try run(
                #"{"aps":{"alert":{"title":"T","body":"closed"},"mutable-content":1},"secret":"b3Blbg=="}"#)
            #expect(try await program.exitCode() == 0, "\(program.transcript)")
            let output = try JSONSerialization.jsonObject(with: Data(program.output.joined().utf8))
            let payload = try #require(output as? [String: Any])
            let aps = try #require(payload["aps"] as? [String: Any])
            #expect(aps["alert"] as? [String: String] == ["title": "T", "body": "open"])
            #expect(payload["secret"] as? String == "b3Blbg==")
        }

        @Test("says what it reads where it is given something else", .bug(id: "K6"))
        func nonsense() async throws {
            let program = try run("nonsense")
            #expect(try await program.exitCode() == 1)
            #expect(program.errors.first?.contains("reads a push's payload") == true)
        }
    }
}
