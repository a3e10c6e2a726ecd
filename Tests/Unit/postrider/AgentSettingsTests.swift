import PostriderAgent
import PostriderCourier
import PostriderDBus
import PostriderOptions
import PostriderTransport
import Testing

@testable import PostriderCommands
@testable import postrider
@testable import postrider_agent

@Suite("Settings of the agent")
struct AgentSettingsTests {
    private let needed = ["--relay", "relay.example.org:5223", "--state", "state"]

    private func settings(
        _ arguments: [String], environment: [String: String] = [:], files: [String: String] = [:]
    ) throws -> AgentSettings {
        let options = try AgentCommand.table.parse(arguments)
        return try AgentSettings(options: options, environment: environment) { files[$0] }
    }

    @Test("are read from options, environment and file, in this order")
    func places() throws {
        let file = """
            relay: file.example.org:1
            state: file
            socket: file.sock
            apps: [{topic: com.example.a, user: 7}]
            """
        let found = try settings(
            ["--config", "agent.yaml", "--relay", "option.example.org:2"],
            environment: ["POSTRIDER_RELAY": "environment.example.org:3", "POSTRIDER_STATE": "environment"],
            files: ["agent.yaml": file])
        #expect(found.agent.relays.map(\.description) == ["option.example.org:2"])
        #expect(found.agent.stateDirectory == "environment")
        #expect(found.agent.socketPath == "file.sock")
        #expect(found.agent.apps == ["com.example.a": 7])
    }

