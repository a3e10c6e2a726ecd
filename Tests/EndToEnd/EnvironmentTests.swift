import Foundation
import Testing

extension EndToEnd {
    @Suite("The two environments of a relay", .serialized)
    struct EnvironmentTests {
        @Test("are told apart by aioapns on both ports, while a grpcio device changes from one to the other")
        func both() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let program = try stage.python("environments.py", [relay.file])
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
                #expect(program.output.last == "told apart")
            }
        }

        @Test("answer curl with a unique identifier in development only")
        func curl() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                for isDevelopment in [false, true] {
                    let device = try await stage.startDevice(of: relay, isDevelopment: isDevelopment)
                    let (exitCode, output) = try await stage.run(
                        "curl",
                        [
                            "--silent", "--show-error", "--http2", "--cacert",
                            relay.description.authorityFile,
                            "--include", "--header", "authorization: \(device.bearer)",
                            "--header", "apns-topic: \(relay.topic)", "--data", #"{"aps":{"alert":"curl"}}"#,
                            relay.url(device.token, isDevelopment: isDevelopment),
                        ])
                    #expect(exitCode == 0)
                    #expect(output.first?.hasPrefix("HTTP/2 200") == true, "\(output)")
                    let unique = output.filter { $0.hasPrefix("apns-unique-id") }
                    #expect(unique.count == (isDevelopment ? 1 : 0))
                    #expect(
                        unique.allSatisfy { $0.wholeMatch(of: /apns-unique-id: [0-9a-f-]{36}\s*/) != nil })
                }
            }
        }

        @Test("are ports of postrider serve, too, where a provider that says nothing is sent away")
        func serve() async throws {
            try await onStage { stage in
                let dev = try await stage.startRelay()
                dev.program.send(SIGTERM)
                #expect(try await dev.program.exitCode() == 0)
                let relay = try stage.startServe(
                    options: [
                        "--development-provider-address", "127.0.0.1:0", "--provider-idle-seconds", "1",
                    ])
                let ready = try await relay.line { $0.contains("ready: ") }
                let ports = ready.matches(of: /127\.0\.0\.1:(\d+)/).prefix(2).map { String($0.1) }
                for port in ports {
                    let program = try stage.python(
                        "idle.py", ["127.0.0.1", port, dev.description.authorityFile])
                    #expect(try await program.exitCode() == 0, "\(program.transcript)")
                    #expect(program.output.last == "sent away")
                }
                #expect(ports.count == 2 && relay.isRunning)
            }
        }

        @Test("that behave as Apple does let aioapns meet a grpcio device all the same")
        func apple() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay(options: ["--apple"])
                let program = try stage.python("meet.py", [relay.file])
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
                let device = try await stage.startDevice(of: relay)
                let pushes = try stage.python("push.py", [relay.file, device.token, "--count", "100"])
                #expect(try await pushes.exitCode() == 0, "\(pushes.transcript)")
            }
        }
    }
}
