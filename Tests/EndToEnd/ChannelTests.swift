import Foundation
import Testing

extension EndToEnd {
    @Suite("Channels", .serialized)
    struct ChannelTests {
        @Test("carry a broadcast of curl to a grpcio device, to an app, and to a device that comes later")
        func broadcast() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let folder = ["--directory", stage.path("dev")]
                let created = try stage.start("postrider", ["channels", "create", "--store"] + folder)
                let channel = try await created.line { !$0.isEmpty }
                #expect(try await created.exitCode() == 0)
                let device = try stage.python("subscribe.py", [relay.file, channel])
                let bearer = "bearer " + (try await device.line(startingWith: "bearer "))
                try await device.line { $0 == "subscribed" }
                _ = try await stage.startAgent(of: relay)
                let app = try stage.start(
                    "postrider-example-app",
                    [
                        "--topic", relay.topic, "--socket", stage.path("agent.sock"), "--channel", channel,
                        "--count", "1",
                    ])
                try await app.line { $0 == "subscribed: \(channel)" }

                let identity = UUID()
                let payload = #"{"aps":{"event":"update","content-state":{"home":1}},"minute":17}"#
                let headers = [
                    "authorization: \(bearer)", "apns-channel-id: \(channel)", "apns-priority: 10",
                    "apns-push-type: liveactivity", "apns-request-id: \(identity)",
                    "apns-expiration: \(Int(Date.now.timeIntervalSince1970) + 600)",
                ]
                let base = "https://\(relay.description.host):\(relay.description.providerPort)"
                func curl(_ path: String, _ more: [String]) async throws -> [String] {
                    let (exitCode, output) = try await stage.run(
                        "curl",
                        [
                            "--silent", "--show-error", "--http2", "--include", "--cacert",
                            relay.description.authorityFile,
                        ] + headers.flatMap { ["--header", $0] } + more + [base + path])
                    #expect(exitCode == 0)
                    return output.map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }
                }
                let sent = try await curl("/4/broadcasts/apps/\(relay.topic)", ["--data", payload])
                #expect(
                    sent == ["HTTP/2 200", "apns-request-id: \(identity)", "apns-id: \(identity)", ""])

                let name = identity.uuidString.lowercased()
                #expect(try await device.line(startingWith: "broadcast \(name) ") == payload)
                try await app.line { $0 == "  postrider.channel: \(channel)" }
                #expect(app.output.contains("  minute: 17"))
                #expect(try await app.exitCode() == 0)
                let late = try stage.start(
                    "postrider", ["device", "--json", "--count", "1", "--channel", channel] + folder)
                #expect(try await late.exitCode() == 0, "\(late.transcript)")
                #expect(
                    late.output.contains { $0.contains("\"channel\":\"\(channel)\"") && $0.contains(payload) }
                )

                let settings = try await curl("/1/apps/\(relay.topic)/channels", [])
                #expect(settings.first == "HTTP/2 200")
                #expect(settings.last == #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#)
                let list = try await curl("/1/apps/\(relay.topic)/all-channels", [])
                #expect(list.last == #"{"channels":["\#(channel)"]}"#)
                let deleted = try await curl("/1/apps/\(relay.topic)/channels", ["--request", "DELETE"])
                #expect(deleted == ["HTTP/2 204", "apns-request-id: \(identity)", ""])
                let gone = try await curl("/1/apps/\(relay.topic)/channels", [])
                #expect(gone.first == "HTTP/2 400" && gone.last == #"{"reason":"ChannelNotRegistered"}"#)
            }
        }

        @Test("outlive the relay with the broadcast that they have stored")
        func restart() async throws {
            try await onStage { stage in
                let ports = try await stage.lastingPorts()
                let relay = try await stage.startRelay(ports)
                let folder = ["--directory", stage.path("dev")]
                let created = try stage.start("postrider", ["channels", "create", "--store"] + folder)
                let channel = try await created.line { !$0.isEmpty }
                let sent = try stage.start(
                    "postrider",
                    ["send", "--channel", channel, "--payload", #"{"goal":1}"#, "--expiration"]
                        + ["\(Int(Date.now.timeIntervalSince1970) + 600)"] + folder)
                #expect(try await sent.exitCode() == 0, "\(sent.transcript)")
                try await relay.program.cutOff()
                _ = try await stage.startRelay(ports)
                let late = try stage.start(
                    "postrider", ["device", "--count", "1", "--channel", channel] + folder)
                #expect(try await late.exitCode() == 0, "\(late.transcript)")
                #expect(late.output.contains("broadcast to channel \(channel): {\"goal\":1}"))
            }
        }
    }
}
