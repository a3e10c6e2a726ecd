import Foundation
import Testing

extension EndToEnd {
    @Suite("The log", .serialized)
    struct LogTests {
        @Test(
            "keeps nobody waiting when stderr is a full pipe that nobody reads",
            .bug(id: "R2"), arguments: ["relay", "agent"])
        func stuck(_ service: String) async throws {
            try await onStage { stage in
                let program = try stage.python(
                    "stuck.py", [service, stage.product("postrider").path, stage.folder.path])
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
            }
        }

        @Test("names what strangers do wrong, where from and by its standard name, once", .bug(id: "R14"))
        func strangers() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let program = try stage.python("strangers.py", [relay.file])
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
                for words in [
                    "the peer does not speak HTTP/2 (PROTOCOL_ERROR)", "COMPRESSION_ERROR", "unknown_ca",
                    "GOAWAY ENHANCE_YOUR_CALM: no?more",
                ] {
                    let line = try await relay.program.line { $0.contains(words) }
                    #expect(line.contains("from 127.0.0.1:") || line.contains("at 127.0.0.1:"), "\(line)")
                }
            }
        }

        /// The lines of a program's stderr, each of which must be an object of texts.
        private func objects(_ program: Program) throws -> [[String: String]] {
            try program.errors.map { try JSONDecoder().decode([String: String].self, from: Data($0.utf8)) }
        }

        @Test("is one JSON object per line, with fields, whatever strangers send")
        func json() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay(options: ["--log-format", "json"])
                let program = try stage.python("strangers.py", [relay.file])
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
                try await relay.program.line { $0.contains("GOAWAY ENHANCE_YOUR_CALM: no?more") }
                relay.program.send(SIGTERM)
                #expect(try await relay.program.exitCode() == 0)
                let objects = try objects(relay.program)
                for reason in ["unknown_ca", "COMPRESSION_ERROR", "ENHANCE_YOUR_CALM"] {
                    let told = objects.first { $0["reason"] == reason }
                    #expect(told?["connection"]?.hasPrefix("127.0.0.1:") == true, "\(objects)")
                    #expect(told?["level"] == "info" && told?["message"]?.contains(reason) == true)
                }
                #expect(objects.allSatisfy { $0["time"]?.hasSuffix("Z") == true })
            }
        }

        private static let obstacle = FullDiskTests.obstacle("tmpfs")

        @Test(
            "goes to systemd's journal as entries with fields; without a journal, the service does not start",
            .disabled(if: obstacle != nil, obstacle))
        func journal() async throws {
            try await onStage { stage in
                let program = try stage.python(
                    "journald.py",
                    [
                        stage.product("postrider").path, "dev", "--log-format", "journal", "--log-level",
                        "info", "--directory", stage.path("dev"), "--provider-port", "0",
                        "--development-port", "0", "--device-port", "0",
                    ])
                let refused = try await program.line(startingWith: "refused ")
                #expect(
                    refused.hasPrefix("1 postrider: log-format is journal, but systemd-journald does not"))
                let text = try await program.line { $0.contains(#""MESSAGE": "ready: "#) }
                let entry = try JSONDecoder().decode([String: String].self, from: Data(text.utf8))
                #expect(entry["PRIORITY"] == "5" && entry["SYSLOG_IDENTIFIER"] == "postrider", "\(entry)")
                #expect(try await program.line(startingWith: "ended ") == "0")
                #expect(program.errors.isEmpty, "\(program.errors)")
            }
        }

        @Test("says what a load balancer should not send", .bug(id: "R13"))
        func proxies() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let program = try stage.python("strangers.py", [relay.file, "--proxies"])
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
                for port in ["provider", "device"] {
                    for name in ["PROXY protocol v1", "PROXY protocol v2", "HTTP without TLS"] {
                        try await relay.program.line {
                            $0.contains(" info: \(port) connection from 127.0.0.1:") && $0.contains(name)
                        }
                    }
                }
            }
        }

        @Test("has one line for many refused enrolments, with an address and their number", .bug(id: "R15"))
        func enrolments() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let program = try stage.python("strangers.py", [relay.file, "--enrolments"])
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
                relay.program.send(SIGTERM)
                #expect(try await relay.program.exitCode() == 0)
                let told = relay.program.errors.filter { $0.contains("an enrolment from") }
                #expect(told.first?.contains("127.0.0.1:") == true)
                #expect(told.last?.contains("more like this within 10 seconds, from 1 source)") == true)
                // A slow machine takes some intervals of ten seconds, but not forty lines.
                #expect(told.count < 20, "\(told)")
            }
        }

        @Test(
            "says how many connections the limit of open files leaves; a limit that is too low is refused",
            .bug(id: "R17"), arguments: ["dev", "agent"])
        func descriptors(_ service: String) async throws {
            try await onStage { stage in
                let arguments =
                    service == "dev"
                    ? [
                        "dev", "--directory", stage.path("dev"), "--provider-port", "0",
                        "--development-port", "0", "--device-port", "0", "--log-level", "info",
                    ]
                    : [
                        "agent", "--relay", "localhost:1", "--ca", stage.path("none.pem"), "--state",
                        stage.path("state"), "--socket", stage.path("agent.sock"),
                    ]
                let script = #"ulimit -n "$0" && exec "$@""#
                func start(_ limit: String) throws -> Program {
                    try stage.start(
                        URL(filePath: "/bin/bash"),
                        ["-c", script, limit, stage.product("postrider").path] + arguments)
                }
                let refused = try start("80")
                #expect(try await refused.exitCode() == 1, "\(refused.transcript)")
                let sentence = "The limit of open files (nofile) is 80, which leaves room for no connection"
                #expect(refused.errors.count == 1 && refused.errors.first?.contains(sentence) == true)
                guard service == "dev" else { return }
                let started = try start("1000")
                let line = try await started.line { $0.contains("room for") }
                #expect(line.contains(" connections (nofile 1000)"), "\(line)")
                started.send(SIGTERM)
                #expect(try await started.exitCode() == 0)
            }
        }
    }
}
