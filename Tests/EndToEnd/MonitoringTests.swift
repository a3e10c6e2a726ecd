import Foundation
import Testing

extension EndToEnd {
    @Suite("Metrics", .serialized)
    struct MonitoringTests {
        private static let rules = Place.root.appending(path: "deploy/monitoring")

        /// Requests a path of the relay's metrics address with curl, with curl's own options first.
        private func ask(
            _ path: String, of relay: RelayUnderTest, on stage: Stage
        ) async throws -> (status: String, body: [String]) {
            let address = try #require(relay.description.metricsAddress)
            let answer = try await stage.run(
                "curl", ["--silent", "--write-out", "%{http_code}\n", "http://\(address)\(path)"])
            #expect(answer.exitCode == 0)
            return (answer.output.last ?? "", answer.output.dropLast())
        }

        /// The queries of the dashboard.
        private struct Dashboard: Decodable {
            struct Panel: Decodable {
                struct Target: Decodable {
                    let expr: String
                }
                let targets: [Target]?
            }
            let panels: [Panel]

            init() throws {
                let file = MonitoringTests.rules.appending(path: "grafana-dashboard.json")
                self = try JSONDecoder().decode(Dashboard.self, from: Data(contentsOf: file))
            }

            /// Its expressions as rules for promtool, with values in place of Grafana's variables.
            var asRules: String {
                get throws {
                    let expressions = panels.flatMap { $0.targets ?? [] }.map {
                        $0.expr.replacing("$__rate_interval", with: "1m").replacing("$instance", with: ".*")
                    }
                    #expect(expressions.count > 20)
                    let rules = expressions.enumerated().map { ["record": "r:\($0)", "expr": $1] }
                    let groups: [String: Any] = ["groups": [["name": "dashboard", "rules": rules]]]
                    return String(decoding: try JSONSerialization.data(withJSONObject: groups), as: UTF8.self)
                }
            }
        }

        @Test("account for every notification in each scrape of a real Prometheus, and agree with the status")
        func scraped() async throws {
            try await onStage { stage in
                let port = try await stage.lastingPorts()[0]
                let relay = try await stage.startRelay(options: ["--metrics-address", "127.0.0.1:0"])
                let program = try stage.python(
                    "scraped.py",
                    [
                        relay.file, Place.products.appending(path: "postrider").path, stage.folder.path,
                        Self.rules.appending(path: "postrider.rules.yml").path, port,
                    ])
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
                #expect(program.output.last == "each counter is what the status says")
            }
        }

        @Test("come with rules and a dashboard that Prometheus' own checks take, and whose metrics there are")
        func rules() async throws {
            try await onStage { stage in
                let rules = Self.rules.appending(path: "postrider.rules.yml").path
                let check = try await stage.run("promtool", ["check", "rules", rules])
                #expect(check.exitCode == 0, "\(check.output)")
                let tests = Self.rules.appending(path: "postrider.rules.test.yml").path
                let result = try await stage.run("promtool", ["test", "rules", tests])
                #expect(result.exitCode == 0, "\(result.output)")

                let expressions = try stage.write(try Dashboard().asRules, to: "dashboard.rules.yml")
                let dashboard = try await stage.run("promtool", ["check", "rules", expressions])
                #expect(dashboard.exitCode == 0, "\(dashboard.output)")

                let relay = try await stage.startRelay(options: ["--metrics-address", "127.0.0.1:0"])
                try await stage.addEndingKey(to: relay)
                let metrics = try await ask("/metrics", of: relay, on: stage)
                #expect(metrics.status == "200")
                let known = Set(
                    metrics.body.compactMap { $0.split(separator: " ").dropFirst(2).first }.map(String.init))
                for file in ["postrider.rules.yml", "grafana-dashboard.json"] {
                    let text = try String(
                        contentsOf: Self.rules.appending(path: file), encoding: .utf8)
                    let used = Set(text.matches(of: /postrider_[a-z_]+/).map { String($0.output) })
                    #expect(used.count > 5)
                    for name in used {
                        let family = name.replacing(/_(bucket|count|sum)$/, with: "")
                        #expect(known.contains(family) || known.contains(name), "\(file) uses \(name)")
                    }
                }
            }
        }

