import Foundation
import Testing

extension EndToEnd {
    @Suite("A push by a stock client", .serialized)
    struct PushTests {
        private static func curl(
            _ relay: RelayUnderTest, _ device: DeviceUnderTest, _ token: String, _ more: [String]
        )
            -> [String]
        {
            let headers = ["authorization: \(device.bearer)", "apns-topic: \(relay.topic)"]
            return [
                "--silent", "--show-error", "--http2", "--cacert", relay.description.authorityFile,
                "--include",
            ]
                + headers.flatMap { ["--header", $0] } + more + [relay.url(token)]
        }

        @Test("of curl gets 200 with an empty body and its apns-id, and arrives")
        func curl() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let device = try await stage.startDevice(of: relay)
                let identity = UUID()
                let payload = #"{"aps": {"alert": {"title": "Hello", "body": "from curl"}}, "shelf": [1, 2]}"#
                let arguments = Self.curl(
                    relay, device, device.token, ["--header", "apns-id: \(identity)", "--data", payload])

                let (exitCode, output) = try await stage.run("curl", arguments)

                #expect(exitCode == 0)
                let lines = output.map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }
                #expect(lines == ["HTTP/2 200", "apns-id: \(identity)", ""])
                #expect(try await device.payload(of: identity) == payload)
            }
        }

        @Test(
            "of curl above the quota of its app is told how long to wait; a quota that is none is refused"
        )
        func quota() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay(options: ["--quotas", "topic=* pushes-per-second=1"])
                let device = try await stage.startDevice(of: relay)
                // The burst is ten.
                let urls = Array(repeating: relay.url(device.token), count: 20)
                let (exitCode, output) = try await stage.run(
                    "curl", Self.curl(relay, device, device.token, ["--data", "{\"aps\":{}}"] + urls))

                let lines = output.map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }
                #expect(exitCode == 0 && lines.count { $0 == "HTTP/2 200" } >= 10)
                #expect(lines.contains("HTTP/2 429") && lines.contains("retry-after: 1"))
                #expect(lines.contains { $0.contains(#"{"reason":"TooManyRequests"}"#) })

                let wrong = try stage.start(
                    "postrider", ["dev", "-d", stage.path("x"), "--quotas", "topic=a"])
                #expect(try await wrong.exitCode() == 2)
                #expect(
                    wrong.transcript.contains("--quotas must be at most 100 quotas"), "\(wrong.transcript)")
            }
        }

        @Test(
            "of curl as in Apple's recipe, a form and no certificate, succeeds"
        )
        func recipe() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let device = try await stage.startDevice(of: relay)
                let more = [
                    "--header", "content-type: application/x-www-form-urlencoded",
                    "--header", "apns-push-type: alert", "--header", "apns-priority: 10",
                    "--header", "apns-expiration: 0", "--data", #"{"aps":{"alert":"test"}}"#,
                    "--verbose", "--stderr", "-",
                ]
                let (exitCode, output) = try await stage.run(
                    "curl", Self.curl(relay, device, device.token, more))

                #expect(exitCode == 0)
                for line in ["ALPN: server accepted h2", "Request CERT (13)", "HTTP/2 200"] {
                    #expect(output.contains { $0.contains(line) }, "\(output)")
                }
            }
        }

        @Test("of curl that is refused gets its status, its reason as JSON, and an apns-id")
        func refusal() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let device = try await stage.startDevice(of: relay)
                let arguments = Self.curl(
                    relay, device, String(repeating: "0", count: 64), ["--data", #"{"aps":{}}"#])

                let (exitCode, output) = try await stage.run("curl", arguments)

                #expect(exitCode == 0)
                #expect(output.first?.hasPrefix("HTTP/2 400") == true)
                #expect(output.contains { $0.hasPrefix("content-type: application/json") })
                #expect(output.contains { $0.wholeMatch(of: /apns-id: [0-9A-F-]{36}\s*/) != nil })
                #expect(output.last == #"{"reason":"BadDeviceToken"}"#)
            }
        }

        @Test(
            "of aioapns reaches a grpcio device that enrolled, connected and registered, and is acknowledged")
        func meeting() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let program = try stage.python("meet.py", [relay.file])
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
                #expect(program.output.last == "met")
            }
        }

        @Test("keeps the frames that clients rely on: SETTINGS first, 200 without DATA, errors with one DATA")
        func frames() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let device = try await stage.startDevice(of: relay)
                let body = try stage.write(#"{"aps":{"alert":"frames"}}"#, to: "body")
                let headers = [
                    ":method: POST", "authorization: \(device.bearer)", "apns-topic: \(relay.topic)",
                ]
                let (exitCode, output) = try await stage.run(
                    "nghttp",
                    ["--null-out", "--verbose", "--data", body] + headers.flatMap { ["--header", $0] }
                        + [relay.url(device.token), relay.url("00")])

                #expect(exitCode == 0)
                let frames = ReceivedFrame.all(in: output)
                #expect(frames.first == ReceivedFrame(kind: "SETTINGS", stream: 0, flags: 0))
                for setting in [
                    "HEADER_TABLE_SIZE(0x01):4096", "INITIAL_WINDOW_SIZE(0x04):65535",
                    "MAX_FRAME_SIZE(0x05):16384", "MAX_HEADER_LIST_SIZE(0x06):8000",
                ] {
                    #expect(output.contains { $0.contains("[SETTINGS_\(setting)]") }, "\(setting)")
                }
                let answers = Dictionary(grouping: frames.filter { $0.stream != 0 }, by: \.stream)
                #expect(answers.count == 2)
                let shapes = answers.values.map { $0.map { "\($0.kind) \($0.endsStream)" } }.sorted {
                    $0.count < $1.count
                }
                #expect(shapes == [["HEADERS true"], ["HEADERS false", "DATA true"]])
            }
        }

        @Test(
            "of h2load, twenty thousand times over four connections, always succeeds and is accounted for",
            arguments: [(20_000, []), (2000, ["--stream-limit-ramp", "true"])] as [(Int, [String])])
        func load(_ count: Int, _ options: [String]) async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay(options: options)
                // One device token accepts at most ten thousand pushes in a row.
                var devices: [DeviceUnderTest] = []
                for _ in 0..<3 { devices.append(try await stage.startDevice(of: relay)) }
                let body = try stage.write(#"{"aps":{"alert":"load"}}"#, to: "body")
                let headers = [
                    ":method: POST", "authorization: \(devices[0].bearer)", "apns-topic: \(relay.topic)",
                ]
                let (exitCode, output) = try await stage.run(
                    "h2load",
                    ["--requests=\(count)", "--clients=4", "--max-concurrent-streams=100", "--data=\(body)"]
                        + headers.flatMap { ["--header", $0] } + devices.map { relay.url($0.token) })
                #expect(exitCode == 0)
                #expect(
                    output.contains { $0.hasPrefix("status codes: \(count) 2xx, 0 3xx, 0 4xx, 0 5xx") },
                    "\(output)")
                let counters = try await stage.counters(of: relay)
                #expect(counters.accepted == count && counters.isBalanced, "\(counters)")
            }
        }
    }
}

/// A frame that nghttp printed as received.
private struct ReceivedFrame: Equatable {
    let kind: String
    let stream: Int
    let flags: Int

    /// Whether the frame has the flag END_STREAM (RFC 9113, sections 6.1 and 6.2).
    var endsStream: Bool { flags & 1 != 0 }

    static func all(in output: [String]) -> [ReceivedFrame] {
        output.compactMap { line in
            let pattern = /.* recv (\w+) frame <length=\d+, flags=0x(\w+), stream_id=(\d+)>/
            guard let match = line.wholeMatch(of: pattern), let flags = Int(match.2, radix: 16),
                let stream = Int(match.3)
            else { return nil }
            return ReceivedFrame(kind: String(match.1), stream: stream, flags: flags)
        }
    }
}