    @Test("name up to eight different addresses of the relay, in the order in which they are tried")
    func relays() throws {
        let file = "relay: [a.example.org:1, b.example.org:2]\nstate: s"
        let found = try settings(["--config", "agent.yaml"], files: ["agent.yaml": file])
        #expect(found.agent.relays.map(\.description) == ["a.example.org:1", "b.example.org:2"])
        let byOption = try settings(["--state", "s", "--relay", "[2001:db8::1]:5223, b.example.org:2"])
        #expect(byOption.agent.relays.map(\.description) == ["[2001:db8::1]:5223", "b.example.org:2"])
        let many = (1...9).map { "r.example.org:\($0)" }.joined(separator: ",")
        for wrong in ["a.example.org:1,b", "a.example.org:1,A.example.org:1", "a.example.org", many] {
            #expect(throws: (any Error).self, "\(wrong)") {
                try settings(["--state", "s", "--relay", wrong])
            }
        }
    }

    @Test("take the enrolment key from a file or the environment")
    func key() throws {
        #expect(try settings(needed).agent.enrolmentKey == nil)
        #expect(try settings(needed, environment: ["POSTRIDER_ENROLMENT_KEY": "k"]).agent.enrolmentKey == "k")
        let fromFile = try settings(needed + ["--enrolment-key-file", "key"], files: ["key": "enrol-1\n"])
        #expect(fromFile.agent.enrolmentKey == "enrol-1")
    }

    @Test("take a key in the environment before one in a file, unless an option names that")
    func keys() throws {
        let files = ["agent.yaml": "enrolment-key-file: key", "key": "enrol-1"]
        let environment = ["POSTRIDER_ENROLMENT_KEY": "k"]
        let byFile = try settings(
            needed + ["--config", "agent.yaml"], environment: environment, files: files)
        #expect(byFile.agent.enrolmentKey == "k")
        let byOption = try settings(
            needed + ["--enrolment-key-file", "key"], environment: environment, files: files)
        #expect(byOption.agent.enrolmentKey == "enrol-1")
    }

    @Test("do without a file of the enrolment key that is not there: a device needs it once")
    func absentKey() throws {
        let found = try settings(needed + ["--enrolment-key-file", "key"])
        #expect(found.agent.enrolmentKey == nil)
        #expect(found.agent.absentKeyFile == "key")
        let empty = try settings(needed + ["--enrolment-key-file", "key"], files: ["key": "\n"])
        #expect(empty.agent.enrolmentKey == nil)
        #expect(empty.agent.absentKeyFile == "key")
    }

    @Test("do without a file of the enrolment key that they cannot read, and remember that")
    func unreadableKey() throws {
        let options = try AgentCommand.table.parse(needed + ["--enrolment-key-file", "key"])
        let found = try AgentSettings(options: options, environment: [AgentSettings.keyVariable: "k"]) {
            path in
            throw CommandFailure("The file \(path) cannot be read: this user may not.")
        }
        #expect(found.agent.enrolmentKey == nil)
        #expect(found.agent.unreadableKeyFile == "key" && found.agent.absentKeyFile == nil)
    }

    @Test("take an empty variable for none, that of the file and that of the key as well")
    func empty() throws {
        let names = ["POSTRIDER_AGENT_CONFIG", "POSTRIDER_ENROLMENT_KEY", "POSTRIDER_RELAY"]
        let found = try settings(
            needed, environment: Dictionary(uniqueKeysWithValues: names.map { ($0, "") }))
        #expect(found.agent.enrolmentKey == nil)
        #expect(found.agent.relays.map(\.description) == ["relay.example.org:5223"])
    }

    @Test("say what apps are told that ask to notify; nobody has decided, if they do not")
    func notifications() throws {
        #expect(try settings(needed).agent.authorization == .notDetermined)
        #expect(try settings(needed + ["--notifications", "allow"]).agent.authorization == .authorized)
        #expect(try settings(needed + ["--notifications", "deny"]).agent.authorization == .denied)
    }

    @Test("say on which desktop alerts are shown; that of the agent's own session, if they do not")
    func sessionBus() throws {
        let own = ["XDG_RUNTIME_DIR": "/run/user/7"]
        #expect(try settings(needed).agent.sessionBus == nil)
        #expect(
            try settings(needed, environment: own).agent.sessionBus?.description
                == "unix:path=/run/user/7/bus")
        #expect(try settings(needed + ["--session-bus", "off"], environment: own).agent.sessionBus == nil)
        #expect(
            try settings(needed + ["--session-bus", "unix:path=/b"]).agent.sessionBus?.description
                == "unix:path=/b")
    }

    @Test("let apps register by UnifiedPush if they say so, and there is a session bus")
    func unifiedPush() throws {
        let own = ["XDG_RUNTIME_DIR": "/run/user/7", "POSTRIDER_UNIFIEDPUSH": "true"]
        #expect(try !settings(needed).agent.isDistributor)
        #expect(try settings(needed, environment: own).agent.isDistributor)
        let error = #expect(throws: (any Error).self) {
            try settings(needed + ["--unifiedpush", "true", "--session-bus", "off"], environment: own)
        }
        #expect(error.map { "\($0)".contains("needs a session bus") } == true)
    }

    @Test(
        "that are wrong are told with their place and what to do",
        arguments: [
            (
                ["--relay", "nowhere"], [:], "",
                "postrider-agent: --relay must be a host and a port from 1 to 65535 such as "
                    + "relay.example.org:5223, or at most 8 different ones with commas between, "
                    + "not 'nowhere'"
            ),
            (
                [], ["POSTRIDER_RELAY": "127.0.0.1:0"], "",
                "POSTRIDER_RELAY must be a host and a port from 1 to 65535 such as "
                    + "relay.example.org:5223, or at most 8 different ones with commas between, "
                    + "not '127.0.0.1:0'"
            ),
            (
                ["--relay", "unix:/relay"], [:], "",
                "postrider-agent: --relay must be a host and a port from 1 to 65535 such as "
                    + "relay.example.org:5223, or at most 8 different ones with commas between, "
                    + "not 'unix:/relay'"
            ),
            (
                [], ["POSTRIDER_KEEPALIVE_SECONDS": "1"], "",
                "POSTRIDER_KEEPALIVE_SECONDS must be a whole number from 5 to 1800, not '1'"
            ),
            (
                [], [:], "\nkeepalive-seconds: often",
                "f:2:20: 'keepalive-seconds' must be a whole number from 5 to 1800, not 'often'"
            ),
            ([], [:], "reports: maybe", "f:1:10: 'reports' must be true or false, not 'maybe'"),
            (
                ["--socket", String(repeating: "s", count: 108)], [:], "",
                "postrider-agent: --socket must be the path of a socket, 107 bytes at most, not '"
                    + String(repeating: "s", count: 108) + "'"
            ),
            (
                [], [:], "device-name: " + String(repeating: "n", count: 256),
                "f:1:14: 'device-name' must be a name, 255 bytes at most, not '"
                    + String(repeating: "n", count: 256) + "'"
            ),
            ([], [:], "state: [s]", "f:1:8: 'state' must be one value, not a list"),
            (
                [], [:], "notifications: maybe",
                "f:1:16: 'notifications' must be one of ask, allow, deny, not 'maybe'"
            ),
            (
                [], [:], "save-power: often",
                "f:1:13: 'save-power' must be one of always, never, auto, not 'often'"
            ),
            (
                [], [:], "on-clone: maybe",
                "f:1:11: 'on-clone' must be one of enrol-anew, wait, not 'maybe'"
            ),
            (
                [], ["POSTRIDER_LOG_LEVEL": "loud"], "",
                "POSTRIDER_LOG_LEVEL must be one of error, warning, notice, info, debug, not 'loud'"
            ),
            (
                [], [:], "delivery-attempts: 0",
                "f:1:20: 'delivery-attempts' must be a whole number from 1 to 100, not '0'"
            ),
            (
                [], [:], "session-bus: tcp:host=localhost",
                "f:1:14: 'session-bus' must be auto, off or an address such as "
                    + "unix:path=/run/user/1000/bus, not 'tcp:host=localhost'"
            ),
            (
                [], [:], "keyboard-user: no such user",
                "f:1:16: 'keyboard-user' must be a user of this device, by name or number, "
                    + "not 'no such user'"
            ),
        ] as [([String], [String: String], String, String)]
    )
    func mistakes(
        _ arguments: [String], _ environment: [String: String], _ file: String, _ sentence: String
    ) {
        let needed = ["POSTRIDER_RELAY": "localhost:1", "POSTRIDER_STATE": "state"]
        let error = #expect(throws: (any Error).self) {
            try settings(
                ["-c", "f"] + arguments, environment: needed.merging(environment) { $1 }, files: ["f": file])
        }
        #expect(error.map { "\($0)" } == sentence)
    }

    @Test("that have changed, and that a reload does not take on, are told")
    func unheeded() throws {
        let start = try settings(needed)
        let reloaded = [
            "--notifications", "deny", "--delivery-attempts", "9", "--reports", "false", "--save-power",
            "never", "--keyboard-user", "0", "--log-level", "debug",
        ]
        #expect(try settings(needed + reloaded).texts.unheeded(since: start.texts) == "")
        let other = try settings(needed + ["--socket", "other.sock", "--ca", "ca.pem"])
        #expect(
            other.texts.unheeded(since: start.texts)
                == "; ca, socket have changed, which counts from the next start on")
    }

    @Test("that are missing are asked for by all their names")
    func missing() {
        let error = #expect(throws: CommandFailure.self) { try settings(["--relay", "localhost:1"]) }
        #expect(
            error?.sentence
                == "state is not set: give --state, POSTRIDER_STATE or a configuration file.")
        let inFile = #expect(throws: CommandFailure.self) { try settings(["-c", "f"], files: ["f": ""]) }
        #expect(inFile?.sentence.hasSuffix("or a line 'relay: …' in f.") == true)
        #expect(inFile?.exitCode == 2)
    }

    @Test(
        "are refused where the file is wrong",
        arguments: [
            "relais: x", "apps: [{topic: com.example.a}]", "apps: [{topic: not a topic, user: 1}]",
            "apps: [{topic: com.example.a, user: 1}, {topic: com.example.a, user: 2}]",
            "apps: [{topic: com.example.a, user: no such user}]",
        ])
    func mistakesInFile(text: String) {
        #expect(throws: CommandFailure.self) {
            try settings(needed + ["--config", "agent.yaml"], files: ["agent.yaml": text])
        }
    }
}
