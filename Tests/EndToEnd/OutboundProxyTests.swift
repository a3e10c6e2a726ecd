import Foundation
import Testing

/// A stock proxy between an agent and its relay.
enum OutboundProxy: String, CaseIterable, Sendable {
    /// tinyproxy, by CONNECT.
    case http
    /// microsocks, by SOCKS 5.
    case socks5
}

extension Stage {
    /// Starts a proxy at a port of 127.0.0.1.
    ///
    /// - Parameters:
    ///   - credentials: a user and a password that it asks for.
    ///   - target: the only port to which tinyproxy connects; nil: any.
    func start(
        _ proxy: OutboundProxy, at port: String, asking credentials: (user: String, password: String)? = nil,
        allowing target: Int? = nil
    ) async throws -> Program {
        switch proxy {
        case .http:
            var lines = [
                "Port \(port)", "Listen 127.0.0.1", "Allow 127.0.0.1", "Timeout 600", "MaxClients 50",
            ]
            if let credentials { lines.append("BasicAuth \(credentials.user) \(credentials.password)") }
            if let target { lines.append("ConnectPort \(target)") }
            let file = try write(lines.joined(separator: "\n") + "\n", to: "tinyproxy-\(port).conf")
            let program = try start(URL(filePath: "/usr/bin/tinyproxy"), ["-d", "-c", file])
            try await program.line { $0.contains("Accepting connections") }
            return program
        case .socks5:
            // It says nothing when it is ready; the agent comes again.
            return try start(
                URL(filePath: "/usr/bin/microsocks"),
                ["-i", "127.0.0.1", "-p", port]
                    + (credentials.map { ["-u", $0.user, "-P", $0.password] } ?? []))
        }
    }
}

extension EndToEnd {
    @Suite("An agent behind a proxy", .serialized)
    struct OutboundProxyTests {
        private static let pushes = 600

        @Test(
            "reaches its relay with a user and a password, and loses nothing when the proxy is started anew",
            .bug(id: "A11"), arguments: OutboundProxy.allCases)
        func restart(_ kind: OutboundProxy) async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let port = try await stage.lastingPorts()[0]
                let credentials = ("fleet", "sesame-7")
                var proxy = try await stage.start(kind, at: port, asking: credentials)
                let options = [
                    "--proxy", "\(kind.rawValue)://fleet@127.0.0.1:\(port)",
                    "--proxy-password-file", try stage.write("sesame-7\n", to: "password"),
                ]
                let agent = try await stage.startAgent(of: relay, options: options)
                let name = "the proxy \(kind.rawValue)://127.0.0.1:\(port)"
                let place = "\(relay.description.host):\(relay.description.devicePort) through \(name)"
                try await agent.line { $0.contains("connected to \(place), ") }
                let app = try stage.startApp(of: relay)
                let token = try await app.line(startingWith: "device token: ")
                let push = try stage.python("push.py", [relay.file, token, "--count", "\(Self.pushes)"])
                for number in [100, 300] {
                    try await app.line { $0 == "  number: \(number)" }
                    try await proxy.cutOff()
                    proxy = try await stage.start(kind, at: port, asking: credentials)
                }
                #expect(try await push.exitCode() == 0, "\(push.transcript)")
                let last = try stage.python("push.py", [relay.file, token, "--title", "the last"])
                #expect(try await last.exitCode() == 0, "\(last.transcript)")
                try await app.line { $0 == "  title: the last" }
                #expect(Set(AgentTests.numbers(in: app.output)) == Set(1...Self.pushes))
                try await agent.line { $0.contains("no link to \(place): ") }
                #expect(!agent.transcript.contains("sesame-7"), "the password is in the log")
                // Without the proxy there is no way to the relay.
                try await proxy.cutOff()
                try await agent.line {
                    $0.contains("\(name) cannot be reached: Connection refused")
                }
                agent.send(SIGTERM)
                #expect(try await agent.exitCode() == 0)
            }
        }

        @Test(
            "says in one sentence why the proxy does not connect it, and goes on as soon as it does",
            arguments: [
                (OutboundProxy.http, "asks for a user and a password (407 "),
                (.socks5, "accepts no client without authentication (no acceptable methods)"),
            ])
        func credentialsMissing(_ kind: OutboundProxy, _ sentence: String) async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let port = try await stage.lastingPorts()[0]
                let proxy = try await stage.start(kind, at: port, asking: ("fleet", "sesame"))
                let agent = try await stage.startAgent(
                    of: relay, options: ["--proxy", "\(kind.rawValue)://127.0.0.1:\(port)"])
                try await agent.line {
                    $0.contains("the proxy \(kind.rawValue)://127.0.0.1:\(port) \(sentence)")
                        && $0.contains("next attempt in")
                }
                try await proxy.cutOff()
                _ = try await stage.start(kind, at: port)
                try await agent.line { $0.contains("connected to ") }
            }
        }

        @Test(
            "says that the password is wrong, and that the proxy forbids the relay or cannot reach it",
            arguments: OutboundProxy.allCases)
        func refusals(_ kind: OutboundProxy) async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let ports = try await stage.lastingPorts()
                _ = try await stage.start(kind, at: ports[0], asking: ("fleet", "sesame"), allowing: 1)
                func agent(_ name: String, password: String, port: String? = nil) async throws -> Program {
                    try await stage.startAgent(
                        of: relay, name: name,
                        options: [
                            "--proxy", "\(kind.rawValue)://fleet@127.0.0.1:\(ports[0])",
                            "--proxy-password-file", try stage.write(password, to: "\(name).password"),
                        ], through: port)
                }
                try await agent("wrong", password: "simsim").line {
                    $0.contains("does not accept the user and the password")
                }
                switch kind {
                case .http:
                    let port = relay.description.devicePort
                    try await agent("forbidden", password: "sesame").line {
                        $0.contains("forbids the connection (403 Access violation): have it allow CONNECT")
                            && $0.contains(":\(port);")
                    }
                    // Nobody listens at port 1.
                    try await agent("absent", password: "sesame", port: "1").line {
                        $0.contains("forbids the connection") || $0.contains(":1 (50")
                    }
                case .socks5:
                    try await agent("absent", password: "sesame", port: "1").line {
                        $0.contains(":1 (connection refused, reply 5)")
                    }
                }
            }
        }
    }
}
