import Foundation
import Testing

extension EndToEnd {
    @Suite("A stock library, pointed at the relay and otherwise as it is,", .serialized)
    struct LibraryTests {
        /// A provider library, and the behaviour that its program must report.
        struct Library: CustomTestStringConvertible, Sendable {
            let program: String
            let ways: [String]

            var testDescription: String { "\(program): \(ways.joined(separator: "; "))" }
        }

        /// Options of relays between which clients must find no difference.
        private static let relays: [[String]] = [[], ["--apple"]]

        @Test(
            "is met in its ways, by a relay that keeps to Apple in everything as well",
            arguments: [
                Library(
                    program: "aioapns_ways.py",
                    ways: [
                        "it pushes without ALPN and :authority",
                        "its apns-id comes back as it was spelled",
                        "it understands every refusal",
                        "it closes when it is idle, and comes again",
                        "it learns since when a token is gone",
                    ]),
                Library(
                    program: "kalyke_ways.py",
                    ways: [
                        "it pushes with an iat that is text, and gets the apns-id that it needs",
                        "it pushes over a connection for each push",
                        "it knows every reason that it gets",
                    ]),
                Library(
                    program: "pyapns_ways.py",
                    ways: [
                        "it pushes without a push type, with an iat that has a fraction",
                        "it pushes with every field",
                        "it learns since when a token is gone",
                        "it tries three times with an expired token",
                    ]),
            ], relays)
        func ways(_ library: Library, _ options: [String]) async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay(options: options)
                let program = try stage.python(library.program, [relay.file])
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
                #expect(program.output == library.ways)
            }
        }

        @Test(
            "Node's http2 as node-apn uses it: empty SETTINGS, PINGs, a deadline, a reason in every refusal",
            arguments: relays)
        func node(_ options: [String]) async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay(options: options)
                let device = try await stage.startDevice(of: relay)
                let program = Place.programs.appending(path: "provider.mjs").path
                let (exitCode, output) = try await stage.run(
                    "node", [program, relay.file, device.token, device.bearer])
                #expect(exitCode == 0)
                let identity = output.first { $0.hasPrefix("pushed ") }.flatMap {
                    UUID(uuidString: String($0.dropFirst(7)))
                }
                #expect(
                    output.filter { !$0.hasPrefix("pushed ") } == [
                        "an empty SETTINGS frame is acknowledged", "PINGs are answered",
                        "every refusal has a body that says why", "two hundred at once are accepted",
                    ])
                let payload = try await device.payload(of: try #require(identity))
                #expect(payload == #"{"aps":{"alert":{"title":"from","body":"Node"}}}"#)
            }
        }

        @Test(
            "aapns with a certificate alone pushes, and learns when that is for elsewhere",
            arguments: relays)
        func aapns(_ options: [String]) async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay(options: options)
                let device = try await stage.startDevice(of: relay)
                let program = try stage.python(
                    "aapns_ways.py", [relay.file, device.token, stage.folder.path],
                    by: Place.pythonWithAapns)
                let identity = UUID(uuidString: try await program.line(startingWith: "pushed "))
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
                #expect(
                    program.output.dropFirst() == [
                        "it pushes two hundred at once, with a certificate and no token",
                        "it understands refusals",
                        "it pushes without a topic where its certificate has but one",
                        "it learns that its certificate is for the other environment",
                    ])
                let payload = try await device.payload(of: try #require(identity))
                #expect(payload.contains(#""body":"aapns""#))
            }
        }
    }
}