        @Test("say that a relay is ready, and that it is not any more while it drains")
        func health() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay(options: ["--metrics-address", "127.0.0.1:0"])
                let live = try await ask("/livez", of: relay, on: stage)
                #expect(live.status == "200" && live.body == ["ok"])
                let ready = try await ask("/readyz", of: relay, on: stage)
                #expect(ready.status == "200" && ready.body == ["ok"])
                // A device that does not disconnect delays the drain until the end of its farewell time.
                let device = try await stage.startDevice(of: relay)
                device.program.send(SIGSTOP)
                relay.program.send(SIGTERM)
                try await relay.program.line { $0.contains("draining") }
                var draining = try await ask("/readyz", of: relay, on: stage)
                while draining.status == "200" { draining = try await ask("/readyz", of: relay, on: stage) }
                #expect(draining.status == "503")
                #expect(draining.body == ["not ready: draining: the relay is shutting down"])
                #expect(try await ask("/livez", of: relay, on: stage).status == "200")
                device.program.send(SIGCONT)
            }
        }

        @Test("are read by other machines over the relay's TLS, by those who show a token")
        func remote() async throws {
            try await onStage { stage in
                let first = try await stage.startRelay()
                first.program.send(SIGTERM)
                #expect(try await first.program.exitCode() == 0)
                let digest = try await stage.run(
                    "openssl", ["dgst", "-sha256", try stage.write("secret", to: "token")])
                let hash = try #require(digest.output.first?.split(separator: " ").last)
                let file = try stage.write("\(hash)\n", to: "hash")
                let ports = try await stage.lastingPorts()
                let relay = try stage.startServe(
                    options: ["--metrics-address", "0.0.0.0:\(ports[0])", "--metrics-token", file])
                try await relay.line { $0.contains("metrics: https://0.0.0.0:\(ports[0])/metrics") }
                let url = "https://127.0.0.1:\(ports[0])/metrics"
                let curl = [
                    "--silent", "--cacert", first.description.authorityFile, "--write-out", "%{http_code}",
                ]
                func status(_ options: String...) async throws -> String? {
                    try await stage.run("curl", curl + ["--output", "/dev/null"] + options + [url]).output
                        .last
                }
                #expect(try await status() == "401")
                #expect(try await status("-H", "Authorization: Bearer other") == "401")
                #expect(try await status("-H", "Authorization: Bearer secret") == "200")
                #expect(try await status("-H", "Authorization: Bearer secret", "--tls-max", "1.1") == "000")
                // After the next reload, another token is valid.
                let other = try await stage.run(
                    "openssl", ["dgst", "-sha256", try stage.write("another", to: "other")])
                _ = try stage.write(
                    "\(try #require(other.output.first?.split(separator: " ").last))\n", to: "hash")
                relay.send(SIGHUP)
                try await relay.line { $0.contains("reloaded: ") }
                #expect(try await status("-H", "Authorization: Bearer secret") == "401")
                #expect(try await status("-H", "Authorization: Bearer another") == "200")
                relay.send(SIGTERM)
                #expect(try await relay.exitCode() == 0)
            }
        }

        @Test("of an agent say whether its link is up, and what waits for its apps, on a socket of their own")
        func agent() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let socket = stage.path("metrics.sock")
                let agent = try await stage.startAgent(
                    of: relay, options: ["--metrics-address", "unix:\(socket)"])
                try await agent.line { $0.contains("metrics: http://unix:\(socket)/metrics") }
                func ask(_ path: String) async throws -> [String] {
                    let curl = ["--silent", "--write-out", "%{http_code}\n", "--unix-socket", socket]
                    return try await stage.run("curl", curl + ["http://localhost\(path)"]).output
                }
                while try await ask("/readyz") != ["ok", "200"] { await Task.yield() }
                let metrics = try await ask("/metrics")
                for line in [
                    "postrider_agent_link_up 1", "postrider_agent_apps 0", "postrider_agent_dead_letters 0",
                    "postrider_agent_inbox_notifications 0", "200",
                ] {
                    #expect(metrics.contains(line))
                }
                let text = try stage.write(
                    metrics.dropLast().joined(separator: "\n") + "\n", to: "metrics.txt")
                let lint = try await stage.run("sh", ["-c", "promtool check metrics < '\(text)'"])
                #expect(lint.exitCode == 0, "\(lint.output)")
                relay.program.send(SIGTERM)
                #expect(try await relay.program.exitCode() == 0)
                while try await ask("/readyz").last == "200" { await Task.yield() }
                #expect(
                    try await ask("/readyz") == ["not ready: link down: the relay is not connected", "503"])
                #expect(try await ask("/livez") == ["ok", "200"])
                agent.send(SIGTERM)
                #expect(try await agent.exitCode() == 0)
                #expect(!FileManager.default.fileExists(atPath: socket))
            }
        }

        @Test("are told in the log to be missing where their port is taken, and pushes go on")
        func taken() async throws {
            try await onStage { stage in
                let holder = try await stage.startRelay(options: ["--metrics-address", "127.0.0.1:0"])
                let address = try #require(holder.description.metricsAddress)
                let relay = try stage.startServe(
                    data: stage.path("other"), options: ["--metrics-address", address])
                try await relay.line {
                    $0.contains(
                        "metrics are not served: Cannot listen on \(address): something else listens there")
                }
                try await relay.line { $0.contains("ready: ") }
                relay.send(SIGTERM)
                #expect(try await relay.exitCode() == 0)
            }
        }

        @Test("hold nobody up whose scraper never reads its answer: pushes go on, and it is counted")
        func stuck() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay(options: ["--metrics-address", "127.0.0.1:0"])
                let program = try stage.python(
                    "unread.py",
                    [relay.file, Place.products.appending(path: "postrider").path, stage.folder.path])
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
            }
        }
    }
}
