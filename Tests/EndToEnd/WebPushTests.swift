import Testing

extension EndToEnd {
    @Suite("Web Push", .serialized)
    struct WebPushTests {
        @Test("carries messages of senders to browsers, and meets the abuses of its port as documented")
        func life() async throws {
            try await onStage { stage in
                let port = try await stage.lastingPorts()[0]
                let relay = try await stage.startRelay(options: ["--web-port", port])
                let program = try stage.python("web_push.py", [relay.file])
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
                #expect(relay.program.isRunning)
                let counters = try await stage.counters(of: relay)
                #expect(counters.isBalanced && counters.delivered > 100)
            }
        }

        @Test("takes a text of curl for a device by its name, and refuses a token that was removed")
        func plainSend() async throws {
            try await onStage { stage in
                let port = try await stage.lastingPorts()[0]
                let relay = try await stage.startRelay(options: ["--web-port", port])
                let device = try await stage.startDevice(of: relay)
                let control = ["--control", relay.description.controlAddress]
                let topic = relay.description.topics[0]
                func operate(_ words: String...) async throws -> String? {
                    let program = try stage.start("postrider", ["send-tokens"] + words + control)
                    #expect(try await program.exitCode() == 0, "\(program.transcript)")
                    return program.output.first
                }
                let token = try #require(try await operate("add", "cron", "--topic", topic))
                let url = "https://127.0.0.1:\(port)/send/\(topic)/a-device-that-prints"
                func curl(_ more: String...) async throws -> String? {
                    let arguments = [
                        "-sS", "--cacert", relay.description.authorityFile, "-w", " %{http_code}", "-H",
                        "Authorization: Bearer \(token)", "-H", "Title: Backup", url,
                    ]
                    return try await stage.run("curl", arguments + more).output.last
                }
                #expect(try await curl("-d", "it is done")?.hasSuffix("} 200") == true)
                let received = try await device.program.line { $0.hasPrefix("received ") }
                #expect(received.hasSuffix(#"{"aps":{"alert":{"body":"it is done","title":"Backup"}}}"#))
                #expect(try await curl("-d", "x", "-H", "Priority: 9")?.hasSuffix(" 400") == true)
                _ = try await operate("remove", "cron")
                #expect(try await curl("-d", "again")?.hasSuffix(" 401") == true)
            }
        }

        @Test("gives each message one receipt, although the relay is killed at every step")
        func receipts() async throws {
            try await onStage { stage in
                let port = try await stage.lastingPorts()[0]
                for step in ["send", "acknowledge", "read", "finish"] {
                    let relay = try await stage.startRelay(options: ["--web-port", port])
                    let program = try stage.python(
                        "web_receipts.py", [relay.file, stage.path("state.json"), step])
                    #expect(try await program.exitCode() == 0, "\(step): \(program.transcript)")
                    try await relay.program.cutOff()
                }
            }
        }
    }
}
