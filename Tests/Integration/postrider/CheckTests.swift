import Foundation
import PostriderCluster
import PostriderNotifications
import PostriderOptions
import PostriderRelay
import Testing

@testable import PostriderCommands
@testable import postrider
@testable import postrider_agent

@Suite("A check of the configuration")
struct CheckTests {
    /// A folder with certificates and keys, and the files of one test.
    private struct Fixture {
        let folder = DevFolder.fresh()

        init() throws { _ = try folder.prepare(topics: [], now: Moment(milliseconds: 1)) }

        @discardableResult
        func write(_ text: String, to name: String, mode: Int = 0o600) throws -> String {
            let path = folder.path + "/" + name
            try text.write(toFile: path, atomically: false, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
            return path
        }

        /// The mistakes in the configuration of a relay.
        func relay(_ text: String, environment: [String: String] = [:]) throws -> [String] {
            let path = folder.path + "/postrider.yaml"
            let options = try CheckCommand.table.parse(["--config", path])
            return RelayCheck.mistakes(path, text, environment: environment, options: options)
        }

        /// The mistakes in the configuration of an agent.
        func agent(_ text: String, environment: [String: String] = [:]) throws -> [String] {
            try AgentCheck.mistakes(folder.path + "/agent.yaml", text, environment: environment)
        }

        /// The settings of a relay that has no mistake.
        var good: String {
            """
            certificate: \(folder.certificateFile)
            private-key: \(folder.privateKeyFile)
            data-directory: \(folder.path)/unused
            """
        }
    }

    private func onGround(_ body: (Fixture) throws -> Void) throws {
        let fixture = try Fixture()
        defer { fixture.folder.remove() }
        try body(fixture)
    }

    /// Expects each of these mistakes once, and no other: the place and words of its sentence.
    private func expect(
        _ found: [String], _ expected: [(place: String, words: String)], in fixture: Fixture
    ) {
        for (place, words) in expected {
            let matching = found.filter {
                $0.hasPrefix(place.isEmpty ? "" : "\(fixture.folder.path)/\(place):") && $0.contains(words)
            }
            #expect(matching.count == 1, "\(place): \(words), in \(found.joined(separator: "\n"))")
        }
        #expect(found.count == expected.count, "\(found.joined(separator: "\n"))")
    }

    @Test("finds eighteen mistakes of a relay's configuration at once, each with its line")
    func relay() throws {
        try onGround { fixture in
            let token = try fixture.write("# tokens\nno digest\n", to: "tokens")
            let trust = try fixture.write("nothing", to: "trust.pem")
            let key = try fixture.write(
                String(contentsOfFile: fixture.folder.privateKeyFile, encoding: .utf8), to: "open.key",
                mode: 0o644)
            let text = """
                provider-address: nowhere
                device-address:
                  - 127.0.0.1:99999
                control-address: 127.0.0.1:80
                certificate: \(fixture.folder.path)/missing.pem
                private-key: \(key)
                provider-trust: \(trust)
                metrics-token: \(token)
                shards: 0
                source-rate: fast
                strictnes: strict
                on-presence: relative/program
                trace: maybe
                log-level: loud
                log-format: xml
                spellings: [a, b]
                provider-idle-seconds: ~
                """
            let found = try fixture.relay(text, environment: ["POSTRIDER_STORAGE": "everything"])
            expect(
                found,
                [
                    ("postrider.yaml:1", "'provider-address' must be"),
                    ("postrider.yaml:3", "'device-address' must be"),
                    ("postrider.yaml:4", "'control-address' must be"),
                    ("postrider.yaml:5", "missing.pem cannot be read"),
                    ("postrider.yaml:6", "open.key"), ("postrider.yaml:7", "holds no certificate"),
                    ("postrider.yaml:8", "tokens:2: this is no SHA-256"),
                    ("postrider.yaml:9", "'shards' must be"), ("postrider.yaml:10", "'source-rate' must be"),
                    ("postrider.yaml:11", "did you mean 'strictness'?"),
                    ("postrider.yaml:12", "'on-presence' must be"), ("postrider.yaml:13", "'trace' must be"),
                    ("postrider.yaml:14", "'log-level' must be"),
                    ("postrider.yaml:15", "'log-format' must be"),
                    ("postrider.yaml:16", "'spellings' must be one value"),
                    ("postrider.yaml:17", "'provider-idle-seconds' has no value"),
                    ("postrider.yaml", "data-directory is not set"), ("", "POSTRIDER_STORAGE must be"),
                ], in: fixture)
        }
    }

    @Test("finds mistakes in the settings and files of a node at once")
    func node() throws {
        try onGround { fixture in
            let nodes = CertificateFolder(fixture.folder.path + "/nodes")
            #expect(try nodes.makeAuthority(validDays: 2))
            for name in ["a", "b"] { try nodes.makeNode(try #require(NodeName(name)), validDays: 2) }
            func configuration(_ name: String, _ node: String, key: String? = nil) -> String {
                fixture.good + """

                    store: postgresql://postrider@db.example/postrider
                    node-name: \(name)
                    cluster-address: 127.0.0.1:2195
                    cluster-certificate: \(nodes.certificate(.node(node)))
                    cluster-key: \(key ?? nodes.key(.node(node)))
                    cluster-trust: \(nodes.certificate(.authority))
                    """
            }
            #expect(try fixture.relay(configuration("a", "a")) == [])
            expect(
                try fixture.relay(configuration("a", "b")),
                [("postrider.yaml:7", "is for 'b', and this node is 'a': make another one")], in: fixture)
            expect(
                try fixture.relay(configuration("a", "a", key: nodes.key(.node("b")))),
                [("postrider.yaml:7", "is not the one of the certificate")], in: fixture)
            try FileManager.default.removeItem(atPath: nodes.certificate(.authority))
            let open = try fixture.write("nothing", to: "open.key", mode: 0o644)
            expect(
                try fixture.relay(configuration("A", "c", key: open) + "\nweb-address: 127.0.0.1:0\n"),
                [
                    ("postrider.yaml:5", "'node-name' must be"),
                    ("postrider.yaml:7", "node-c.pem cannot be read"),
                    ("postrider.yaml:8", "open.key"), ("postrider.yaml:9", "authority.pem cannot be read"),
                    ("postrider.yaml:10", "'web-address' needs public-url"),
                ], in: fixture)
            let alone = configuration("a", "a").replacing("store: ", with: "# store: ")
            expect(
                try fixture.relay(alone), [("postrider.yaml:6", "'cluster-address' needs store")], in: fixture
            )
        }
    }

    @Test("finds mistakes of an agent's configuration and of the manifests of its apps at once")
    func agent() throws {
        try onGround { fixture in
            try FileManager.default.createDirectory(
                atPath: fixture.folder.path + "/apps", withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
            let trust = try fixture.write("nothing", to: "trust.pem")
            try fixture.write(
                "topic: no topic!\nprogram: /bin/missing-program\nhandler-timeout: 1 day\nbackgruond: true\n",
                to: "apps/a.yaml")
            try fixture.write(
                "topic: com.example.b\nrun: [bin/true]\nsandbox:\n  memory: much\n", to: "apps/b.yaml")
            try fixture.write("topic: com.example.c\nprogram: /bin/true\n", to: "apps/c.yaml")
            try fixture.write("topic: com.example.c\nprogram: /bin/true\n", to: "apps/d.yaml")
            try fixture.write("topic: [\n", to: "apps/e.yaml")
            try fixture.write("program: /bin/true\n", to: "apps/f.yaml")
            let text = """
                relay: nowhere
                state: \(fixture.folder.path)/state
                ca: \(trust)
                notifications: maybe
                keepalive-seconds: 1
                apps:
                  - topic: com.example.kiosk
                    user: no such user
                  - topic: no topic!
                    user: 0
                apps-directory: \(fixture.folder.path)/apps
                """
            expect(
                try fixture.agent(text),
                [
                    ("agent.yaml:1", "'relay' must be"), ("agent.yaml:3", "holds no certificate"),
                    ("agent.yaml:4", "'notifications' must be"),
                    ("agent.yaml:5", "'keepalive-seconds' must be"), ("agent.yaml:8", "user' must be"),
                    ("agent.yaml:9", "topic' must be"), ("apps/a.yaml:1", "'topic' must be"),
                    ("apps/a.yaml:2", "'program' is not there"),
                    ("apps/a.yaml:3", "'handler-timeout' must be"),
                    ("apps/a.yaml:4", "did you mean 'background'?"), ("apps/b.yaml:2", "'run' must begin"),
                    ("apps/b.yaml:4", "'sandbox.memory' must be"),
                    ("apps/d.yaml:1", "c.yaml declares com.example.c too"),
                    ("apps/e.yaml", "this is not YAML"), ("apps/f.yaml:1", "'topic' is missing"),
                ], in: fixture)
        }
    }

    @Test("finds a key of another certificate, a file that is no YAML, and a directory that is not there")
    func files() throws {
        try onGround { fixture in
            let stranger = try Fixture()
            defer { stranger.folder.remove() }
            let other = fixture.good.replacing(
                fixture.folder.privateKeyFile, with: stranger.folder.privateKeyFile)
            expect(
                try fixture.relay(other), [("postrider.yaml:1", "is not the one of the certificate")],
                in: fixture)
            expect(try fixture.relay("a: [\n"), [("postrider.yaml", "this is not YAML")], in: fixture)
            let agent = "relay: a:1\nstate: s\napps-directory: /nowhere/at/all\n"
            expect(try fixture.agent(agent), [("agent.yaml:3", "cannot be read")], in: fixture)
        }
    }

    @Test("finds nothing in a good configuration; its exit code is 0, and 2 if something is wrong")
    func good() async throws {
        let fixture = try Fixture()
        defer { fixture.folder.remove() }
        #expect(try fixture.relay(fixture.good) == [])
        #expect(try fixture.agent("relay: relay.example.org:5223\nstate: s\n") == [])
        let path = try fixture.write(fixture.good, to: "good.yaml")
        #expect(await Commands.program.run(["check", "--config", path]) == 0)
        let wrong = try fixture.write(fixture.good + "\nshards: 0\n", to: "wrong.yaml")
        #expect(await Commands.program.run(["check", "--config", wrong]) == 2)
        #expect(await Commands.program.run(["check", "--config", wrong, "--agent", path]) == 2)
        #expect(await Commands.program.run(["check", "--config", "/nowhere"]) == 2)
    }

    @Test(
        "ends for every text, also one whose mistakes cannot be masked",
        arguments: [
            "", "- a", "a", "certificate", "apps:\n- topic: x\n", "relay:\n  relay: 1\n", "a: 1\na: 2\n",
            "\t", "---\n---\n", "apps: [{topic: 1}, {user: 2}]", "? a\n: b\n", "state: &x 1\n",
            "relay: |\n  a\n  b\n", "- ~\n",
        ])
    func ends(_ text: String) throws {
        try onGround { fixture in
            let (relay, agent) = (try fixture.relay(text), try fixture.agent(text))
            #expect(!relay.isEmpty && !agent.isEmpty)
        }
    }
}
